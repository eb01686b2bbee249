"""How many digits do you need? Four floating-point formats, timed and compared."""

from __future__ import annotations

from jaxtui.lessons.base import Lesson
from jaxtui.lessons.digits import formats, products, promotion, truncation

LESSON = Lesson(
    name="digits",
    title="How many digits do you need?",
    summary="Four formats: their time, memory, error and range; and what mixes them.",
    size_means="n of n×n",
    sizes={"cpu": 512, "gpu": 4096, "tpu": 4096},
    minimum=16,
    maximum=16_384,
    steps=(
        products.STEP,
        formats.STEP,
        truncation.STEP,
        promotion.STEP,
    ),
)
