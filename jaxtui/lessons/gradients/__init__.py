"""A gradient is a function: exact, in two modes, and cheap."""

from __future__ import annotations

from jaxtui.lessons.base import Lesson
from jaxtui.lessons.gradients import cost, descent, logistic, modes, signs

LESSON = Lesson(
    name="gradients",
    title="A gradient is a function",
    summary="Derivatives by grad, by hand and by differences, and what they cost.",
    size_means="number of inputs of the function whose gradient is timed",
    sizes={"cpu": 1_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=10_000,
    maximum=1_000_000_000,
    steps=(
        logistic.STEP,
        signs.STEP,
        modes.STEP,
        cost.STEP,
        descent.STEP,
    ),
)
