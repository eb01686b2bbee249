"""A compile ahead of time as text, eighty columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from jaxtui import format as fmt
from jaxtui.commands.compile_outcome import Outcome
from jaxtui.model.ahead import Bound, Compiled, Stage
from jaxtui.tui import program_text
from jaxtui.view import chipmap
from jaxtui.view.text import table

COLUMNS = 80

NOT_HERE = "compiled, not run: there is no such TPU here"

_NAMES: dict[Stage, str] = {"trace": "trace", "lower": "lower", "compile": "compile"}

_BY: dict[Bound, str] = {"compute": "compute", "bandwidth": "memory bandwidth"}


def report(outcome: Outcome) -> str:
    """What was compiled, how long that took, and what the program needs."""
    parts = [_head(outcome), _clocks(outcome)]
    if outcome.compiled:
        parts += _program(outcome.compiled)
    if outcome.failure:
        failure = outcome.failure
        parts.append(_wrapped(f"failed: {failure.error} {failure.hint}".rstrip()))
    return "\n\n".join(part for part in parts if part)


def _head(outcome: Outcome) -> str:
    versions = f"libtpu {outcome.libtpu} · jax {outcome.jax}"
    lines = [outcome.label, f"{NOT_HERE} · {versions}"]
    if outcome.devices:
        kind = f"{outcome.device_kind}, {chipmap.summary(outcome.devices)}"
        asked = outcome.request.topology.label
        lines.insert(1, f"{asked}: {kind}; for one device of them")
    return "\n".join(map(_wrapped, lines))


def _clocks(outcome: Outcome) -> str:
    rows = [
        (name, fmt.seconds(outcome.took[stage]))
        for stage, name in _NAMES.items()
        if stage in outcome.took
    ]
    return table(("stage", "seconds"), rows, right=("seconds",)) if rows else ""


def _program(compiled: Compiled) -> Iterator[str]:
    yield program_text.counts(
        compiled.flops, compiled.bytes, compiled.xla_flops, compiled.xla_bytes
    )
    if compiled.memory:
        yield program_text.memory(compiled.memory, compiled.device_kind)
    yield "\n".join(map(_wrapped, _bound(compiled)))
    yield _wrapped(_kernels(compiled))
    if compiled.hlo is not None:
        yield compiled.hlo.strip()


def _bound(compiled: Compiled) -> Iterator[str]:
    """The lower bound, where it comes from, and what it leaves out."""
    peak, seconds = compiled.peak, compiled.bound_seconds
    if peak is None or seconds is None or compiled.bound_by is None:
        yield f"lower bound: none, no peak of {compiled.device_kind} is known here."
        return
    yield (
        f"lower bound {fmt.seconds(seconds)} per call, by {_BY[compiled.bound_by]}: "
        f"{_reason(compiled)}. It is a bound, no prediction: no call takes less, how "
        "much more only a run tells."
    )
    if compiled.flops and peak.flops_per_second is None:
        yield (
            f"The peak rate of {compiled.case.dtype} arithmetic in such an op is not "
            "known, so that only the memory bounds it."
        )
    yield f"peaks: {peak.source}"


def _reason(compiled: Compiled) -> str:
    peak = compiled.peak
    assert peak is not None
    if compiled.bound_by == "compute":
        work = fmt.rate(compiled.flops, "FLOP")
        return f"{work} at {fmt.flops_rate(peak.flops_per_second)}"
    return f"{fmt.rate(compiled.bytes, 'B')} at {fmt.bytes_rate(peak.bytes_per_second)}"


def _kernels(compiled: Compiled) -> str:
    text = program_text.kernels(compiled.kernels, compiled.instructions)
    known = compiled.kernels is not None
    return f"program: {text}{'' if compiled.hlo or not known else ' (--hlo prints it)'}"


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text,
        COLUMNS,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
