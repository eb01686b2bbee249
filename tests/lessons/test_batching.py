from __future__ import annotations

import pytest

from jaxtui.lessons.batching import LESSON
from jaxtui.lessons.outcome import Outcome
from tests.lessons.figures import conclude, shown, timed, yours
from tests.lessons.real import concluded, shown_values


def test_three_ways_give_the_same_ten_numbers() -> None:
    found = concluded("batching", 0)
    assert found.holds is True
    assert found.answer == 0
    assert yours(found)["program of jax.vmap(dot)"] == "dot_general"


def test_a_vmap_that_differs_refutes_the_claim() -> None:
    outcome = shown(shown_values("batching", 0), "vmap", "…", (1.0,) * 10)
    assert conclude(LESSON, 0, outcome).holds is False


def forms(loop: float, eager: float, jit: float = 10e-6) -> Outcome:
    return timed(
        {"loop": loop, "hand": 1e-4, "vmap": eager, "hand jit": jit, "vmap jit": jit}
    )


@pytest.mark.parametrize(
    ("outcome", "holds", "answer"),
    [
        (forms(2e-3, 300e-6), True, 2),
        (forms(2e-3, 25e-6), False, 1),
        (forms(20e-6, 11e-6), False, 0),
    ],
)
def test_what_the_loop_costs(outcome: Outcome, holds: bool, answer: int) -> None:
    found = conclude(LESSON, 1, outcome)
    assert found.holds is holds
    assert found.answer == answer
    assert found.rows[0].published == "4.58 ms"


def matrix(loop: float, hand: float, vmap: float, off: float = 1e-6) -> Outcome:
    outcome = timed({"loop": loop, "hand": hand, "vmap": vmap})
    for name, number in (("vmap off", off), ("loop off", 0.0), ("size", 1.0)):
        outcome = shown(outcome, name, str(number), (number,))
    return outcome


@pytest.mark.parametrize(
    ("outcome", "holds", "answer", "said"),
    [
        (matrix(40e-3, 3e-4, 3e-4), True, 0, "one matrix product"),
        (matrix(40e-3, 3e-4, 2e-3), False, 1, "not on a par"),
        (matrix(6e-4, 1e-4, 4e-4), False, 2, "less than 3 times"),
        (matrix(40e-3, 3e-4, 3e-4, off=0.5), False, 0, "values differ"),
    ],
)
def test_vmap_against_the_hand_and_the_loop(
    outcome: Outcome, holds: bool, answer: int, said: str
) -> None:
    found = conclude(LESSON, 2, outcome)
    assert found.holds is holds
    assert found.answer == answer
    assert said in found.takeaway


def test_the_same_key_gives_the_same_numbers() -> None:
    found = concluded("batching", 3)
    assert found.holds is True
    assert found.answer == 1
    table = yours(found)
    assert (
        table["jax.random.uniform(key), 1st"] == table["jax.random.uniform(key), 2nd"]
    )
    assert table["without a key"].startswith("TypeError")


def test_split_keys_are_independent_and_repeatable() -> None:
    found = concluded("batching", 4)
    assert found.holds is True
    assert found.answer == 2
    assert yours(found)["one key: largest − smallest"] == "0"


def test_keys_that_repeat_themselves_refute_the_claim() -> None:
    values = shown_values("batching", 4)
    same = values.values["left"].numbers
    found = conclude(LESSON, 4, shown(values, "right", "…", same))
    assert found.holds is False
