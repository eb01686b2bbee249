"""Your own kernel: an activation written in Pallas, beside what XLA makes of it."""

from __future__ import annotations

import math

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row, Setting
from jaxtui.features.lessons.figures import NAN, VALUE_LENGTH, Figures, count, over
from jaxtui.features.lessons.trial import Code, Trial, jax_case, lesson
from jaxtui.format import seconds

AGREES = 1e-6
"""The relative error by which the kernel's result may exceed XLA's, against float64."""


def _accuracy(figures: Figures) -> Conclusion:
    kernel = figures.measured("kernel")
    interpreted = kernel is not None and kernel.has("interpreted")
    slower = over(figures["kernel"], figures["jit"])

    def error(name: str) -> float:
        result = figures.measured(name)
        apart = result.error_vs_float64 if result else None
        return NAN if apart is None else apart

    def remark(name: str) -> str:
        return "" if figures.missing(name) else f"error {fmt.error(error(name))}"

    apart = error("kernel") - error("jit")
    right = abs(apart) <= AGREES and not (kernel and kernel.has("inaccurate"))
    own = figures.row("your kernel", "kernel", remark=remark("kernel"))
    if interpreted:
        only = "interpret mode: its time says nothing about speed"
        own = Row("your kernel", fmt.ABSENT, remark=f"{remark('kernel')}; {only}")
        speed = (
            "This machine cannot show its speed: Pallas compiles kernels for GPUs and "
            "TPUs, and on a CPU its interpret mode only shows whether a kernel is "
            "right."
        )
    else:
        beside = (
            ": for such an op XLA's fusion is hard to beat"
            if slower > 1.1
            else ": as fast as what XLA makes of the same lines, or faster"
        )
        speed = (
            f"It took {seconds(figures['kernel'])} and XLA's "
            f"{seconds(figures['jit'])}{'' if math.isnan(slower) else beside}."
        )
    rows = (
        figures.row("JAX, eager", "eager", remark=remark("eager")),
        figures.row("JAX, jit", "jit", remark=remark("jit")),
        own,
    )
    if math.isnan(apart):
        return Conclusion(rows=rows, holds=None)
    return Conclusion(
        holds=right,
        answer=0 if right else 1,
        rows=rows,
        sentences=(
            "The kernel's error against NumPy in float64 is "
            f"{fmt.error(error('kernel'))}, that of XLA's own version "
            f"{fmt.error(error('jit'))}.",
            "So the kernel is right."
            if right
            else "They do not agree: the kernel computes something else.",
            speed,
        ),
    )


COMPILED = "compiled for this device"


def _interpret(setting: Setting) -> str:
    return f"interpret = {not setting.accelerated}"


def _grid(figures: Figures) -> Conclusion:
    """Conclude; a CPU leaves open the half of the claim on accelerators."""
    setting, value = figures.setting, figures.value(COMPILED)
    error = (value.error if value else None) or ""
    refused, same = bool(error), figures.is_true("same as jit")
    as_claimed = same and refused != setting.accelerated
    if not refused:
        compiled = f"Pallas compiled it for {setting.device}."
    elif setting.accelerated:
        compiled = f"Compiling failed on {setting.device}."
    else:
        compiled = (
            "JAX refused to compile it for this CPU. On a GPU or a TPU it compiles the "
            "same lines."
        )
    together = "the pieces together are SELU" if same else "the result is not SELU"
    return Conclusion(
        holds=(True if setting.accelerated else None) if as_claimed else False,
        answer=1 if refused else 0,
        rows=(
            Row("programs in the grid", count(figures["blocks"])),
            figures.row(
                "pl.program_id(0) of each block", "first element of each block"
            ),
            figures.row(
                "same as jax.nn.selu",
                "same as jit",
                remark="" if setting.accelerated else "in interpret mode",
            ),
            Row(
                "compiled, interpret=False",
                "refused" if refused else figures.shown(COMPILED),
                remark=fmt.shorten(error, VALUE_LENGTH),
            ),
        ),
        sentences=(
            f"The grid ran the kernel {count(figures['blocks'])} times, once for each "
            f"block, and {together}.",
            compiled,
        ),
    )


LESSON = lesson(
    "kernel",
    {
        "A kernel and its result": Trial(
            _accuracy,
            cases=lambda setting: {
                "eager": jax_case(setting.device, "selu", setting.size, "eager"),
                "jit": jax_case(setting.device, "selu", setting.size),
                "kernel": jax_case(setting.device, "selu", setting.size, "pallas"),
            },
            needs=("kernel", "jit"),
        ),
        "Blocks and the grid": Trial(
            _grid, Code(4.0, _interpret), needs=(COMPILED, "same as jit", "blocks")
        ),
    },
    sizes={"cpu": 1 << 18, "gpu": 1 << 20, "tpu": 1 << 20},
    minimum=1,
    maximum=1 << 28,
)
