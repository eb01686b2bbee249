from __future__ import annotations

import pytest

from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.sparse import LESSON
from jaxtui.lessons.sparse.density import DENSITIES, crossover
from tests.lessons.figures import conclude, here, shown, timed, yours
from tests.lessons.real import concluded, shown_values

NAMES = ("sparse 0.1 %", "sparse 0.3 %", "sparse 1 %", "sparse 3 %", "sparse 10 %")


def products(*sparse: float, dense: float = 1e-3) -> Outcome:
    """The densities in order, and the dense product."""
    named = dict(zip((*NAMES, "sparse 30 %"), sparse, strict=True))
    return timed({"dense": dense, **named})


CROSSING = products(1e-4, 2e-4, 4e-4, 2e-3, 8e-3, 3e-2)


def test_a_sparse_matrix_takes_less_memory() -> None:
    found = concluded("sparse", 0, 200)
    assert found.holds is True
    assert found.answer == 1
    assert "12 bytes an element" in found.takeaway
    assert "33 %" in found.takeaway


def test_a_crossing_is_found_by_interpolation() -> None:
    found = conclude(LESSON, 1, CROSSING)
    assert found.holds is True
    assert found.answer == 0
    # 0.01 · 3 ** (log 2.5 / log 5)
    assert yours(found)["they meet at"] == "1.9 %"


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        (products(2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 7e-3), None),
        (products(1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4), 2),
        (products(9e-4, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3), 0),
    ],
    ids=["never wins", "always wins", "hardly wins"],
)
def test_without_a_clear_crossing_it_says_so(
    outcome: Outcome, answer: int | None
) -> None:
    found = conclude(LESSON, 1, outcome)
    assert found.holds is False
    assert found.answer == answer


def test_the_crossing_is_marked() -> None:
    picture = LESSON.steps[1].picture
    assert picture is not None
    drawn = picture(here(LESSON), CROSSING)
    assert drawn is not None
    (mark,) = drawn.marks
    assert DENSITIES[2] < mark.at < DENSITIES[3]
    assert "1.9 %" in drawn.draw(70, 12, color=False)


def test_curves_that_do_not_cross_have_no_crossover() -> None:
    assert crossover([(1.0, 1.0), (2.0, 2.0)], 3.0) is None
    assert crossover([(1.0, 1.0), (2.0, 2.0)], 0.5) is None
    assert crossover([(1.0, 1.0), (100.0, 100.0)], 10.0) == pytest.approx(10.0)


def test_an_if_raises_under_jit_and_lax_does_not() -> None:
    found = concluded("sparse", 2)
    assert found.holds is True
    assert found.answer == 1
    assert "TracerBoolConversionError" in found.takeaway
    assert yours(found)["lax.cond, like Python's if"] == "2 of 2 equal"
    assert yours(found)["lax.switch, like functions[i]"] == "3 of 3 equal"


def test_a_branch_that_differs_refutes_the_claim() -> None:
    outcome = shown(shown_values("sparse", 2), "switch 1", "False", (0.0,))
    found = conclude(LESSON, 2, outcome)
    assert found.holds is False
    assert yours(found)["lax.switch, like functions[i]"] == "2 of 3 equal"


@pytest.mark.parametrize(("compiled", "holds"), [(0.2, True), (0.05, False)])
def test_an_unrolled_loop_compiles_longer(compiled: float, holds: bool) -> None:
    outcome = timed({"Python compile": compiled, "fori compile": 0.04})
    for name, number in (
        ("Python operations", 400.0),
        ("fori operations", 1.0),
        ("difference", 0.0),
    ):
        outcome = shown(outcome, name, str(number), (number,))
    found = conclude(LESSON, 3, outcome)
    assert found.holds is holds
    assert found.answer == 2


def test_the_loops_really_differ_in_size_and_not_in_value() -> None:
    outcome = shown_values("sparse", 3)
    assert outcome.number("Python operations") == 400
    assert outcome.number("fori operations") == 1
    assert outcome.number("difference") == pytest.approx(0, abs=1e-3)
