"""Fusion: what ``jit`` makes of six steps over memory."""

from __future__ import annotations

from jaxtui.lessons.figures import All, AtLeast, Figures, Holds, bracket
from jaxtui.lessons.trial import Code, Trial, jax_case, lesson, numpy_case

FASTER = 2.0
"""How many times faster jit must be than eager before the claim holds."""

FEWER = 2.0
"""How many times fewer bytes must be moved."""


def _kernels_answer(figures: Figures) -> int:
    steps, kernels = figures["steps"] or 0.0, figures["kernels"] or 0.0
    return 0 if kernels >= steps else 2 if kernels == 1 else 1


LESSON = lesson(
    "fusion",
    {
        "The same lines, compiled or not": Trial(
            cases=lambda setting: {
                "NumPy": numpy_case("selu", setting.size),
                "eager": jax_case(setting.device, "selu", setting.size, "eager"),
                "jit": jax_case(setting.device, "selu", setting.size),
            },
            derive=lambda f: {"less": (f["eager"] or 0.0) < (f["NumPy"] or 0.0)},
            claim=AtLeast("eager", FASTER, "jit"),
            answer=bracket("eager", "jit", FASTER, 5),
        ),
        "How many kernels, how many bytes": Trial(
            code=Code(budget=4.0, memory=lambda n: 8 * 4 * n),
            derive=lambda figures: {
                "one kernel": figures["kernels"] == 1,
                "timed": "eager" in figures and "jit" in figures,
            },
            claim=All(
                Holds(
                    lambda f: (f["kernels"] or 0) < (f["steps"] or 0),
                    "kernels",
                    "steps",
                ),
                AtLeast("bytes, step by step", FEWER, "bytes, fused"),
            ),
            answer=_kernels_answer,
        ),
    },
    sizes={"cpu": 1_000_000},
    minimum=1000,
    maximum=100_000_000,
)
