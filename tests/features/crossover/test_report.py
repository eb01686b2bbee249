"""The sentences, the table at any width and the picture of a crossover."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.model import Remark
from jaxtui.core.state import CaseState, Job, State
from jaxtui.features.crossover.judge import names, of_curves, partner, result
from jaxtui.features.crossover.messages import Crossover
from jaxtui.features.crossover.report import report
from jaxtui.ui.report import terminal
from tests.core.figures import JIT, NUMPY, case, crowded, measurement
from tests.features.crossover.crossing import found, state_of

EAGER, BFLOAT16, HALVES = case("eager"), case(dtype="bfloat16"), (16, 64)
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
        busy = msgspec.structs.replace(cases[place].measurement, notes=notes)
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
def test_as_few_words_as_tell_the_two_apart(one, other, called) -> None:
    assert names(one, other) == called
    assert names(other, one) == (*reversed(called),)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("sides", [(JIT, BFLOAT16), LONG])
def test_a_report_fits_its_width(sides, width) -> None:
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
    modes, selected, called
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
    if sides:
        seen = of_curves(state, sides)
        assert [size.size for size in seen.sizes] == [64, 256]
        assert [x.case.mode for x in seen.measurements] == [*called] * 2
