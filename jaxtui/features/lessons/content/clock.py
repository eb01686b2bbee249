"""The clock that lies: one product, three ways to stop the watch."""

from __future__ import annotations

import math

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row
from jaxtui.features.lessons.figures import NAN, Figures, count, over, times, which
from jaxtui.features.lessons.trial import (
    Code,
    Trial,
    jax_case,
    lesson,
    numpy_case,
    size,
)
from jaxtui.format import seconds
from jaxtui.model import Remark

FAR = 5.0
"""The least factor by which a stopwatch reads too little, before this lesson calls it a
lie."""

SENTENCE_LENGTH = 300
"""The characters of the audit's sentence."""

WAIT = "block_until_ready"


def _readings(figures: Figures) -> Conclusion:
    call, wait, row = figures["plain call"], figures[WAIT], figures.row
    factor = figures.times(WAIT, "plain call")
    copy = "with the copy to the host" if figures.setting.accelerated else "no copy"
    until = "until the result was ready"
    return Conclusion(
        holds=wait >= FAR * call,
        answer=which(over(wait, call), 1.25, FAR),
        rows=(
            row("jnp.dot(x, x)", "plain call", "269 µs", "until the call returned"),
            row("np.asarray(jnp.dot(x, x))", "np.asarray", "8.09 ms", copy),
            row("jnp.dot(x, x).block_until_ready()", WAIT, "4.92 ms", until),
        ),
        sentences=(
            f"The plain call read {seconds(call)}, but the product took "
            f"{seconds(wait)}: {factor} as long.",
        ),
    )


def _speeds(figures: Figures) -> Conclusion:
    flops, jax = 2.0 * figures.setting.size**3, figures.measured("JAX")
    dispatch = jax.dispatch.median if jax and jax.dispatch else NAN
    work = jax.work_seconds if jax and jax.work_seconds else NAN
    claimed, real = over(flops, dispatch), over(flops, work)
    factor = over(claimed, real)
    peak = jax.peak if jax and jax.peak and jax.peak.flops_per_second else None
    chip = peak.flops_per_second if peak else None

    def row(what: str, speed: float | None, *remark: fmt.Cell | Remark) -> Row:
        return Row(what, (fmt.figure(speed, "FLOP/s"),), remark=remark)

    host = figures.why("NumPy") or ("on the host's CPU",)
    numpy = over(flops, figures["NumPy"])
    over_call, over_work = fmt.figure(dispatch), fmt.figure(work)
    rows = (
        row("claimed by the plain call", claimed, "FLOPs over ", over_call),
        row("done by JAX", real, "FLOPs over ", over_work),
        row("done by NumPy, which blocks", numpy, *host),
        row("the chip's peak", chip, peak.source if peak else "not known here"),
    )
    if math.isnan(factor):
        return Conclusion(rows=rows, holds=None)
    return Conclusion(
        holds=claimed >= FAR * real,
        answer=which(factor, 2, FAR),
        rows=rows,
        sentences=(
            f"The plain call claims {fmt.rate(claimed)}; this machine did "
            f"{fmt.rate(real)}, {times(factor)} less.",
            f"No chip of this kind is that fast: its peak is {fmt.rate(chip)}."
            if chip and claimed > chip
            else "",
        ),
    )


def _audited(figures: Figures) -> Conclusion:
    reading, took = figures["it read"], figures["the work took"]
    mistakes, remaining = figures["findings"], figures["findings, mended"]
    mended = figures["it read, mended"]
    return Conclusion(
        holds=(mistakes, remaining) == (1, 0),
        answer=1 if mistakes == 1 and took >= FAR * reading else None,
        rows=(
            Row("first program: its clock", (fmt.figure(reading),)),
            Row("first program: its work", (fmt.figure(took),)),
            Row("first program: mistakes", (count(mistakes),)),
            Row("second program: its clock", (fmt.figure(mended),)),
            Row("second program: mistakes", (count(remaining),)),
        ),
        sentences=(
            figures.shown("what the audit says", SENTENCE_LENGTH) if mistakes else "",
            f"The second program reads {seconds(mended)}.",
        ),
    )


LESSON = lesson(
    "clock",
    {
        "One product, three readings": Trial(
            _readings,
            Code(4.0, size),
            needs=("plain call", WAIT),
        ),
        "The speed that a plain call claims": Trial(
            _speeds,
            needs=("JAX",),
            cases=lambda setting: {
                "JAX": jax_case(setting.device, "matmul", setting.size),
                "NumPy": numpy_case("matmul", setting.size),
            },
        ),
        "A program that times itself": Trial(
            _audited,
            Code(20.0, size),
            needs=("findings", "findings, mended", "it read", "the work took"),
        ),
    },
    sizes={"cpu": 1000, "gpu": 4000, "tpu": 4000},
    minimum=64,
    maximum=20_000,
    fits=True,
)
