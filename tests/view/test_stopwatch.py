"""A stopwatch beside the truth: what is wrong, in one unit, to scale, at any width."""

from __future__ import annotations

import msgspec
import pytest

from jaxtui.model import Failure, LoopClock, Peak
from jaxtui.state import CaseState
from jaxtui.view import bench, figures, stopwatch
from jaxtui.view.stopwatch import Bar, Clocks, judgement, loop_lines
from jaxtui.view.text import Line, plain
from tests import records
from tests.fake_engine import summary
from tests.records import told
from tests.view.making import JIT, NUMPY, done, run_of
from tests.view.test_lanes import measured, timeline

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
        (0.1, 8, ("14×", "13–15×")),
        # Not known to within a third: large is what is known of it.
        (0.4, 8, ("8.4–20×", "")),
        (0.0, 1, ("14×", "")),
    ],
)
def test_the_factor_of_the_first_minute_has_its_interval(
    width: float, rounds: int, drawn: tuple[str, str]
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
    assert "queued 54.0 GFLOP/s" in truth
    assert "25.0 GFLOP/s" in plain(bench.headline(run_of(case)))
    host_bound = done(JIT, flops=2e9, flops_per_second=None, **times)
    assert "FLOP/s" not in plain(bench.headline(run_of(host_bound)))


def test_a_headline_says_nothing_against_the_rates_beside_it() -> None:
    numpy = done(NUMPY, ready=records.summary(60e-3, 0.02))
    times = {"ready": records.summary(80e-3, 0.02), "pipelined_seconds": 40e-3}
    said = plain(bench.headline(run_of(done(JIT, **times), numpy)))
    assert said.startswith("NumPy is 1.3× faster than JAX")
    assert said.endswith("; queued, JAX is 1.5× faster.")
    times["pipelined_seconds"] = 78e-3
    assert "queued" not in plain(bench.headline(run_of(done(JIT, **times), numpy)))


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


# Of a loop.


def test_the_figures_are_those_of_the_plain_repeats() -> None:
    """A traced repeat may be ten times slower: nothing above it is its own."""
    peak = Peak(flops_per_second=1e12, bytes_per_second=None, source="somewhere")
    clock = LoopClock(
        repeats=7, stopwatch_seconds=4e-5, true_seconds=0.09, factor=(2000, 2500)
    )
    one = measured(20, peak=peak, undisturbed=clock, traced=clock)
    line = timeline(one.calls)
    found = stopwatch.of_loop(line, one)
    assert (found.stopwatch, found.work, found.repeats) == (4e-5, 0.09, 7)
    assert found.ratio == pytest.approx(0.09 / 4e-5)
    assert found.claimed == pytest.approx(20 * 2e9 / 4e-5)
    assert found.true == pytest.approx(20 * 2e9 / 0.09)
    assert found.peak == 1e12
    assert found.impossible
    assert "median of 7 repeats" in plain(judgement(found))
    # Both ends of its playback are those of the figures.
    ends = (0.0, line.through, line.total)
    assert [stopwatch.moment(found, line, end) for end in ends] == [0.0, 4e-5, 0.09]


@pytest.mark.parametrize(
    ("ends", "vague"), [((80.0, 120.0), False), ((40.0, 120.0), True), (None, True)]
)
def test_a_factor_that_differs_from_turn_to_turn_is_uncertain(
    ends: tuple[float, float] | None, vague: bool
) -> None:
    found = Clocks(1e-3, 0.1, repeats=7, ends=ends)
    assert found.vague == vague
    last = plain(judgement(found))
    assert ("uncertain" in last) == vague
    assert ("120×" in last) == (ends is not None)


def test_a_factor_of_one_repeat_is_uncertain() -> None:
    assert Clocks(1e-3, 0.1, repeats=1, ends=(100.0, 100.0)).vague


def test_one_watched_repeat_has_no_verdict() -> None:
    one = measured(20)
    found = stopwatch.of_loop(timeline(one.calls), None)
    assert found.repeats == 0
    drawn = [*loop_lines(found, 110), judgement(found)]
    red = [span.text for line in drawn for span in line if span.role == "danger"]
    assert not any(red)
    assert "watched" in plain(drawn[-1])


@pytest.mark.parametrize(
    ("read", "work", "unit", "texts"),
    [
        (815e-6, 541e-3, "ms", ("0.815", "541")),
        # Also the times of a clock between them, of which no second is below one.
        (1.5, 2.4, "ms", ("1500", "2400")),
        (15.0, 24.0, "s", ("15.0", "24.0")),
    ],
)
def test_both_figures_have_one_unit(
    read: float, work: float, unit: str, texts: tuple[str, str]
) -> None:
    found = Clocks(read, work)
    assert found.unit.name == unit
    assert (found.unit.text(read), found.unit.text(work)) == texts


@pytest.mark.parametrize(
    ("found", "wrong", "factor", "verdict"),
    [
        (
            Clocks(0.5e-3, 0.27),
            *(True, "540×", "stopped at 0.19 % of the work"),
        ),
        (
            Clocks(1e-3, 0.1, flops=1e12, peak=1e13),
            *(True, "100×", "IMPOSSIBLE: above the peak of 10.0 TFLOP/s"),
        ),
        (Clocks(0.1, 0.13), False, "1.3×", "just before the work ended"),
        (Clocks(0.1, 0.1), False, "1×", "the loop waited"),
        (Clocks(0.1, 0.5, inline=True), False, "5.0×", "inside the call"),
    ],
)
def test_the_verdict(found: Clocks, wrong: bool, factor: str, verdict: str) -> None:
    assert (found.wrong, found.factor) == (wrong, factor)
    assert verdict in found.verdict


def test_no_stopwatch_reads_a_small_part_of_a_unit() -> None:
    clock, work = loop_lines(Clocks(2.14e-6, 0.0123), 70)
    assert plain(clock).split()[1:3] == ["2.14", "µs"]
    assert plain(work).split()[1:3] == ["12.3", "ms"]


def test_bars_are_to_scale_and_the_claim_is_red() -> None:
    found = Clocks(0.02, 0.2, flops=2e9)
    clock, work = loop_lines(found, 70)
    lengths = [len(line[2].text) for line in (clock, work)]
    assert lengths[0] == pytest.approx(lengths[1] / 10, abs=1)
    assert plain(clock).startswith("stopwatch  20.0 ms █")
    assert plain(work).startswith("work      200   ms █")
    assert plain(work).endswith("true 10.0 GFLOP/s")
    assert [span.text.strip() for span in clock if span.role == "danger"] == [
        "claims 100 GFLOP/s"
    ]
    assert plain(judgement(found)).endswith("10 % of the work")


@pytest.mark.parametrize(
    ("until", "shown"),
    [(0.01, []), (0.1, ["20.0"]), (0.2, ["20.0", "200", "true"])],
)
def test_figures_of_a_playback_come_at_its_end(until: float, shown: list[str]) -> None:
    found = Clocks(0.02, 0.2, flops=2e9)
    text = " ".join(map(plain, loop_lines(found, 70, until=until)))
    assert [one for one in ("20.0", "200", "true") if one in text] == shown
    assert ("…" in text) == (until < 0.2)
