from __future__ import annotations

import pytest

from jaxtui.lessons.gradients import LESSON
from jaxtui.lessons.gradients.descent import STEPS
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Snippet
from tests.lessons.figures import BOTH, conclude, here, shown, timed, works, yours
from tests.lessons.real import concluded, machine, shown_values


def test_the_gradient_is_the_published_one() -> None:
    found = concluded("gradients", 0)
    assert found.holds is True
    assert found.answer == 1
    assert yours(found)["grad(sum_logistic)(x)"] == "0.25, 0.19661, 0.10499"


def test_another_gradient_refutes_the_claim() -> None:
    outcome = shown(shown_values("gradients", 0), "grad", "…", (0.25, 0.2, 0.1))
    found = conclude(LESSON, 0, outcome)
    assert found.holds is False
    assert "was published" in found.takeaway


def test_grad_finds_the_wrong_sign() -> None:
    found = concluded("gradients", 1)
    assert found.holds is True
    assert found.answer == 1
    assert yours(found)["by hand, x = 0.5"] == "8.5"
    assert "grad says 16.5" in found.takeaway
    (work,) = works(LESSON, 1)
    assert isinstance(work, Snippet)
    assert work.x64


def test_differences_in_float64_run_on_the_cpu() -> None:
    (work,) = works(LESSON, 1, here(LESSON, devices=BOTH))
    assert isinstance(work, Snippet)
    assert work.device == "cpu:0"


def modes(fast: float = 1e-3, slow: float = 30e-3, off: float = 1e-6) -> Outcome:
    outcome = timed(
        {
            "forward one": slow,
            "reverse one": fast,
            "forward many": fast,
            "reverse many": slow,
        }
    )
    for name in ("one", "many", "jvp", "vjp"):
        outcome = shown(outcome, name, str(off), (off,))
    return outcome


@pytest.mark.parametrize(
    ("outcome", "holds", "answer"),
    [
        (modes(), True, 1),
        (modes(slow=2e-3), False, 1),
        (modes(slow=1e-3), False, 2),
        (modes(off=0.1), False, 1),
    ],
)
def test_which_mode_is_cheaper(outcome: Outcome, holds: bool, answer: int) -> None:
    found = conclude(LESSON, 2, outcome)
    assert found.holds is holds
    assert found.answer == answer


def test_the_modes_agree_on_this_machine() -> None:
    outcome = shown_values("gradients", 2)
    for name in ("one", "many", "jvp", "vjp"):
        found = outcome.number(name)
        assert found is not None
        assert found < 1e-3


@pytest.mark.parametrize(
    ("both", "holds", "answer"), [(3e-3, True, 0), (9e-3, False, 1), (900.0, False, 2)]
)
def test_the_price_of_a_gradient(both: float, holds: bool, answer: int) -> None:
    setting = here(LESSON, 1_000_000)
    found = conclude(LESSON, 3, timed({"value": 1e-3, "both": both}), setting)
    assert found.holds is holds
    assert found.answer == answer
    assert yours(found)["by differences"] == "16:40 min"


def test_twenty_steps_go_down() -> None:
    found = concluded("gradients", 4)
    assert found.holds is True
    assert found.answer == 0
    assert "20 of 20" in found.takeaway
    picture = LESSON.steps[4].picture
    assert picture is not None
    drawn = picture(machine("gradients"), shown_values("gradients", 4))
    assert drawn is not None
    assert len(drawn.series[0].x) == STEPS + 1
    assert "loss" in drawn.draw(60, 12, color=False)


def test_a_loss_that_rises_refutes_the_claim() -> None:
    losses = (5.0, *[4.0] * (STEPS - 1), 6.0)
    outcome = shown(shown_values("gradients", 4), "losses", "…", losses)
    found = conclude(LESSON, 4, outcome)
    assert found.holds is False
    assert found.answer == 2
