"""Which device computes: where arrays live, and a benchmark that got it wrong."""

from __future__ import annotations

from jaxtui.lessons.base import Lesson
from jaxtui.lessons.which_device import conflict, facts, placement, repaired, suspect

LESSON = Lesson(
    name="devices",
    title="Which device computes?",
    summary="Where arrays live, what moves them, and a benchmark that got it wrong.",
    size_means="n of the n×n matrix in the published snippet",
    sizes={"cpu": 1000},
    minimum=100,
    maximum=3000,
    needs=(
        "An accelerator for the comparison with the CPU; two devices, which are "
        "simulated where there is one."
    ),
    steps=(
        facts.STEP,
        placement.STEP,
        conflict.STEP,
        suspect.STEP,
        repaired.STEP,
    ),
)
