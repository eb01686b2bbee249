"""Where the first call goes: transfer, compile, run; and when that has paid."""

from __future__ import annotations

from jaxtui.lessons.base import Lesson
from jaxtui.lessons.first_call import other_work, parts, shapes, slips, start

LESSON = Lesson(
    name="first-call",
    title="Where the first call goes",
    summary="Transfer, compile, run: what the first call pays, and when it has paid.",
    size_means="n of n×n",
    sizes={"cpu": 600, "gpu": 5000, "tpu": 5000},
    minimum=128,
    maximum=20_000,
    needs="The published GPU and TPU figures need an accelerator.",
    steps=(
        parts.STEP,
        slips.STEP,
        shapes.STEP,
        start.STEP,
        other_work.STEP,
    ),
)
