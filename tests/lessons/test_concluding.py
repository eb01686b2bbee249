from __future__ import annotations

import msgspec
import pytest

from jaxtui.lessons.concluding import conclude
from jaxtui.lessons.numpy_or_jax import LESSON
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import CaseMeasured, Stopped
from tests.lessons.figures import after, asked, here, measured

TWO = 1
"""The step that compares x·xᵀ with a·b; its claim is about NumPy's."""


def outcome(
    *seconds: float, half_width: float = 0.0, stopped: Stopped | None = "target"
) -> Outcome:
    """The figures of that step; the first has so wide an interval."""
    first, *others = map(measured, asked(LESSON, TWO), seconds)
    made = first.measurement
    assert made.ready is not None
    low, high = (made.ready.median * (1 + sign * half_width) for sign in (-1, 1))
    wide = msgspec.structs.replace(made.ready, ci_low=low, ci_high=high)
    made = msgspec.structs.replace(made, ready=wide, stopped=stopped)
    return after(CaseMeasured(index=0, measurement=made), *others)


REFUTING = (9e-3, 9e-3, 8e-3, 8e-3)
CONFIRMING = (5e-3, 9e-3, 8e-3, 8e-3)


def takeaways(found: Outcome) -> tuple[str, str]:
    """Of the step alone, and with what is said of steadiness."""
    step, setting = LESSON.steps[TWO], here(LESSON)
    alone, both = step.conclude(setting, found), conclude(step, setting, found)
    assert both.holds == alone.holds
    assert both.rows == alone.rows
    return alone.takeaway, both.takeaway


def test_figures_that_wander_refute_nothing() -> None:
    alone, both = takeaways(outcome(*REFUTING, half_width=0.33))
    assert both == (
        f"{alone} But gram 800 float32 numpy on host is only known to lie between"
        " 6.03 ms and 12.0 ms (99 % interval): something else may have used the"
        " machine. Run this step again before you believe it."
    )


@pytest.mark.parametrize(
    "found",
    [
        outcome(*REFUTING, half_width=0.2),
        outcome(*CONFIRMING, half_width=0.33),
        outcome(*REFUTING, half_width=0.33, stopped=None),
        Outcome(),
    ],
    ids=["steady", "confirmed", "not yet done", "nothing"],
)
def test_otherwise_the_step_has_the_last_word(found: Outcome) -> None:
    alone, both = takeaways(found)
    assert both == alone
