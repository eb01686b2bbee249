"""The clock that lies: one product, three ways to stop the watch."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui.lessons.figures import AtLeast, Figures, Value, bracket, quotient
from jaxtui.lessons.trial import Code, Trial, jax_case, lesson, numpy_case

FAR = 5.0
"""How many times too little a stopwatch reads before this lesson calls it a lie."""


def _speed_figures(figures: Figures) -> Mapping[str, Value]:
    flops = 2.0 * figures.setting.size**3
    jax = figures.measured("JAX")
    dispatch = jax.dispatch.median if jax and jax.dispatch else None
    work = jax.work_seconds if jax else None
    claimed, real = quotient(flops, dispatch), quotient(flops, work)
    peak = jax.peak.flops_per_second if jax and jax.peak else None
    return {
        "dispatch": dispatch,
        "work": work,
        "claimed speed": claimed,
        "real speed": real,
        "NumPy speed": quotient(flops, figures["NumPy"]),
        "peak": peak,
        "peak source": jax.peak.source if jax and jax.peak and peak else "",
        "above the peak": bool(peak and claimed and claimed > peak),
    }


LESSON = lesson(
    "clock",
    {
        "One product, three readings": Trial(
            code=Code(
                budget=4.0,
                memory=lambda n: 4 * 4 * n * n,
                device=lambda setting: setting.device,
            ),
            claim=AtLeast("block_until_ready", FAR, "plain call"),
            answer=bracket("block_until_ready", "plain call", 1.25, FAR),
        ),
        "The speed that a plain call claims": Trial(
            cases=lambda setting: {
                "JAX": jax_case(setting.device, "matmul", setting.size),
                "NumPy": numpy_case("matmul", setting.size),
            },
            derive=_speed_figures,
            claim=AtLeast("claimed speed", FAR, "real speed"),
            answer=bracket("claimed speed", "real speed", 2, FAR),
        ),
    },
    sizes={"cpu": 1000, "gpu": 4000, "tpu": 4000},
    minimum=64,
    maximum=20_000,
)
