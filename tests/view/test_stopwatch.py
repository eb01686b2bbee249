"""A stopwatch beside the truth: what is wrong, in one unit, to scale, at any width."""

from __future__ import annotations

import msgspec
import pytest

from jaxtui.model import Failure, Peak
from jaxtui.state import CaseState
from jaxtui.view import bench, stopwatch
from jaxtui.view.stopwatch import Bar
from jaxtui.view.text import Line, plain
from tests.fake_engine import summary
from tests.view.making import JIT, NUMPY, done, run_of

PEAK = Peak(flops_per_second=197e12, bytes_per_second=None, source="published")
MS = 1e-3


def texts(lines: list[Line]) -> list[str]:
    return [plain(line) for line in lines]


def drawn(*cases: CaseState, width: int = 76) -> list[str]:
    run = run_of(*cases)
    numpy = bench.numpy_of(cases[0], run)
    lines = stopwatch.lines(stopwatch.comparison(cases[0], numpy), width)
    return texts([*lines, stopwatch.cold(cases[0], numpy)])


@pytest.mark.parametrize(
    ("claimed", "truth", "peak", "wrong", "words"),
    [
        # More than the chip can do, by a hair, and at the peak itself.
        (198e12, 1.1, PEAK, True, "IMPOSSIBLE"),
        (197e12, 1.1, PEAK, False, "returned with the result"),
        # Without a known peak nothing is impossible, but it may be wrong.
        (1e15, 14.0, None, True, "result not awaited"),
        (1e15, 1.1, None, False, "returned with the result"),
        (1e12, 14.0, PEAK, True, "result not awaited"),
    ],
)
def test_one_rule_says_what_is_drawn_as_a_danger(
    claimed: float, truth: float, peak: Peak | None, wrong: bool, words: str
) -> None:
    case = done(JIT, truth, dispatch=summary(1.0), flops=claimed, peak=peak)
    found = stopwatch.figures(case)
    assert found is not None
    assert found.wrong == wrong
    first, *_ = drawn(case, width=116)
    assert words in first
    bar, *_ = stopwatch.comparison(case, None)
    assert bar.wrong == wrong


@pytest.mark.parametrize("width", [40, 56, 76, 116])
def test_bars_are_to_scale_and_texts_fit_behind_them(width: int) -> None:
    bars = (
        Bar("stopwatch", 0.06 * MS, "host", 2, ("2450 TFLOP/s", "IMPOSSIBLE"), True),
        Bar("truth", 35 * MS, "device", 2, ("169 TFLOP/s", "86 % of peak")),
        Bar("NumPy", 70 * MS, "numpy", 2, ("1.94 TFLOP/s", "float32")),
    )
    lines = stopwatch.lines(bars, width)
    assert all(len(plain(line)) <= width for line in lines)
    spans = [{span.role: span.text for span in line} for line in lines]
    lengths = [len(found[one.role]) for found, one in zip(spans, bars, strict=True)]
    assert lengths[0] == 1
    assert lengths[1] == pytest.approx(lengths[2] / 2, abs=1)
    assert lengths[2] >= (width - 20) // 3
    assert {found["title"].split()[-1] for found in spans} == {"ms"}
    assert ["danger" in found for found in spans] == [True, False, False]


def test_the_first_minute_of_a_chip() -> None:
    impossible, truth, numpy, cold = drawn(done(JIT), done(NUMPY))
    assert impossible.startswith("stopwatch  0.0560 ms ▏")
    assert "IMPOSSIBLE" not in impossible
    assert "result not awaited" in impossible
    assert truth.split()[:2] == ["truth", "2.23"]
    assert "% of peak" in truth
    assert "float32" in numpy
    assert cold.startswith("first call ")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1e-5, "compile never repaid: NumPy is faster"),
        (1.0, "compile repaid after 1 call"),
        (0.1, "compile repaid after 4 calls"),
    ],
)
def test_after_how_many_calls_the_compile_is_repaid(seconds: float, words: str) -> None:
    assert drawn(done(JIT), done(NUMPY, ready=summary(seconds)))[-1].endswith(words)


def test_without_figures_there_is_what_is_being_done() -> None:
    waiting = drawn(CaseState(JIT), CaseState(NUMPY, doing="first_call"))
    said = ["stopwatch waiting", "truth waiting", "NumPy first call", ""]
    assert [" ".join(line.split()) for line in waiting] == said
    assert texts(stopwatch.lines(stopwatch.BEFORE, 60))[0].endswith("call returns")


def test_a_case_that_is_host_bound_and_numpys_failure_say_so() -> None:
    failure = Failure(case=NUMPY, error="Out of memory.", hint="Smaller.")
    broken = CaseState(NUMPY, status="failed", failure=failure)
    _, truth, numpy, _ = drawn(done(JIT, flops_per_second=None), broken)
    assert "host-bound: no rate" in truth
    assert numpy.split() == ["NumPy", "failed"]


def test_an_interval_is_its_two_ends() -> None:
    wide = msgspec.structs.replace(summary(1e-3), ci_low=0.65e-3, ci_high=1.63e-3)
    assert stopwatch.ends(wide) == "0.65–1.6 ms"
    assert stopwatch.ends(msgspec.structs.replace(wide, rounds=1)) == "one round"
