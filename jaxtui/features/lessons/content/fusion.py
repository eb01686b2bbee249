"""Fusion: what ``jit`` makes of six steps over memory."""

from __future__ import annotations

from bisect import bisect

from jaxtui.core.format import bytes_text, figure, seconds
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.figures import Figures, count, over, times
from jaxtui.features.lessons.trial import Code, Trial, case_of, lesson, size


def _compiled(figures: Figures) -> Conclusion:
    eager, jit = figures["eager"], figures["jit"]
    numpy, faster = figures.get("NumPy"), figures.times("eager", "jit")
    gpu = figures.setting.accelerated
    rows = figures.table(
        ("NumPy", "NumPy", "7.6 ms"),
        ("JAX, eager", "eager", "1.21 ms, GPU" if gpu else "4.8 ms, CPU"),
        ("JAX, jit", "jit", "130 µs, GPU"),
    )
    less = "less" if eager < numpy else "more"
    sentences = (
        f"Eager JAX took {seconds(eager)}, the compiled function {seconds(jit)}: the"
        f" same lines {faster} as fast.",
        f"NumPy took {seconds(numpy)}. Eager JAX, which works in the same way, took"
        f" {less} than that."
        if figures.has("NumPy")
        else "",
    )
    answer = bisect((2, 5), over(eager, jit))
    return Conclusion(eager >= 2 * jit, answer, rows, sentences)


def _kernels(figures: Figures) -> Conclusion:
    steps, kernels = figures["steps"], figures["kernels"]
    whole, fused = figures["bytes, step by step"], figures["bytes, fused"]
    eager, jit = figures["eager"], figures["jit"]
    after = "one kernel" if kernels == 1 else f"{count(kernels)} kernels"

    def moved(what: str, bytes_: float, duration: float) -> tuple[object, ...]:
        speed = figure(over(bytes_, duration), "B/s")
        remark = "in ", figure(duration), ": ", speed
        return what, figure(bytes_, "memory"), "", remark

    names, rest = figures.cell("names of the steps"), figures.cell("what is left")
    rows = figures.table(
        ("eager: kernels that ran", (count(steps),), "", (names,)),
        ("jit: kernels left", (count(kernels),), "", (rest,)),
        moved("eager: bytes moved", whole, eager),
        moved("jit: bytes moved", fused, jit),
    )
    sentences = (
        f"Eager JAX ran {count(steps)} kernels, which moved {bytes_text(whole)} from"
        " and to memory.",
        f"XLA left {after} and {bytes_text(fused)}: {times(over(whole, fused))} less.",
        f"The time went from {seconds(eager)} to {seconds(jit)}.",
    )
    holds = kernels < steps and whole >= 2 * fused
    answer = 0 if kernels >= steps else 2 if kernels == 1 else 1
    return Conclusion(holds, answer, rows, sentences)


def _lines(figures: Figures) -> Conclusion:
    kernels, together = figures["kernels"], figures["most lines in one kernel"]
    step, product = figures["a step takes"], figures["the product takes"]
    lines = figures.cell("lines of each kernel")
    rows = figures.table(
        ("kernels", (count(kernels),), "", (lines,)),
        ("a step", step),
        ("of it the product", product),
    )
    sentences = (
        f"Four lines became {count(kernels)} kernels; one of them holds"
        f" {count(together)} lines.",
        f"The product takes {seconds(product)} of {seconds(step)}.",
    )
    answer = {1.0: 0, 3.0: 1, 4.0: 2}.get(together)
    return Conclusion(together == 3 and kernels == 2, answer, rows, sentences)


LESSON = lesson(
    "fusion",
    Trial(
        _compiled,
        cases=lambda setting: {
            "NumPy": case_of("selu", setting.size, "numpy"),
            "eager": case_of("selu", setting.size, "eager", setting.device),
            "jit": case_of("selu", setting.size, "jit", setting.device),
        },
    ),
    Trial(_kernels, Code(4.0, size)),
    Trial(_lines, Code(20.0, size)),
    sizes={"cpu": 1_000_000},
    limits=(1000, 100_000_000),
)
