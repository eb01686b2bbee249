"""The clocks of a loop: their ratio, the judgement on them, and their bars."""

from __future__ import annotations

import pytest
from rich.text import Text

from jaxtui.core.model import LoopClock, Peak
from jaxtui.features.timeline import stopwatch
from jaxtui.features.timeline.stopwatch import LoopClocks, judgement, loop_lines
from tests.features.timeline.test_lanes import measured, timeline


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
    assert "median of 7 repeats" in judgement(found, 110).plain
    # Both ends of its playback are those of the figures.
    ends = (0.0, line.through, line.total)
    assert [stopwatch.moment(found, line, end) for end in ends] == [0.0, 4e-5, 0.09]


@pytest.mark.parametrize(
    ("ends", "vague"), [((80.0, 120.0), False), ((40.0, 120.0), True), (None, True)]
)
def test_a_factor_that_differs_from_turn_to_turn_is_uncertain(
    ends: tuple[float, float] | None, vague: bool
) -> None:
    found = LoopClocks(1e-3, 0.1, repeats=7, ends=ends)
    assert found.vague == vague
    last = judgement(found, 110).plain
    assert ("uncertain" in last) == vague
    assert ("120×" in last) == (ends is not None)


def test_a_factor_of_one_repeat_is_uncertain() -> None:
    assert LoopClocks(1e-3, 0.1, repeats=1, ends=(100.0, 100.0)).vague


def red(line: Text) -> list[str]:
    dangers = (span for span in line.spans if span.style == "danger")
    texts = (line.plain[span.start : span.end].strip() for span in dangers)
    return [text for text in texts if text]


def test_one_watched_repeat_has_no_verdict() -> None:
    one = measured(20)
    found = stopwatch.of_loop(timeline(one.calls), None)
    assert found.repeats == 0
    drawn = [*loop_lines(found, 110), judgement(found, 110)]
    assert not any(red(line) for line in drawn)
    assert "watched" in drawn[-1].plain


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
    found = LoopClocks(read, work)
    assert found.unit.name == unit
    assert (found.unit.text(read), found.unit.text(work)) == texts


@pytest.mark.parametrize(
    ("found", "wrong", "factor", "verdict"),
    [
        (
            LoopClocks(0.5e-3, 0.27),
            *(True, "540×", "stopped at 0.19 % of the work"),
        ),
        (
            LoopClocks(1e-3, 0.1, flops=1e12, peak=1e13),
            *(True, "100×", "IMPOSSIBLE: above the peak of 10.0 TFLOP/s"),
        ),
        (LoopClocks(0.1, 0.13), False, "1.3×", "just before the work ended"),
        (LoopClocks(0.1, 0.1), False, "1×", "the loop waited"),
        (LoopClocks(0.1, 0.5, inline=True), False, "5.0×", "inside the call"),
    ],
)
def test_the_verdict(found: LoopClocks, wrong: bool, factor: str, verdict: str) -> None:
    assert (found.wrong, found.factor) == (wrong, factor)
    assert verdict in found.verdict


def test_no_stopwatch_reads_a_small_part_of_a_unit() -> None:
    clock, work = loop_lines(LoopClocks(2.14e-6, 0.0123), 70)
    assert clock.plain.split()[1:3] == ["2.14", "µs"]
    assert work.plain.split()[1:3] == ["12.3", "ms"]


def test_bars_are_to_scale_and_the_claim_is_red() -> None:
    found = LoopClocks(0.02, 0.2, flops=2e9)
    clock, work = loop_lines(found, 70)
    lengths = [line.plain.count("█") for line in (clock, work)]
    assert lengths[0] == pytest.approx(lengths[1] / 10, abs=1)
    assert clock.plain.startswith("stopwatch  20.0 ms █")
    assert work.plain.startswith("work      200   ms █")
    assert work.plain.endswith("true 10.0 GFLOP/s")
    assert red(clock) == ["claims 100 GFLOP/s"]
    assert judgement(found, 110).plain.endswith("10 % of the work")


@pytest.mark.parametrize(
    ("until", "shown"),
    [(0.01, []), (0.1, ["20.0"]), (0.2, ["20.0", "200", "true"])],
)
def test_figures_of_a_playback_come_at_its_end(until: float, shown: list[str]) -> None:
    found = LoopClocks(0.02, 0.2, flops=2e9)
    text = " ".join(line.plain for line in loop_lines(found, 70, until=until))
    assert [one for one in ("20.0", "200", "true") if one in text] == shown
    assert ("…" in text) == (until < 0.2)
