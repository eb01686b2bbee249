"""Where curves cross, when a first call is repaid, the search and its report."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    Event,
    Failure,
    Mode,
    Phases,
    Remark,
    RunStarted,
)
from jaxtui.core.model.measurement import Interval
from jaxtui.core.state import CaseState, Job, State
from jaxtui.features.bench.crossing import (
    LEAST_CONFIDENCE,
    Crossing,
    about_text,
    crossing_size,
    last_crossing,
    leader,
    ratio_of,
)
from jaxtui.features.crossover.judge import (
    names,
    of_curves,
    partner,
    payback,
    result,
)
from jaxtui.features.crossover.messages import Crossover, experiment
from jaxtui.features.crossover.report import report
from jaxtui.ui.report import terminal
from tests.core.figures import JIT, NUMPY, Seconds, crowded, measurement, sampled
from tests.features.crossover.crossing import after, found, state_of
from tests.records import case

EAGER = case("eager")

LOW, HIGH = (0.25, 0.25), (4.0, 4.0)
"""The ends of the ratio of the first to the second."""

SECOND = Crossing(below=10, above=1000, at=100, faster="second")
FIRST = Crossing(below=10, above=1000, at=100, faster="first")
UNCLEAR = Crossing(below=10, above=1000, at=None, faster="second", undecided=(500,))


@pytest.mark.parametrize(
    ("curve", "crossing"),
    [
        ({10: LOW, 1000: HIGH}, SECOND),
        ({10: HIGH, 1000: LOW}, FIRST),
        # What may be 1 decides nothing, and nothing is read off through it.
        ({10: LOW, 500: (0.9, 1.2), 1000: HIGH}, UNCLEAR),
        ({1: HIGH, 10: LOW, 1000: HIGH, 2000: (5, 5)}, SECOND),  # the last of several
        ({10: (2, 3), 1000: (2, 3), 2000: (0.9, 1.1)}, None),
        ({10: (0.9, 1.1)}, None),
        ({}, None),
    ],
)
def test_curves_cross_between_sizes_at_which_it_is_certain_who_is_faster(
    curve: dict[int, tuple[float, float]], crossing: Crossing | None
) -> None:
    ratios = [
        (size, Interval(low, (low * high) ** 0.5, high, 0.99))
        for size, (low, high) in curve.items()
    ]
    assert last_crossing(ratios) == crossing


def test_few_rounds_decide_nothing() -> None:
    assert leader(Interval(2.0, 3.0, 4.0, LEAST_CONFIDENCE)) == "second"
    assert leader(Interval(2.0, 3.0, 4.0, LEAST_CONFIDENCE - 0.01)) is None
    assert leader(None) is None


def test_the_place_is_straight_between_two_sizes_on_logarithmic_axes() -> None:
    assert crossing_size((100, 10_000), (-1.0, 1.0)) == pytest.approx(1000)
    assert crossing_size((100, 10_000), (-1.0, 3.0)) == pytest.approx(10**2.5)
    # It has as many digits as keep it between the two.
    ends = (384, 370, 400), (1240, 1218, 1300), (31_234, 30_000, 40_000)
    assert [about_text(*one) for one in ends] == ["380", "1240", "31,000"]


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
        # What compiles nothing has nothing to repay.
        (
            measurement(NUMPY, 1),
            measurement(case("numpy", dtype="int8"), 2),
            None,
            None,
        ),
    ],
)
def test_after_how_many_calls_a_first_call_is_repaid(
    first: Any, second: Any, side: str | None, calls: int | None
) -> None:
    repaid = payback(first, second, leader(ratio_of(first, second)))
    assert (repaid and (repaid.side, repaid.calls)) == (side and (side, calls))


# Both runs.


def linear(size: int) -> float:
    return 1e-6 + 1e-9 * size


def crossing_at(size: float) -> Seconds:
    """Slower than ``linear`` below that size, faster above."""
    return lambda n: linear(n) * (size / n) ** 0.3


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


def told(*events: Event, sizes: Any = (16, 64), complete: bool = True) -> Crossover:
    """The result after events of a run of NumPy and jit."""
    work = experiment((NUMPY, JIT), sizes, 8.0)
    state = after([RunStarted(cases=work.cases), *events], work, State())
    return result(state, complete=complete)


CASES = experiment((NUMPY, JIT), (16, 64), 8.0).cases
TIMED = [
    CaseMeasured(index=index, measurement=measurement(one, 1e-3))
    for index, one in enumerate(CASES)
]
SLOW = Failure(case=CASES[2], remark=Remark("too-slow", {}, "error"))
FEW = measurement(CASES[2], 1e-3, rounds=5)


@pytest.mark.parametrize(
    "slow",
    [CaseMeasured(index=2, measurement=FEW), CaseFailed(index=2, failure=SLOW)],
)
def test_a_size_without_an_interval_is_no_row(slow: Event) -> None:
    crossover = told(*TIMED[:2], slow, TIMED[3])
    assert [size.size for size in crossover.sizes] == [16]
    assert crossover.failures == ()
    (note,) = [note for note in crossover.notes if note.flag == "left out"]
    assert "size 64 take" in note.text


@pytest.mark.parametrize(
    ("ratio", "faster"), [(1.1, "second"), (0.9, "first"), (1.0, None)]
)
def test_what_slows_both_alike_hides_no_difference(ratio: float, faster: Any) -> None:
    """Rounds that all drift alike; the intervals of the two overlap."""
    events: list[Event] = []
    for index, factor in enumerate((ratio, 1.0)):
        timed = measurement(CASES[index], factor, width=0.5)
        drift = (1.0, 1.7, 2.5, 1.2, 0.7, 0.9, 1.4, 3.0)
        for number, slower in enumerate(drift, start=1):
            events.append(sampled(index, number, timed, factor * slower))
        events.append(CaseMeasured(index=index, measurement=timed))
    (size,) = told(*events, sizes=(16,)).sizes
    assert size.faster == faster


BFLOAT16, HALVES = case(dtype="bfloat16"), (16, 64)
LONG = (
    case(dtype="bfloat16", precision="highest", device="tpu:12"),
    case("eager", dtype="float32", precision="default", device="cpu:10", inputs="host"),
)


def first(size: int) -> float:
    return 1e-9 * size


def second(size: int) -> float:
    return 2e-6 + 2e-10 * size


def crossover(
    *sides: Any, sizes: Any = (16, 1000, 1_000_000), **more: Any
) -> Crossover:
    """The first takes 1 ns an element, the second 2 µs more and a fifth of that."""
    return found(first, second, sides=sides or (NUMPY, JIT), sizes=sizes, **more)


def rated(**ratios: float) -> Crossover:
    """Times of NumPy in those of jit at ``n64``, that size."""
    sizes = {int(name[1:]): ratio for name, ratio in ratios.items()}
    costs = (lambda n: 1e-3 * sizes[n]), (lambda _: 1e-3)
    return found(*costs, sizes=tuple(sizes), refined=False)


def noted(*places: int) -> Crossover:
    """Of the cases at these places the machine was busy."""
    state = state_of(first, second, sizes=HALVES)
    cases = list(state.jobs["bench"].cases)
    notes = (crowded(), Remark("inline"))
    for place in places:
        measured = cases[place].measurement
        assert measured
        busy = msgspec.structs.replace(measured, notes=notes)
        cases[place] = replace(cases[place], measurement=busy)
    job = replace(state.jobs["bench"], cases=tuple(cases))
    return result(replace(state, jobs={"bench": job}), complete=True)


SEARCHES = {
    "they cross": crossover(),
    "they do not": crossover(sizes=HALVES),
    "cancelled": crossover(sizes=HALVES, ending="cancelled"),
    "the engine died": crossover(sizes=HALVES, ending="crashed"),
    "one size": crossover(sizes=(16,)),
    "one size in doubt": crossover(sizes=(2500,), width=0.3),
    "one of two sizes in doubt": crossover(sizes=(16, 2500), width=0.3),
    "every size fails": crossover(sizes=HALVES, too_large=1),
    "the largest fails": crossover(too_large=1_000_000),
    "nothing compiles": crossover(NUMPY, case("numpy", dtype="float64")),
    "several in doubt": rated(n64=0.5, n128=1, n256=1, n512=1, n1024=2, n2048=1),
    "one between in doubt": rated(n64=0.5, n128=1, n256=2, n512=2),
    "one above in doubt": rated(n64=0.5, n256=2, n512=1, n1024=2),
    "one below in doubt": rated(n16=1, n64=0.5, n256=2),
    "busy at one": noted(0),
    "busy at all": noted(0, 1, 2, 3),
    "before the first": result(State(), complete=False),
}


@pytest.mark.parametrize(
    ("one", "other", "called"),
    [
        (NUMPY, JIT, ("numpy", "jit")),
        (NUMPY, BFLOAT16, ("numpy float32", "jit bfloat16")),
        (EAGER, JIT, ("eager", "jit")),
        (BFLOAT16, JIT, ("bfloat16", "float32")),
        (case(device="tpu:0"), JIT, ("tpu:0", "cpu:0")),
        (case(inputs="host"), JIT, ("host inputs", "device inputs")),
        (case("eager", device="tpu:0"), JIT, ("eager tpu:0", "jit cpu:0")),
    ],
)
def test_as_few_words_as_tell_the_two_apart(
    one: Any, other: Any, called: tuple[str, ...]
) -> None:
    assert names(one, other) == called
    assert names(other, one) == (*reversed(called),)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("sides", [(JIT, BFLOAT16), LONG])
def test_a_report_fits_its_width(sides: Any, width: int) -> None:
    lines = terminal(report(crossover(*sides), State()), width).splitlines()
    assert max(map(len, lines)) <= width
    shown = next(line for line in lines if line.split()[:1] == ["size"]).split()
    assert "faster" in shown
    assert "95" in shown or width == 60


@pytest.mark.parametrize(
    ("modes", "selected", "called"),
    [
        (("jit", "numpy"), 0, ("numpy", "jit")),
        (("jit", "numpy"), 1, ("numpy", "jit")),
        (("numpy", "eager", "jit"), 2, ("numpy", "jit")),
        (("numpy", "eager", "jit"), 0, ("numpy", "eager")),
        (("eager", "jit"), 1, ("eager", "jit")),
        (("jit",), 0, None),
    ],
)
def test_a_curve_is_compared_with_numpys_or_else_with_another(
    modes: tuple[Mode, ...], selected: int, called: tuple[str, ...] | None
) -> None:
    cases = []
    for size in (64, 256):
        for mode in modes:
            timed = measurement(case(mode, size=size), 1e-6 * size)
            rounds = (1e-6 * size,) * 8
            cases.append(
                CaseState(timed.case, "done", measurement=timed, rounds=rounds)
            )
    state = State(jobs={"bench": Job(number=1, cases=tuple(cases))})
    sides = partner(state.jobs["bench"], selected)
    assert (sides and tuple(side.mode for side in sides)) == called
    if sides and called:
        seen = of_curves(state, sides)
        assert [size.size for size in seen.sizes] == [64, 256]
        assert [x.case.mode for x in seen.measurements] == [*called] * 2
