"""Fusion: what ``jit`` makes of six steps over memory."""

from __future__ import annotations

from jaxtui.features.lessons.base import Conclusion, Row, Text
from jaxtui.features.lessons.figures import Figures, count, over, times, which
from jaxtui.features.lessons.trial import (
    Code,
    Trial,
    jax_case,
    lesson,
    numpy_case,
    size,
)
from jaxtui.format import bytes_text, figure, seconds

FASTER = 2.0
"""The least speed-up of jit over eager for the claim to hold."""

FEWER = 2.0
"""The factor by which the moved bytes must be fewer."""


def _compiled(figures: Figures) -> Conclusion:
    eager, jit, numpy = figures["eager"], figures["jit"], figures["NumPy"]
    row, gpu = figures.row, figures.setting.accelerated
    holds, faster = eager >= FASTER * jit, figures.times("eager", "jit")
    than = f"NumPy took {seconds(numpy)}."
    if holds:
        less = "less" if eager < numpy else "more"
        than += (
            f" Eager JAX, which works in the same way, took {less} than that; "
            "compiling gains most."
        )
    return Conclusion(
        holds=holds,
        answer=which(over(eager, jit), FASTER, 5),
        rows=(
            row("NumPy", "NumPy", "7.6 ms"),
            row("JAX, eager", "eager", "1.21 ms, GPU" if gpu else "4.8 ms, CPU"),
            row("JAX, jit", "jit", "130 µs, GPU"),
        ),
        sentences=(
            f"Eager JAX took {seconds(eager)}, the compiled function {seconds(jit)}: "
            f"the same lines {faster} as fast.",
            "" if figures.missing("NumPy") else than,
        ),
    )


def _kernels(figures: Figures) -> Conclusion:
    steps, kernels = figures["steps"], figures["kernels"]
    whole, fused = figures["bytes, step by step"], figures["bytes, fused"]
    eager, jit = figures["eager"], figures["jit"]
    timed, holds = not figures.missing("eager", "jit"), kernels < steps

    def moved(what: str, bytes_: float, duration: float) -> Row:
        speed = figure(over(bytes_, duration), "B/s")
        remark: Text = ("in ", figure(duration), ": ", speed) if timed else ""
        return Row(what, (figure(bytes_, "memory"),), remark=remark)

    kernels_text = "one kernel" if kernels == 1 else f"{count(kernels)} kernels"
    return Conclusion(
        holds=holds and whole >= FEWER * fused,
        answer=0 if kernels >= steps else 2 if kernels == 1 else 1,
        rows=(
            Row(
                "eager: kernels that ran",
                count(steps),
                remark=figures.shown("names of the steps"),
            ),
            Row(
                "jit: kernels left",
                count(kernels),
                remark=figures.shown("what is left"),
            ),
            moved("eager: bytes moved", whole, eager),
            moved("jit: bytes moved", fused, jit),
        ),
        sentences=(
            f"Eager JAX ran {count(steps)} kernels, which moved {bytes_text(whole)} "
            "from and to memory.",
            f"XLA left {kernels_text} and {bytes_text(fused)}: "
            f"{times(over(whole, fused))} less.",
            f"The time went from {seconds(eager)} to {seconds(jit)}." if timed else "",
        ),
    )


def _lines(figures: Figures) -> Conclusion:
    kernels, together = figures["kernels"], figures["most lines in one kernel"]
    step, product = figures["a step takes"], figures["the product takes"]
    return Conclusion(
        holds=together == 3 and kernels == 2,
        answer={1.0: 0, 3.0: 1, 4.0: 2}.get(together),
        rows=(
            Row(
                "kernels", count(kernels), remark=figures.shown("lines of each kernel")
            ),
            Row("a step", (figure(step),)),
            Row("of it the product", (figure(product),)),
        ),
        sentences=(
            f"Four lines became {count(kernels)} kernels; one of them holds"
            f" {count(together)} lines.",
            f"The product takes {seconds(product)} of {seconds(step)}.",
        ),
    )


LESSON = lesson(
    "fusion",
    {
        "The same lines, compiled or not": Trial(
            _compiled,
            cases=lambda setting: {
                "NumPy": numpy_case("selu", setting.size),
                "eager": jax_case(setting.device, "selu", setting.size, "eager"),
                "jit": jax_case(setting.device, "selu", setting.size),
            },
            needs=("eager", "jit"),
        ),
        "How many kernels, how many bytes": Trial(
            _kernels,
            Code(4.0, size),
            needs=("kernels", "steps", "bytes, step by step", "bytes, fused"),
        ),
        "Which line takes the time": Trial(
            _lines,
            Code(20.0, size),
            needs=("kernels", "most lines in one kernel", "a step takes"),
        ),
    },
    sizes={"cpu": 1_000_000},
    minimum=1000,
    maximum=100_000_000,
)
