"""One program, many inputs: vmap, and random numbers with explicit keys."""

from __future__ import annotations

from jaxtui.lessons.base import Lesson
from jaxtui.lessons.batching import keys, matrix, overhead, pairs, splitting

LESSON = Lesson(
    name="batching",
    title="One program, many inputs",
    summary="vmap instead of loops, and random numbers with keys instead of a state.",
    size_means="number of vectors in the batch",
    sizes={"cpu": 1000, "gpu": 10_000, "tpu": 10_000},
    minimum=50,
    maximum=1_000_000,
    steps=(
        pairs.STEP,
        overhead.STEP,
        matrix.STEP,
        keys.STEP,
        splitting.STEP,
    ),
)
