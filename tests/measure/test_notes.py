"""The thresholds of notes, from both sides."""

from __future__ import annotations

import pytest

from jaxtui.measure import notes
from jaxtui.stats import Interval


@pytest.mark.parametrize(
    ("last", "width", "differs"),
    [(1.04, 0.01, True), (0.95, 0.01, True), (1.02, 0.01, False), (1.2, 0.3, False)],
)
def test_a_drift_is_wider_than_the_interval_and_three_percent(
    last: float, width: float, differs: bool
) -> None:
    interval = Interval(1 - width / 2, 1.0, 1 + width / 2)
    found = notes.drift([1.0, 1.0, 1.0, 1.1, last, last], interval)
    assert found == ((1.0, last) if differs else None)
    assert notes.drift([1.0, last, 1.0, last, last], interval) is None


@pytest.mark.parametrize(
    ("high", "slow", "calls", "groups"),
    [
        (1.5, 15, 40, True),
        (1.2, 15, 40, False),  # hardly slower
        (1.5, 2, 40, False),  # a few outliers are no group
        (1.5, 6, 16, False),  # too few to tell
    ],
)
def test_two_groups_have_a_gap_between_them(
    high: float, slow: int, calls: int, groups: bool
) -> None:
    samples = [1.0 + 0.001 * n for n in range(calls - slow)]
    samples += [high + 0.001 * n for n in range(slow)]
    found = notes.two_groups(samples)
    assert (found is not None) == groups
    if found:
        assert found == pytest.approx((1.0, high), abs=0.05)


@pytest.mark.parametrize(
    ("seconds", "noted"), [(None, False), (0.0, False), (0.02, False), (0.04, True)]
)
def test_freeing_is_noted_above_three_percent_of_a_call(
    seconds: float | None, noted: bool
) -> None:
    assert bool([*notes.of_freeing(seconds, 1.0)]) == noted
