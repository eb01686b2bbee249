"""Running ahead: a result is a promise, and how many may be open at once."""

from __future__ import annotations

from jaxtui.lessons.ahead import many, promise, queue, waiting
from jaxtui.lessons.base import Lesson

LESSON = Lesson(
    name="ahead",
    title="Running ahead: a result is a promise",
    summary="What can be done with a result before it is there, and what has to wait.",
    size_means="n of n×n",
    sizes={"cpu": 700, "gpu": 4000, "tpu": 4000},
    minimum=64,
    maximum=12_000,
    steps=(
        promise.STEP,
        many.STEP,
        waiting.STEP,
        queue.STEP,
    ),
)
