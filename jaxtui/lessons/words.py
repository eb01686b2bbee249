"""Figures and sentences that every lesson writes in the same way."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.lessons.base import Conclusion, Row, Setting
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Measurement, OpInfo

ABSENT = fmt.ABSENT
"""Stands in a row where this machine has no figure."""

NEEDS_ACCELERATOR = "needs an accelerator"
"""The remark of a row that a machine with only a CPU cannot fill."""


def duration(seconds: float | None) -> str:
    """A time: ``4.92 ms``; ``—`` where there is none."""
    return fmt.seconds(seconds)


def quotient(above: float | None, below: float | None) -> float | None:
    """How many times ``below`` goes into ``above``; ``None`` where one is missing."""
    if above is None or below is None or below <= 0 or not math.isfinite(above / below):
        return None
    return above / below


def ratio(above: float | None, below: float | None) -> str:
    """How many times ``below`` goes into ``above``: ``18×``, ``0.25×``, ``—``."""
    return fmt.ratio(quotient(above, below))


def times(above: float | None, below: float | None) -> str:
    """The same for a sentence: ``18 times``, ``1.6 times``, ``—``."""
    return f"{ratio(above, below).removesuffix('×')} times"


def ready(measurement: Measurement | None) -> float | None:
    """Median seconds until the result was ready; ``None`` before the first turn."""
    return measurement.ready.median if measurement and measurement.ready else None


def speed(flops_per_second: float | None) -> str:
    """A speed that is known already: ``169 TFLOP/s``; ``—`` where it is not."""
    return fmt.flops_rate(flops_per_second)


def rate(flops: float | None, seconds: float | None) -> str:
    """Operations per second: ``169 TFLOP/s``; ``—`` where there is none."""
    return fmt.flops_rate(quotient(flops, seconds))


def bandwidth(amount: float | None, seconds: float | None) -> str:
    """Bytes per second: ``26.1 GB/s``; ``—`` where there is none."""
    return fmt.bytes_rate(quotient(amount, seconds))


def listing(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def missing(setting: Setting, *names: str, many: bool = False) -> str:
    """That these were not measured, as one sentence.

    Args:
        setting: where they were to be measured.
        names: what is missing, each as in the middle of a sentence.
        many: the only name is a plural.
    """
    was = "was" if len(names) == 1 and not many else "were"
    return (
        f"{_upper(listing(names))} {was} not measured on this machine (device"
        f" {setting.device}), so there is nothing to conclude."
    )


def inconclusive(
    setting: Setting,
    outcome: Outcome,
    rows: Sequence[Row],
    *names: str,
    many: bool = False,
) -> Conclusion:
    """The conclusion of a step that lacks these figures, with the reason if known."""
    sentences = [missing(setting, *names, many=many), *reasons(outcome)]
    return Conclusion(rows=tuple(rows), holds=None, takeaway=" ".join(sentences))


def reasons(outcome: Outcome) -> list[str]:
    """Why figures of a step are missing, one sentence each, without repeats."""
    if outcome.problem is not None:
        return [outcome.problem.error]
    found = dict.fromkeys(failure.error for failure in outcome.failures)
    return list(found)


def trouble(outcome: Outcome, **facts: object) -> str:
    """Why the case with these facts has no figure; empty if nothing went wrong."""
    for failure in reversed(outcome.failures):
        if all(getattr(failure.case, name) == fact for name, fact in facts.items()):
            return failure.error
    return ""


def op_named(setting: Setting, name: str) -> OpInfo | None:
    """An op of the catalogue; ``None`` where the engine does not have it."""
    return next((op for op in setting.ops if op.name == name), None)


def accelerator(setting: Setting) -> str | None:
    """The first accelerator: the lesson's device where it is one; ``None`` if none."""
    if setting.accelerated:
        return setting.device
    names = (d.name for d in setting.devices if d.platform != "cpu" and d.addressable)
    return next(names, None)


def processor(setting: Setting) -> str | None:
    """The CPU as a JAX device; ``None`` where this process has none."""
    if not setting.accelerated:
        return setting.device
    names = (d.name for d in setting.devices if d.platform == "cpu" and d.addressable)
    return next(names, None)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
