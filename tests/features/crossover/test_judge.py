"""Where curves cross, when a first call is repaid, and the search that closes in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.analysis.crossing import (
    LEAST_CONFIDENCE,
    Crossing,
    about_text,
    crossing_size,
    last_crossing,
    leader,
)
from jaxtui.features.crossover.judge import (
    Point,
    Search,
    answer,
    around,
    begin,
    payback,
)
from jaxtui.model import (
    CaseFailed,
    CaseMeasured,
    Ending,
    Event,
    Experiment,
    Failure,
    Measurement,
    Phases,
    Remark,
    RunFinished,
    RunStarted,
)
from jaxtui.model.measurement import Interval
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

GRID = tuple(16 * 2**step for step in range(17))
"""16 to a million."""

EAGER = case("eager")


# Two curves.


def ratios(*figures: tuple[int, float, float]) -> list[tuple[int, Interval]]:
    """Sizes, and the ends of the ratio there."""
    return [
        (size, Interval(low, (low * high) ** 0.5, high, 0.99))
        for size, low, high in figures
    ]


@pytest.mark.parametrize(
    ("curve", "crossing"),
    [
        (
            ratios((10, 0.25, 0.25), (1000, 4.0, 4.0)),
            Crossing(below=10, above=1000, at=100, faster="second"),
        ),
        (
            ratios((10, 4.0, 4.0), (1000, 0.25, 0.25)),
            Crossing(below=10, above=1000, at=100, faster="first"),
        ),
        # What may be 1 decides nothing.
        (
            ratios((10, 0.25, 0.25), (500, 0.9, 1.2), (1000, 4.0, 4.0)),
            Crossing(below=10, above=1000, at=450, faster="second", undecided=(500,)),
        ),
        # The last of several.
        (
            ratios((1, 4, 4), (10, 0.25, 0.25), (1000, 4, 4), (2000, 5, 5)),
            Crossing(below=10, above=1000, at=100, faster="second"),
        ),
        (ratios((10, 2, 3), (1000, 2, 3), (2000, 0.9, 1.1)), None),
        (ratios((10, 0.9, 1.1)), None),
        ([], None),
    ],
)
def test_curves_cross_between_sizes_at_which_it_is_certain_who_is_faster(
    curve: list[tuple[int, Interval]], crossing: Crossing | None
) -> None:
    assert last_crossing(curve) == crossing


def test_few_rounds_decide_nothing() -> None:
    assert leader(Interval(2.0, 3.0, 4.0, LEAST_CONFIDENCE)) == "second"
    assert leader(Interval(2.0, 3.0, 4.0, LEAST_CONFIDENCE - 0.01)) is None
    assert leader(None) is None


@pytest.mark.parametrize("few", [(5, 12), (12, 5), (2, 2)])
def test_few_rounds_are_no_verdict_however_far_the_two_are_apart(
    few: tuple[int, int],
) -> None:
    sides = zip((NUMPY, JIT), (1e-3, 1.0), few, strict=True)
    slow = Point(64, *(measurement(one, t, rounds=n) for one, t, n in sides))
    sure = Point(16, measurement(NUMPY, 1e-3), measurement(JIT, 1.0))
    judged = answer([sure, slow])
    assert judged is not None
    assert (judged.faster, judged.undecided) == ("first", (64,))


def test_the_place_is_straight_between_two_sizes_on_logarithmic_axes() -> None:
    assert crossing_size((100, 10_000), (-1.0, 1.0)) == pytest.approx(1000)
    assert crossing_size((100, 10_000), (-1.0, 3.0)) == pytest.approx(10**2.5)


SLOW_EAGER = measurement(EAGER, 2e-3, phases=Phases(first_call=0.0105))


@pytest.mark.parametrize(
    ("first", "second", "side", "calls"),
    [
        # 44 ms until the first result, and then 10 ms are saved by each call.
        (measurement(NUMPY, 0.02), measurement(JIT, 0.01), "second", 4),
        (measurement(JIT, 0.01), measurement(NUMPY, 0.02), "first", 4),
        (measurement(NUMPY, 0.05), measurement(JIT, 0.01), "second", 1),
        (measurement(NUMPY, 0.01), measurement(JIT, 0.02), "second", None),
        # A difference that is not certain never pays.
        (measurement(NUMPY, 1.01, 0.02), measurement(JIT, 1.0, 0.02), "second", None),
        # Of two of JAX the slower start: 44 ms against 10.5 ms, and a millisecond is
        # saved by each call.
        (SLOW_EAGER, measurement(JIT, 1e-3), "second", 35),
        (measurement(JIT, 1e-3), SLOW_EAGER, "first", 35),
    ],
)
def test_after_how_many_calls_a_first_call_is_repaid(
    first: Measurement, second: Measurement, side: str, calls: int | None
) -> None:
    repaid = payback(Point(64, first, second))
    assert repaid is not None
    assert (repaid.size, repaid.side, repaid.calls) == (64, side, calls)


def test_what_compiles_nothing_has_nothing_to_repay() -> None:
    wide = case("numpy", dtype="float64")
    assert payback(Point(64, measurement(NUMPY, 1.0), measurement(wide, 2.0))) is None


# The search.


def linear(size: int) -> float:
    return 1e-6 + 1e-9 * size


def crossing_at(size: float) -> Seconds:
    """Slower than ``linear`` below that size, faster above."""
    return lambda n: linear(n) * (size / n) ** 0.3


def times(factor: float) -> Seconds:
    return lambda n: factor * linear(n)


def started(sizes: tuple[int, ...]) -> tuple[Search, Experiment]:
    """A search in its first run."""
    state = begin(NUMPY, JIT, sizes, 60.0)
    experiment = state.next_work
    assert experiment is not None
    began = RunStarted(cases=experiment.cases, budget_seconds=1.0)
    return state.observe(began), experiment


def crossing_of(state: Search) -> Crossing:
    assert state.answer is not None
    assert state.answer.crossing is not None
    return state.answer.crossing


@given(st.floats(20.0, 900_000.0), st.booleans())
@settings(max_examples=100)
def test_a_planted_crossing_is_found_in_two_runs(planted: float, turned: bool) -> None:
    costs = (linear, crossing_at(planted))
    state = found(*(reversed(costs) if turned else costs), sides=(EAGER, JIT))
    crossing = crossing_of(state)
    assert state.outcome == "complete"
    assert crossing.faster == ("first" if turned else "second")
    assert crossing.below <= planted <= crossing.above
    # With an interval of 0.5 % nothing can be told within some 4 % of the crossing.
    limit = 2 if crossing.undecided else 1.2
    assert crossing.above <= limit * crossing.below + 1
    assert crossing.below <= crossing.at <= crossing.above
    assert crossing.at == pytest.approx(planted, rel=0.05, abs=1)


@given(st.floats(1.05, 50.0), st.booleans())
@settings(max_examples=40)
def test_where_there_is_no_crossing_only_the_grid_is_measured(
    factor: float, ahead: bool
) -> None:
    costs = linear, times(factor if ahead else 1 / factor)
    state = found(*costs, sides=(EAGER, JIT), most=1)
    judged = state.answer
    assert judged is not None
    assert judged.faster == ("first" if ahead else "second")
    assert (judged.low, judged.high) == (GRID[0], GRID[-1])
    assert judged.crossing is None
    assert tuple(point.size for point in state.points) == GRID


@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=12),
    st.integers(0, 2**32),
    st.floats(0.0, 0.5),
)
@settings(max_examples=150)
def test_any_machine_lets_the_search_end_and_no_size_is_tried_twice(
    sizes: list[int], seed: int, width: float
) -> None:
    def noise(which: int) -> Seconds:
        return lambda n: 1e-6 * (1 + hash((n, which, seed)) % 1000)

    state = found(noise(0), noise(1), sizes, width=width)
    tried = [point.size for point in state.points]
    assert state.outcome == "complete"
    assert set(sizes) <= set(tried)
    assert sorted(set(tried)) == tried
    assert all(min(sizes) <= size <= max(sizes) for size in tried)


def test_all_sizes_take_turns_in_one_run_and_those_around_the_crossing_in_another() -> (
    None
):
    state = begin(NUMPY, JIT, (64, 16), 60.0, seed=3)
    grid = state.next_work
    assert grid is not None
    asked = [(one.mode, one.size) for one in grid.cases]
    assert asked == [("numpy", 16), ("jit", 16), ("numpy", 64), ("jit", 64)]
    for event in events(grid, (linear, crossing_at(30))):
        state = state.observe(event)
    second = state.next_work
    assert second is not None
    assert [one.size for one in second.cases[::2]] == [23, 32, 45]
    assert grid.seed == second.seed == 3
    assert grid.budget + second.budget == pytest.approx(60)


def test_curves_are_said_to_cross_where_they_are_drawn_to_cross() -> None:
    def near(size: int) -> float:
        """At first hardly faster, for certain much later."""
        return linear(size) * (1.3 if size < 100 else 0.999 if size < 5000 else 0.5)

    crossing = crossing_of(found(linear, near, sides=(EAGER, JIT)))
    assert crossing.below < 100 < 5000 <= crossing.above
    assert 64 <= crossing.at <= 200


def test_no_difference_anywhere_is_said_to_be_none() -> None:
    judged = found(linear, times(1.001), sides=(EAGER, JIT)).answer
    assert judged is not None
    assert (judged.faster, judged.crossing, judged.undecided) == (None, None, GRID)


def test_what_a_sweep_has_measured_is_not_measured_again() -> None:
    whole = found(linear, crossing_at(700))
    grid = [point for point in whole.points if point.size in GRID]
    work = around(NUMPY, JIT, grid, 60.0).next_work
    assert work is not None
    assert {one.size for one in work.cases} == {p.size for p in whole.points} - {*GRID}
    # Without a crossing among them there is nothing left to do.
    same = found(linear, times(2)).points
    assert around(NUMPY, JIT, same, 60.0).outcome == "complete"


def test_a_size_that_fails_is_said_to_and_the_others_count() -> None:
    state = found(linear, crossing_at(700), too_large=500_000, sides=(EAGER, JIT))
    crossing = crossing_of(state)
    assert crossing.below <= 700 <= crossing.above
    assert [one.case.size for one in state.failures] == [2**19] * 2 + [2**20] * 2


@pytest.mark.parametrize("way", ["few rounds", "too slow"])
def test_a_size_without_an_interval_is_no_row(way: str) -> None:
    state, experiment = started((16, 64))
    for index, one in enumerate(experiment.cases):
        slow = one.size == 64 and one.mode == "numpy"
        measured = measurement(one, 1e-3, rounds=5 if slow else 12)
        event: Event = CaseMeasured(index=index, measurement=measured)
        if slow and way == "too slow":
            failure = Failure(case=one, remark=Remark("too-slow", {}, "error"))
            event = CaseFailed(index=index, failure=failure)
        state = state.observe(event)
    state = state.observe(RunFinished(outcome="complete", elapsed_seconds=1.0))
    assert [point.size for point in state.points] == [16]
    assert (state.slow, state.failures) == ((64,), ())


def test_where_everything_fails_there_is_no_answer() -> None:
    state = found(linear, linear, too_large=1)
    assert (state.points, state.answer, state.outcome) == ((), None, "complete")
    assert len(state.failures) == 2 * len(GRID)


@pytest.mark.parametrize(
    ("outcome", "said"), [("cancelled", "cancelled"), ("crashed", "incomplete")]
)
def test_what_ends_it_early_keeps_what_was_measured(outcome: Ending, said: str) -> None:
    state, experiment = started((16, 64))
    for index, one in enumerate(experiment.cases[:3]):
        measured = measurement(one, 1e-3)
        state = state.observe(CaseMeasured(index=index, measurement=measured))
    ended = state.observe(RunFinished(outcome=outcome, elapsed_seconds=0.1))
    assert ended == (state.stopped() if said == "cancelled" else state.lost())
    assert (ended.outcome, ended.next_work) == (said, None)
    # One side alone is no point.
    assert [point.size for point in ended.points] == [16]
    assert ended.failures == ()


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


@pytest.mark.parametrize(
    ("rounds", "ratio", "faster"),
    [
        (8, 1.1, "second"),
        (8, 0.9, "first"),
        (8, 1.0, None),
    ],
)
def test_what_slows_both_alike_hides_no_difference(
    rounds: int, ratio: float, faster: str | None
) -> None:
    drift = [1.0, 1.7, 2.5, 1.2, 0.7, 0.9, 1.4, 3.0]
    (point,) = with_rounds(drift[:rounds], ratio).points
    assert point.faster == faster


def test_a_size_between_two_has_as_many_digits_as_keep_it_there() -> None:
    assert about_text(384, 370, 400) == "380"
    assert about_text(1240, 1218, 1300) == "1240"
    assert about_text(31_234, 30_000, 40_000) == "31,000"
