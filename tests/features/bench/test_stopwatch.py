"""A stopwatch beside the truth: what is wrong, in one unit, to scale, at any width."""

from __future__ import annotations

import msgspec
import pytest

from jaxtui.core.model import Failure, Peak
from jaxtui.core.state import CaseState
from jaxtui.features.bench import figures, stopwatch
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.stopwatch import Bar
from jaxtui.ui.text import Line, plain
from tests import records
from tests.fake_engine import summary
from tests.records import told
from tests.ui.making import JIT, NUMPY, done, run_of

PEAK = Peak(flops_per_second=197e12, bytes_per_second=None, source="published")
MS = 1e-3


def texts(lines: list[Line]) -> list[str]:
    return [plain(line) for line in lines]


def drawn(*cases: CaseState, width: int = 76) -> list[str]:
    run = run_of(*cases)
    numpy = figures.numpy_of(cases[0], run)
    lines = stopwatch.lines(stopwatch.comparison(cases[0], numpy), width)
    return texts([*lines, stopwatch.cold(cases[0], numpy)])


@pytest.mark.parametrize(
    ("claimed", "truth", "peak", "wrong", "words"),
    [
        # More than the chip can do, by a hair, and at the peak itself.
        (198e12, 1.1, PEAK, True, "IMPOSSIBLE"),
        (197e12, 1.1, PEAK, False, "result included"),
        # Without a known peak nothing is impossible, but it may be wrong.
        (1e15, 14.0, None, True, "result not awaited"),
        (1e15, 1.1, None, False, "result included"),
        (1e12, 14.0, PEAK, True, "result not awaited"),
    ],
)
def test_one_rule_says_what_is_drawn_as_a_danger(
    claimed: float, truth: float, peak: Peak | None, wrong: bool, words: str
) -> None:
    case = done(JIT, truth, dispatch=summary(1.0), flops=claimed, peak=peak)
    found = stopwatch.of_case(case)
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
    assert [found["title"].split()[-1] for found in spans] == ["µs", "ms", "ms"]
    assert ["danger" in found for found in spans] == [True, False, False]


def test_the_first_minute_of_a_chip() -> None:
    impossible, truth, numpy, cold = drawn(done(JIT), done(NUMPY))
    assert impossible.startswith("stopwatch 56.0  µs ▏")
    assert "IMPOSSIBLE" not in impossible
    assert "result not awaited" in impossible
    assert truth.split()[:2] == ["truth", "2.23"]
    assert "% of peak" in truth
    assert "float32" in numpy
    assert cold.startswith("first call ")


@pytest.mark.parametrize(
    ("width", "rounds", "drawn"),
    [
        (0.1, 8, ("14×", "13–15×", False)),
        # Not known to within a third: large is what is known of it.
        (0.4, 8, ("8.4–20×", "", True)),
        (0.0, 1, ("14×", "", False)),
    ],
)
def test_the_factor_of_the_first_minute_has_its_interval(
    width: float, rounds: int, drawn: tuple[str, str, bool]
) -> None:
    clocks = {
        "ready": records.summary(1.4e-3, width, rounds=rounds),
        "dispatch": records.summary(1e-4, 0.0, rounds=rounds),
    }
    assert stopwatch.off_by(done(JIT, **clocks)) == drawn
    _, truth = stopwatch.comparison(done(JIT, **clocks), None)
    roles = {span.role for span in stopwatch.lines([truth], 60)[0]}
    vague = width > 0.2 or rounds == 1
    assert ("unknown" in roles, "title" in roles) == (vague, not vague)
    assert stopwatch.off_by(CaseState(JIT)) is None


def test_time_and_rate_of_a_line_are_of_one_clock() -> None:
    # 2 GFLOP in 80 ms are 25 GFLOP/s; queued calls take 37 ms.
    times = {"ready": records.summary(80e-3, 0.02), "pipelined_seconds": 37e-3}
    case = done(JIT, flops=2e9, flops_per_second=54e9, peak=None, **times)
    truth = drawn(case, width=116)[1]
    assert "25.0 GFLOP/s" in truth
    assert "pipelined 54.0 GFLOP/s" in truth
    assert "25.0 GFLOP/s" in bench.headline(run_of(case)).plain
    host_bound = done(JIT, flops=2e9, flops_per_second=None, **times)
    assert "FLOP/s" not in bench.headline(run_of(host_bound)).plain


def test_a_headline_says_nothing_against_the_rates_beside_it() -> None:
    numpy = done(NUMPY, ready=records.summary(60e-3, 0.02))
    times = {"ready": records.summary(80e-3, 0.02), "pipelined_seconds": 40e-3}
    said = bench.headline(run_of(done(JIT, **times), numpy)).plain
    assert said.startswith("NumPy is 1.3× faster than JAX")
    assert said.endswith("; pipelined, JAX is 1.5× faster.")
    times["pipelined_seconds"] = 78e-3
    assert "pipelined" not in bench.headline(run_of(done(JIT, **times), numpy)).plain


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1e-5, "compile never pays off: NumPy is faster"),
        (1.0, "compile pays off after 1 call"),
        (0.1, "compile pays off after 4 calls"),
    ],
)
def test_after_how_many_calls_the_compile_is_repaid(seconds: float, words: str) -> None:
    assert drawn(done(JIT), done(NUMPY, ready=summary(seconds)))[-1].endswith(words)


@pytest.mark.parametrize(("rounds", "words"), [(12, "0.650–1.63 ms"), (1, "one round")])
def test_the_truth_has_its_interval_as_in_the_table(rounds: int, words: str) -> None:
    ready = msgspec.structs.replace(
        summary(1e-3), ci_low=0.65e-3, ci_high=1.63e-3, rounds=rounds
    )
    _, truth, _ = drawn(done(JIT, ready=ready), width=116)
    assert truth.endswith(words)


def test_without_figures_there_is_what_is_being_done() -> None:
    waiting = drawn(CaseState(JIT), CaseState(NUMPY, doing="first_call"))
    said = ["stopwatch waiting", "truth waiting", "NumPy first run", ""]
    assert [" ".join(line.split()) for line in waiting] == said


@pytest.mark.parametrize("width", [30, 56, 74, 116])
@pytest.mark.parametrize("height", [0, 3, 7, 12, 40])
def test_before_a_run_lanes_and_clocks_end_together(width: int, height: int) -> None:
    lines = texts(stopwatch.sketch(width, height))
    assert all(len(line) <= width for line in lines)
    names = [line.split()[0] for line in lines if line[0] != " "]
    clocks = ["stopwatch", "truth", "NumPy"]
    if height < 7 or width < 56:
        assert names == clocks
        return
    assert len(lines) <= height
    assert names == ["host", "device", *clocks]
    ends = {line.rindex("█") for line in lines if "█" in line}
    assert len(ends) == 2
    ticks = next(line for line in lines if "╷" in line)
    assert {place for place, char in enumerate(ticks) if char == "╷"} == ends


def test_a_case_that_is_host_bound_and_numpys_failure_say_so() -> None:
    failure = Failure(case=NUMPY, remark=told("Out of memory.", "Smaller."))
    broken = CaseState(NUMPY, status="failed", failure=failure)
    _, truth, numpy, _ = drawn(done(JIT, flops_per_second=None), broken)
    assert "host-bound: no rate" in truth
    assert numpy.split() == ["NumPy", "failed"]
