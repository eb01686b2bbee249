from __future__ import annotations

import pytest

from jaxtui.lessons.updates import LESSON
from jaxtui.lessons.updates.methods import METHODS
from tests.lessons.figures import conclude, here, shown, timed, works, yours
from tests.lessons.real import concluded, shown_values

NAMES = ("NumPy", "eager", "jit", "donated")


def test_assignment_raises_and_the_old_array_stays() -> None:
    found = concluded("updates", 0)
    assert found.holds is True
    assert found.answer == 1
    assert "immutable" in found.takeaway
    assert yours(found)["x afterwards"] == "[0 1 2 3 4 5 6 7 8 9]"


def test_an_assignment_that_works_refutes_the_claim() -> None:
    found = conclude(LESSON, 0, shown(shown_values("updates", 0), "JAX", ""))
    assert found.holds is False
    assert found.answer == 0


def test_all_nine_updates_are_those_of_numpy() -> None:
    found = concluded("updates", 1)
    assert len(METHODS) == 9
    assert found.holds is True
    assert "9 of 9" in found.takeaway
    assert yours(found)["x.at[2].power(5)"] == "[ 1. 2. 243. 4.]"
    assert "1 becomes 3" in found.takeaway


def test_one_that_differs_is_named() -> None:
    outcome = shown(shown_values("updates", 1), "same power", "False", (0.0,))
    found = conclude(LESSON, 1, outcome)
    assert found.holds is False
    assert found.answer == 1
    assert "Not so here: power" in found.takeaway


@pytest.mark.parametrize(
    ("jit", "holds", "answer"),
    [(20e-3, True, 2), (40e-6, False, 1), (11e-6, False, 0)],
)
def test_what_donation_saves(jit: float, holds: bool, answer: int) -> None:
    outcome = timed(dict(zip(NAMES, (1e-7, 21e-3, jit, 10e-6), strict=True)))
    found = conclude(LESSON, 2, outcome)
    assert found.holds is holds
    assert found.answer == answer
    assert yours(found)["jit, donate_argnums=0"] == "10.0 µs"


def test_a_donated_array_is_gone() -> None:
    outcome = shown_values("updates", 2, 100_000)
    error = outcome.values["spent"].error
    assert error is not None
    assert "deleted" in error


def test_the_need_of_memory_grows_with_the_size() -> None:
    needs = [
        works(LESSON, 2, here(LESSON, size))[0].memory_bytes  # type: ignore[union-attr]
        for size in (10**6, 10**7)
    ]
    assert 4 * 10**6 < needs[0] < needs[1]


def test_out_of_bounds_each_mode_does_as_it_says() -> None:
    found = concluded("updates", 3)
    assert found.holds is True
    assert found.answer == 1
    table = yours(found)
    assert table["n[42], NumPy"].startswith("IndexError")
    assert table["get, fill"] == "-1"
    assert table["set, clip"] == "the last becomes 100"
    assert table["set, drop"] == table["set, fill"] == "unchanged"
    assert table["set, promise_in_bounds"] == "element 5 becomes 100"


def test_a_mode_that_does_otherwise_refutes_the_claim() -> None:
    outcome = shown(shown_values("updates", 3), "get fill", "9", (9.0,))
    assert conclude(LESSON, 3, outcome).holds is False


def test_lists_are_refused() -> None:
    found = concluded("updates", 4)
    assert found.holds is True
    assert found.answer == 2
    assert yours(found)["jnp.sum(jnp.array(numbers))"] == "31380"
