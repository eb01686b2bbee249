"""The clocks of a loop."""

from __future__ import annotations

import pytest

from jaxtui.core.model import LoopClock, Peak
from jaxtui.features.timeline import stopwatch
from jaxtui.features.timeline.stopwatch import judgement
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
