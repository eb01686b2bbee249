"""Arrays do not change: what an update is where nothing can be assigned."""

from __future__ import annotations

from jaxtui.lessons.base import Lesson
from jaxtui.lessons.updates import assignment, in_place, lists, methods, out_of_bounds

LESSON = Lesson(
    name="updates",
    title="Arrays do not change",
    summary="Updates that make new arrays, and when they cost nothing.",
    size_means="number of elements of the array that is updated",
    sizes={"cpu": 10_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=100_000,
    maximum=1_000_000_000,
    steps=(
        assignment.STEP,
        methods.STEP,
        in_place.STEP,
        out_of_bounds.STEP,
        lists.STEP,
    ),
)
