"""Your own kernel: an activation written in Pallas, beside what XLA makes of it."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.core.format import seconds
from jaxtui.features.lessons.base import Conclusion, Setting
from jaxtui.features.lessons.figures import (
    VALUE_LENGTH,
    Figures,
    MissingError,
    count,
    over,
)
from jaxtui.features.lessons.trial import Code, Trial, case_of, lesson

AGREES = 1e-6
"""The relative error by which the kernel's result may exceed XLA's, against float64."""


def _accuracy(figures: Figures) -> Conclusion:
    kernel, jit = figures.measured("kernel"), figures.measured("jit")
    error, expected = kernel.error_vs_float64, jit.error_vs_float64
    if error is None or expected is None:
        raise MissingError("error")

    def remark(name: str) -> str:
        case = figures.find(name)
        return "" if case is None else f"error {fmt.error(case.error_vs_float64)}"

    right = abs(error - expected) <= AGREES and not kernel.has("inaccurate")
    own: tuple[object, ...] = ("your kernel", "kernel", "", remark("kernel"))
    slower = over(figures["kernel"], figures["jit"])
    beside = (
        "for such an op XLA's fusion is hard to beat"
        if slower > 1.1
        else "as fast as what XLA makes of the same lines, or faster"
    )
    speed = (
        f"It took {seconds(figures['kernel'])} and XLA's {seconds(figures['jit'])}:"
        f" {beside}."
    )
    if kernel.has("interpreted"):
        only = "interpret mode: its time says nothing about speed"
        own = ("your kernel", (fmt.ABSENT,), "", f"{remark('kernel')}; {only}")
        speed = (
            "This machine cannot show its speed: Pallas compiles kernels for GPUs and"
            " TPUs, and on a CPU its interpret mode only shows whether a kernel is"
            " right."
        )
    rows = figures.table(
        ("JAX, eager", "eager", "", remark("eager")),
        ("JAX, jit", "jit", "", remark("jit")),
        own,
    )
    sentences = (
        f"The kernel's error against NumPy in float64 is {fmt.error(error)}, that of"
        f" XLA's own version {fmt.error(expected)}.",
        "So the kernel is right."
        if right
        else "They do not agree: the kernel computes something else.",
        speed,
    )
    return Conclusion(right, 0 if right else 1, rows, sentences)


COMPILED = "compiled for this device"


def _interpret(setting: Setting) -> str:
    return f"interpret = {not setting.accelerated}"


def _grid(figures: Figures) -> Conclusion:
    """Conclude; a CPU leaves open the half of the claim on accelerators."""
    setting, error = figures.setting, figures.value(COMPILED).error or ""
    same, blocks = bool(figures["same as jit"]), count(figures["blocks"])
    if not error:
        compiled = f"Pallas compiled it for {setting.device}."
    elif setting.accelerated:
        compiled = f"Compiling failed on {setting.device}."
    else:
        compiled = (
            "JAX refused to compile it for this CPU. On a GPU or a TPU it compiles the"
            " same lines."
        )
    together = "the pieces together are SELU" if same else "the result is not SELU"
    outcome = "refused" if error else figures.text(COMPILED)
    where = "" if setting.accelerated else "in interpret mode"
    why = fmt.shorten(error, VALUE_LENGTH)
    rows = figures.table(
        ("programs in the grid", (blocks,)),
        ("pl.program_id(0) of each block", "first element of each block"),
        ("same as jax.nn.selu", "same as jit", "", where),
        ("compiled, interpret=False", (outcome,), "", why),
    )
    sentences = (
        f"The grid ran the kernel {blocks} times, once for each block, and {together}.",
        compiled,
    )
    as_claimed = same and bool(error) != setting.accelerated
    holds = (True if setting.accelerated else None) if as_claimed else False
    return Conclusion(holds, 1 if error else 0, rows, sentences)


LESSON = lesson(
    "kernel",
    Trial(
        _accuracy,
        cases=lambda setting: {
            "eager": case_of("selu", setting.size, "eager", setting.device),
            "jit": case_of("selu", setting.size, "jit", setting.device),
            "kernel": case_of("selu", setting.size, "pallas", setting.device),
        },
    ),
    Trial(_grid, Code(4.0, _interpret)),
    sizes={"cpu": 1 << 18, "gpu": 1 << 20, "tpu": 1 << 20},
    limits=(1, 1 << 28),
)
