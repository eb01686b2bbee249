"""Where curves cross, when a first call is repaid, and the search that closes in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    Ending,
    Event,
    Failure,
    Measurement,
    Phases,
    Remark,
    RunFinished,
    RunStarted,
)
from jaxtui.core.model.measurement import Interval
from jaxtui.core.state import State
from jaxtui.features.bench.crossing import (
    LEAST_CONFIDENCE,
    Crossing,
    about_text,
    crossing_size,
    last_crossing,
    leader,
    ratio_of,
)
from jaxtui.features.crossover.judge import around, payback, result
from jaxtui.features.crossover.messages import experiment
from tests.core.figures import JIT, NUMPY, Seconds, case, measurement, sampled
from tests.features.crossover.crossing import GRID, after, found, state_of

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
        # What may be 1 decides nothing, and nothing is read off through it.
        (
            ratios((10, 0.25, 0.25), (500, 0.9, 1.2), (1000, 4.0, 4.0)),
            Crossing(below=10, above=1000, at=None, faster="second", undecided=(500,)),
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
    repaid = payback(first, second, leader(ratio_of(first, second)))
    assert repaid is not None
    assert (repaid.side, repaid.calls) == (side, calls)


def test_what_compiles_nothing_has_nothing_to_repay() -> None:
    wide = case("numpy", dtype="float64")
    assert payback(measurement(NUMPY, 1.0), measurement(wide, 2.0), "first") is None


# Both runs.


def linear(size: int) -> float:
    return 1e-6 + 1e-9 * size


def crossing_at(size: float) -> Seconds:
    """Slower than ``linear`` below that size, faster above."""
    return lambda n: linear(n) * (size / n) ** 0.3


def times(factor: float) -> Seconds:
    return lambda n: factor * linear(n)


@given(st.floats(20.0, 900_000.0), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_planted_crossing_is_found_in_two_runs(planted: float, turned: bool) -> None:
    costs = (linear, crossing_at(planted))
    crossover = found(*(reversed(costs) if turned else costs), sides=(EAGER, JIT))
    crossing = crossover.crossing
    assert crossing is not None
    assert crossing.faster == ("first" if turned else "second")
    assert crossing.below <= planted <= crossing.above
    # With an interval of 0.5 % nothing can be told within some 4 % of the crossing.
    limit = 2 if crossing.undecided else 1.2
    assert crossing.above <= limit * crossing.below + 1
    assert (crossing.at is None) == bool(crossing.undecided)
    if crossing.at is not None:
        assert crossing.below <= crossing.at <= crossing.above
        assert crossing.at == pytest.approx(planted, rel=0.05, abs=1)


@pytest.mark.parametrize(
    ("factor", "faster"),
    [(1.05, "first"), (50, "first"), (0.5, "second"), (1.001, None)],
)
def test_without_a_crossing_only_the_grid_is_measured(
    factor: float, faster: str | None
) -> None:
    crossover = found(linear, times(factor), sides=(EAGER, JIT))
    assert (crossover.faster, crossover.crossing) == (faster, None)
    assert tuple(size.size for size in crossover.sizes) == GRID


def test_the_sizes_around_a_crossing_are_new() -> None:
    state = state_of(linear, crossing_at(30), sizes=(16, 64), refined=False)
    assert around(result(state, complete=True)) == (23, 32, 45)
    both = found(linear, crossing_at(30), sizes=(16, 64))
    assert [size.size for size in both.sizes] == [16, 23, 32, 45, 64]
    assert len(both.measurements) == 10


def test_a_size_that_fails_is_said_to_and_the_others_count() -> None:
    crossover = found(linear, crossing_at(700), too_large=500_000, sides=(EAGER, JIT))
    crossing = crossover.crossing
    assert crossing is not None
    assert crossing.below <= 700 <= crossing.above
    assert [x.case.size for x in crossover.failures] == [2**19] * 2 + [2**20] * 2
    nothing = found(linear, linear, too_large=1)
    assert (nothing.sizes, nothing.faster) == ((), None)


@pytest.mark.parametrize("way", ["few rounds", "too slow"])
def test_a_size_without_an_interval_is_no_row(way: str) -> None:
    work = experiment((NUMPY, JIT), (16, 64), 8.0)
    told: list[Event] = [RunStarted(cases=work.cases)]
    for index, one in enumerate(work.cases):
        slow = one.size == 64 and one.mode == "numpy"
        measured = measurement(one, 1e-3, rounds=5 if slow else 12)
        event: Event = CaseMeasured(index=index, measurement=measured)
        if slow and way == "too slow":
            failure = Failure(case=one, remark=Remark("too-slow", {}, "error"))
            event = CaseFailed(index=index, failure=failure)
        told.append(event)
    crossover = result(after(told, work, State()), complete=True)
    assert [size.size for size in crossover.sizes] == [16]
    assert crossover.failures == ()
    (note,) = [note for note in crossover.notes if note.flag == "left out"]
    assert "size 64 take" in note.text


@pytest.mark.parametrize(
    ("ending", "flag"), [("cancelled", "stopped"), ("crashed", "incomplete")]
)
def test_what_ends_it_early_keeps_what_was_measured(ending: Ending, flag: str) -> None:
    work = experiment((NUMPY, JIT), (16, 64), 8.0)
    told: list[Event] = [RunStarted(cases=work.cases)]
    for index, one in enumerate(work.cases[:3]):
        told.append(CaseMeasured(index=index, measurement=measurement(one, 1e-3)))
    told.append(RunFinished(outcome=ending, elapsed_seconds=0.1))
    crossover = result(after(told, work, State()), complete=False)
    # One side alone is no row.
    assert [size.size for size in crossover.sizes] == [16]
    assert flag in {note.flag for note in crossover.notes}


@pytest.mark.parametrize(
    ("ratio", "faster"), [(1.1, "second"), (0.9, "first"), (1.0, None)]
)
def test_what_slows_both_alike_hides_no_difference(
    ratio: float, faster: str | None
) -> None:
    """Rounds that all drift alike; the intervals of the two overlap."""
    work = experiment((NUMPY, JIT), (64,), 8.0)
    told: list[Event] = [RunStarted(cases=work.cases)]
    for index, (one, factor) in enumerate(zip(work.cases, (ratio, 1.0), strict=True)):
        measured = measurement(one, factor, width=0.5)
        drift = (1.0, 1.7, 2.5, 1.2, 0.7, 0.9, 1.4, 3.0)
        for number, slower in enumerate(drift, start=1):
            told.append(sampled(index, number, measured, factor * slower))
        told.append(CaseMeasured(index=index, measurement=measured))
    (size,) = result(after(told, work, State()), complete=True).sizes
    assert size.faster == faster


def test_a_size_between_two_has_as_many_digits_as_keep_it_there() -> None:
    assert about_text(384, 370, 400) == "380"
    assert about_text(1240, 1218, 1300) == "1240"
    assert about_text(31_234, 30_000, 40_000) == "31,000"
