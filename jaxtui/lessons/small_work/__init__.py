"""Small work belongs to NumPy: what a call costs before it computes anything."""

from __future__ import annotations

from jaxtui.lessons.base import Lesson
from jaxtui.lessons.small_work import crossing, sweep, tiny

LESSON = Lesson(
    name="small-work",
    title="Small work belongs to NumPy",
    summary="Sigmoid from ten elements up: what a call costs before it computes.",
    size_means="number of elements of the largest array",
    sizes={"cpu": 10_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=10_000,
    maximum=1_000_000_000,
    needs="TensorFlow for its curve.",
    steps=(
        sweep.STEP,
        crossing.STEP,
        tiny.STEP,
    ),
)
