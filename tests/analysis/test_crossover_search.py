"""The search over planted machines: it ends, and finds what is there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.analysis.crossover import (
    CLOSE,
    EDGE,
    Crossing,
    Search,
    answer,
    begin,
    middle,
    shown_sizes,
)
from jaxtui.model import CaseMeasured, Experiment, RunFinished, RunStarted
from tests.analysis.figures import (
    JIT,
    NUMPY,
    Seconds,
    case,
    events,
    found,
    measurement,
    sampled,
)

GRID = tuple(16 * 4**step for step in range(9))
"""16 to a million."""

EAGER = case("eager")
"""Beside jit the transfers are the same: the clocks are call and first call."""


def linear(size: int) -> float:
    return 1e-6 + 1e-9 * size


def started(sizes: tuple[int, ...]) -> tuple[Search, Experiment]:
    """A search at its first size."""
    state = begin(NUMPY, JIT, sizes, 60.0)
    experiment = state.next_work
    assert experiment is not None
    began = RunStarted(cases=experiment.cases, budget_seconds=1.0)
    return state.observe(began), experiment


def crossing_at(size: float, steepness: float = 1.0) -> Seconds:
    """Slower than ``linear`` below that size, faster above."""
    return lambda n: linear(n) * (size / n) ** (0.3 * steepness)


def times(factor: float) -> Seconds:
    return lambda n: factor * linear(n)


def only(state: Search) -> Crossing:
    """The last crossing by the clock of a call."""
    crossing = answer(state.points, "call").crossing
    assert crossing is not None
    return crossing


@given(st.floats(20.0, 900_000.0), st.booleans())
@settings(max_examples=100)
def test_a_planted_crossing_is_closed_in_on(planted: float, turned: bool) -> None:
    costs = (linear, crossing_at(planted))
    state = found(*(reversed(costs) if turned else costs), sides=(EAGER, JIT))
    crossing = only(state)
    assert state.outcome == "complete"
    assert crossing.faster == ("first" if turned else "second")
    assert crossing.below <= planted <= crossing.above
    # With an interval of 0.5 % nothing can be told within some 4 % of the crossing.
    limit = EDGE**2 * CLOSE if crossing.undecided else CLOSE
    assert crossing.above <= limit * crossing.below + 1
    assert crossing.below <= crossing.at <= crossing.above
    if not crossing.undecided:
        assert crossing.at == pytest.approx(planted, rel=0.03, abs=1)


@given(st.floats(1.05, 50.0), st.booleans())
@settings(max_examples=40)
def test_where_there_is_no_crossing_only_the_grid_is_measured(
    factor: float, ahead: bool
) -> None:
    other = times(factor if ahead else 1 / factor)
    state = found(linear, other, sides=(EAGER, JIT))
    one = answer(state.points, "call")
    assert one.found == "always"
    assert one.faster == ("first" if ahead else "second")
    assert (one.low, one.high) == (GRID[0], GRID[-1])
    assert one.crossings == ()
    if all(each.found != "crossing" for each in state.answers):
        assert tuple(point.size for point in state.points) == GRID


@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=12),
    st.integers(0, 2**32),
    st.floats(0.5, 1e4),
    st.floats(0.0, 0.5),
)
@settings(max_examples=150)
def test_any_machine_lets_the_search_end_and_no_size_is_tried_twice(
    sizes: list[int], seed: int, budget: float, width: float
) -> None:
    def noise(which: int) -> Seconds:
        return lambda n: 1e-6 * (1 + hash((n, which, seed)) % 1000)

    state = begin(NUMPY, JIT, sizes, budget)
    tried: list[int] = []
    while (experiment := state.next_work) is not None:
        (size,) = {one.size for one in experiment.cases}
        assert experiment.budget > 0
        tried.append(size)
        # A bisection to 10 % of a grid over nine decades, for each of four clocks.
        assert len(tried) < 400
        for event in events(experiment, (noise(0), noise(1)), width, used=1.0):
            state = state.observe(event)
    assert len(set(tried)) == len(tried)
    assert all(min(sizes) <= size <= max(sizes) for size in tried)
    assert state.outcome in ("complete", "budget")
    if state.outcome == "complete":
        assert set(sizes) <= set(tried)


def test_both_are_asked_for_at_one_size_so_that_they_take_turns() -> None:
    experiment = begin(NUMPY, JIT, (64, 16), 60.0, seed=3).next_work
    assert experiment is not None
    asked = [(one.mode, one.size) for one in experiment.cases]
    assert (asked, experiment.seed) == ([("numpy", 16), ("jit", 16)], 3)


def test_a_stretch_without_a_difference_is_the_answer() -> None:
    def near(size: int) -> float:
        off = math.log(size / 2000)
        return linear(size) * (1.0 if abs(off) < 0.4 else math.exp(-0.2 * off))

    state = found(linear, near, sides=(EAGER, JIT))
    crossing = only(state)
    inner = crossing.undecided
    assert crossing.below < 2000 * math.exp(-0.4) * EDGE
    assert inner[0] <= EDGE * crossing.below + 1
    assert crossing.above <= EDGE * inner[-1] + 1


def test_beside_a_size_without_a_difference_the_grid_is_made_finer() -> None:
    """NumPy is as fast again at the end of the range, but not half-way there."""

    def dip(size: int) -> float:
        return linear(size) * (0.8 if 300 < size < 900 else 1 if size > 900 else 1.3)

    state = found(linear, dip, sizes=(16, 64, 256, 1024), sides=(EAGER, JIT))
    crossing = only(state)
    assert 256 <= crossing.below < 300 < crossing.above


def test_no_difference_anywhere_is_said_to_be_none() -> None:
    state = found(linear, times(1.001), sides=(EAGER, JIT))
    one = answer(state.points, "call")
    assert (one.found, one.faster, one.even) == ("even", None, GRID)


def test_of_several_crossings_the_last_is_closed_in_on() -> None:
    def twice(size: int) -> float:
        return linear(size) * (0.5 if 100 < size < 3000 else 2.0)

    state = found(linear, twice, sides=(EAGER, JIT))
    up, down = answer(state.points, "call").crossings
    assert (up.faster, down.faster) == ("second", "first")
    assert up.below < 100 < up.above
    assert up.above == 4 * up.below
    assert down.below < 3000 <= down.above <= CLOSE * down.below + 1


def test_a_lead_that_changes_back_and_forth_is_one_stretch() -> None:
    """As where the two are as fast, and something else disturbs now one, now both."""

    def disturbed(size: int) -> float:
        if 90 < size < 150:
            return linear(size) * (0.9 if size < 120 else 1.1)
        return linear(size) * (128 / size) ** 0.3

    state = found(linear, disturbed, sizes=(16, 80, 100, 140, 158, 640))
    (crossing,) = answer(state.points, "call").crossings
    assert crossing.mixed
    assert crossing.faster == "second"
    assert 64 <= crossing.below < 90
    assert 150 < crossing.above <= 160
    assert {100, 140} <= set(crossing.undecided)


def test_below_a_size_that_is_too_large_the_search_goes_on() -> None:
    state = found(linear, crossing_at(700), too_large=100_000, sides=(EAGER, JIT))
    crossing = only(state)
    assert crossing.below <= 700 <= crossing.above
    assert [one.case.size for one in state.failures] == [262_144, 262_144]
    assert max(shown_sizes(state)) == 262_144


def test_without_a_crossing_it_reaches_for_sizes_below_the_one_that_failed() -> None:
    state = found(linear, times(2), too_large=200_000, sides=(EAGER, JIT))
    assert state.points[-1].size == middle(65_536, 262_144) == 131_072
    assert max(shown_sizes(state)) == 262_144


def test_where_everything_fails_there_is_no_answer() -> None:
    state = found(linear, linear, too_large=1)
    assert state.points == ()
    assert state.outcome == "complete"
    assert {one.found for one in state.answers} == {"unknown"}
    assert len(state.failures) == 2 * len(GRID)


def crashed() -> RunFinished:
    return RunFinished(outcome="crashed", elapsed_seconds=1.0)


def test_an_engine_that_was_lost_says_nothing_about_a_size() -> None:
    state = begin(EAGER, JIT, (16, 64), 60.0)
    for lost in (state.observe(crashed()), state.lost("")):
        assert (lost.outcome, lost.next_work) == ("incomplete", None)
    assert [one.error for one in state.observe(crashed()).failures] == [
        "The engine ended before it had a figure."
    ]


def test_one_side_alone_is_no_point() -> None:
    state, experiment = started((16, 64))
    measured = measurement(experiment.cases[0], 1e-3)
    state = state.observe(CaseMeasured(index=0, measurement=measured))
    state = state.observe(crashed())
    assert state.points == ()
    assert state.failures[0].case.size == 16


def test_ctrl_c_keeps_what_was_measured_and_ends_it() -> None:
    state = begin(NUMPY, JIT, GRID, 60.0)
    for event in events(state.next_work, (linear, linear)):
        state = state.observe(event)
    began = RunStarted(cases=state.next_work.cases, budget_seconds=1.0)
    state = state.observe(began)
    ended = state.observe(RunFinished(outcome="cancelled", elapsed_seconds=0.1))
    assert ended == state.stopped() == ended.observe(crashed())
    assert (ended.outcome, ended.next_work) == ("cancelled", None)
    assert [point.size for point in ended.points] == [16]


@pytest.mark.parametrize("budget", [1.0, 5.0, 60.0])
def test_the_budget_is_kept_and_shared(budget: float) -> None:
    state = found(linear, crossing_at(700), budget=budget)
    assert state.spent_seconds <= budget + 1
    assert state.outcome == ("complete" if budget == 60 else "budget")
    assert state.points


def test_sizes_after_the_grid_get_more_time_when_there_is_more() -> None:
    def first_share(budget: float) -> float:
        experiment = begin(NUMPY, JIT, GRID, budget).next_work
        assert isinstance(experiment, Experiment)
        return experiment.budget

    assert first_share(20.0) < first_share(60.0) < first_share(600.0)
    assert first_share(600.0) == first_share(6000.0)


def with_rounds(drift: list[float], ratio: float) -> Search:
    """One size whose rounds all drift alike; the intervals of the two overlap.

    Args:
        drift: How slow the machine is, round by round.
        ratio: Of the first one's seconds to the second one's.
    """
    state, experiment = started((64,))
    sides = zip(experiment.cases, (ratio, 1.0), strict=True)
    for index, (one, factor) in enumerate(sides):
        measured = measurement(one, factor, width=0.5)
        for number, slower in enumerate(drift, start=1):
            state = state.observe(sampled(index, number, measured, factor * slower))
        state = state.observe(CaseMeasured(index=index, measurement=measured))
    return state.observe(RunFinished(outcome="complete", elapsed_seconds=1.0))


def test_what_slows_both_alike_hides_no_difference() -> None:
    drift = [1.0, 1.7, 2.5, 1.2, 0.7, 0.9, 1.4, 3.0]
    assert answer(with_rounds(drift, 1.1).points, "call").faster == "second"
    assert answer(with_rounds(drift, 0.9).points, "call").faster == "first"
    assert answer(with_rounds(drift, 1.0).points, "call").found == "even"
    # Too few rounds for an interval of their ratios: those of the two decide.
    assert answer(with_rounds(drift[:5], 1.1).points, "call").found == "even"


def test_an_engine_that_was_started_again_begins_its_rounds_anew() -> None:
    state, experiment = started((64,))
    one = measurement(experiment.cases[0], 1.0)
    for number in (1, 2, 3, 1, 2):
        state = state.observe(sampled(0, number, one, float(number)))
    assert state.rounds == ((1.0, 2.0), ())
