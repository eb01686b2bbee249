"""The clock that lies: one product, three ways to stop the watch."""

from __future__ import annotations

from bisect import bisect

from jaxtui.core import format as fmt
from jaxtui.core.format import figure, seconds
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.figures import Figures, MissingError, count, over, times
from jaxtui.features.lessons.trial import Code, Trial, case_of, lesson, size

WAIT = "block_until_ready"


def _readings(figures: Figures) -> Conclusion:
    call, wait = figures["plain call"], figures[WAIT]
    copy = "with the copy to the host" if figures.setting.accelerated else "no copy"
    rows = figures.table(
        ("jnp.dot(x, x)", "plain call", "269 µs", "until the call returned"),
        ("np.asarray(jnp.dot(x, x))", "np.asarray", "8.09 ms", copy),
        ("….block_until_ready()", WAIT, "4.92 ms", "until the result was ready"),
    )
    sentence = (
        f"The plain call read {seconds(call)}, but the product took {seconds(wait)}:"
        f" {figures.times(WAIT, 'plain call')} as long."
    )
    answer = bisect((1.25, 5), over(wait, call))
    return Conclusion(wait >= 5 * call, answer, rows, [sentence])


def _speeds(figures: Figures) -> Conclusion:
    flops, jax = 2.0 * figures.setting.size**3, figures.measured("JAX")
    if not jax.dispatch or not jax.work_seconds:
        raise MissingError("JAX")
    claimed, real = flops / jax.dispatch.median, flops / jax.work_seconds
    numpy = figure(over(flops, figures.get("NumPy")), "FLOP/s")
    chip = jax.peak.flops_per_second if jax.peak else None
    source = (jax.peak.source,) if jax.peak and chip else "not known here"
    claim = "FLOPs over ", figure(jax.dispatch.median)
    work = "FLOPs over ", figure(jax.work_seconds)
    host = figures.why("NumPy") or "on the host's CPU"
    rows = figures.table(
        ("claimed by the plain call", figure(claimed, "FLOP/s"), "", claim),
        ("done by JAX", figure(real, "FLOP/s"), "", work),
        ("done by NumPy, which blocks", numpy, "", host),
        ("the chip's peak", figure(chip, "FLOP/s"), "", source),
    )
    sentences = [
        f"The plain call claims {fmt.rate(claimed)}; this machine did"
        f" {fmt.rate(real)}, {times(claimed / real)} less."
    ]
    if chip and claimed > chip:
        peak = f"its peak is {fmt.rate(chip)}"
        sentences.append(f"No chip of this kind is that fast: {peak}.")
    answer = bisect((2, 5), claimed / real)
    return Conclusion(claimed >= 5 * real, answer, rows, sentences)


def _audited(figures: Figures) -> Conclusion:
    reading, took = figures["it read"], figures["the work took"]
    mistakes, remaining = figures["findings"], figures["findings, mended"]
    mended = figures["it read, mended"]
    rows = figures.table(
        ("first program: its clock", reading),
        ("first program: its work", took),
        ("first program: mistakes", (count(mistakes),)),
        ("second program: its clock", mended),
        ("second program: mistakes", (count(remaining),)),
    )
    audit = figures.text("what the audit says", 300) if mistakes else ""
    return Conclusion(
        (mistakes, remaining) == (1, 0),
        1 if mistakes == 1 and took >= 5 * reading else None,
        rows,
        (audit, f"The second program reads {seconds(mended)}."),
    )


LESSON = lesson(
    "clock",
    Trial(_readings, Code(4.0, size)),
    Trial(
        _speeds,
        cases=lambda setting: {
            "JAX": case_of("matmul", setting.size, "jit", setting.device),
            "NumPy": case_of("matmul", setting.size, "numpy"),
        },
    ),
    Trial(_audited, Code(20.0, size)),
    sizes={"cpu": 1000, "gpu": 4000, "tpu": 4000},
    limits=(64, 20_000),
    fits=True,
)
