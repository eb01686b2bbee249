"""Sparse arrays, and control flow that a compiler can see."""

from __future__ import annotations

from jaxtui.lessons.base import Lesson
from jaxtui.lessons.sparse import branches, density, loops, stored

LESSON = Lesson(
    name="sparse",
    title="Sparse, and control flow",
    summary="When empty matrices pay, and how a compiled program branches and loops.",
    size_means="n of the n×n matrix",
    sizes={"cpu": 1000, "gpu": 4000, "tpu": 2000},
    minimum=200,
    maximum=10_000,
    steps=(
        stored.STEP,
        density.STEP,
        branches.STEP,
        loops.STEP,
    ),
)
