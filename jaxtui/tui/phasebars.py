"""The clocks of one case as bars: what a call costs, and when.

The clocks span up to six decades, so bars are logarithmic unless asked otherwise: a
decade more is as many cells more, and the shortest clock has a tenth of the longest's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from jaxtui import format as fmt
from jaxtui.model import MemorySpan, Phases, Summary
from jaxtui.view.text import Line, Span

LABELS = (
    "transfer",
    "trace",
    "lower",
    "compile",
    "first call",
    "dispatch",
    "ready",
    "pipelined",
    "fetch",
)
"""The clocks in the order in which a first call meets them."""

ENDS = ("· reused", "· fresh")
"""Of the memory span, below ``ready``."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
_LABEL_ROOM = max(map(len, LABELS)) + 1
_VALUE_ROOM = 18
"""``0.81 ms ± 13 %`` and ``1.30 ms  26.1 GB/s`` fit."""


def bars(
    phases: Phases,
    dispatch: Summary | None,
    ready: Summary | None,
    pipelined: float | None,
    width: int,
    *,
    memory: MemorySpan | None = None,
    zero_copy: bool = False,
    transferred_bytes: float | None = None,
    log: bool = True,
) -> list[Line]:
    """A line per clock: its name, a bar, and its value; ``—`` where there is none.

    Args:
        phases: The clocks outside the rounds, seconds.
        dispatch: Until a call returned.
        ready: Until its result was there.
        pipelined: Seconds per call of a queued burst.
        width: Cells of a line; no line is longer.
        memory: Both ends; a line for each then.
        zero_copy: The transfer copied nothing; then it says so instead of a time.
        transferred_bytes: What the transfer moved; gives its bandwidth.
        log: Bars are as long as the logarithm of the time; else as the time itself.

    Returns:
        Lines whose roles are ``label``, ``bar-<clock>``, ``value`` and ``muted``.
    """
    values = _values(phases, dispatch, ready, pipelined, memory)
    if zero_copy:
        values["transfer"] = None
    texts = {label: fmt.seconds(value) for label, value in values.items()}
    texts["dispatch"], texts["ready"] = fmt.measured(dispatch), fmt.seconds_pm(ready)
    transfer = values["transfer"]
    if zero_copy:
        texts["transfer"] = "zero-copy"
    elif transfer and transferred_bytes:
        texts["transfer"] += f"  {fmt.bytes_rate(transferred_bytes / transfer)}"
    if memory:
        texts[ENDS[1]] += f"  {memory.page_faults:,.0f} faults"
    values_room = max(_VALUE_ROOM, *map(len, texts.values()))
    room = max(0, width - _LABEL_ROOM - values_room - 1)
    drawn = _lengths(values, room, log)
    return [
        _line(label, _bar(drawn[label]), texts[label], room, width) for label in values
    ]


def _values(
    phases: Phases,
    dispatch: Summary | None,
    ready: Summary | None,
    pipelined: float | None,
    memory: MemorySpan | None,
) -> dict[str, float | None]:
    ends = (memory.reused, memory.fresh) if memory else ()
    return {
        "transfer": phases.transfer,
        "trace": phases.trace,
        "lower": phases.lower,
        "compile": phases.compile,
        "first call": phases.first_call,
        "dispatch": dispatch.median if dispatch else None,
        "ready": ready.median if ready else None,
        **dict(zip(ENDS, ends, strict=False)),
        "pipelined": pipelined,
        "fetch": phases.fetch,
    }


def _lengths(values: dict[str, float | None], room: int, log: bool) -> dict[str, float]:
    """Cells of every bar; a clock that has a value has at least a trace of one."""
    known = {
        label: value
        for label, value in values.items()
        if value is not None and 0 < value < math.inf
    }
    lengths = dict.fromkeys(values, 0.0)
    if known:
        longest = max(known.values())
        span = max(math.log10(longest / min(known.values())), 1.0)
        for label, value in known.items():
            share = 1 + 0.9 * math.log10(value / longest) / span
            lengths[label] = max(room * (share if log else value / longest), 0.125)
    return lengths


def _bar(length: float) -> str:
    whole, eighths = divmod(round(8 * length), 8)
    return ("█" * whole + _EIGHTHS[eighths]).rstrip()


def _line(label: str, bar: str, text: str, room: int, width: int) -> Line:
    spans = _spans(label, bar[:room], text, room)
    return tuple(_cut(spans, width))


def _spans(label: str, bar: str, text: str, room: int) -> Iterator[Span]:
    yield Span(label.ljust(_LABEL_ROOM), "label")
    if room:
        yield Span(bar, f"bar-{label.strip('· ').replace(' ', '-')}")
        yield Span(" " * (room - len(bar) + 1))
    yield Span(text, "muted" if text == fmt.ABSENT else "value")


def _cut(spans: Iterator[Span], width: int) -> Iterator[Span]:
    for span in spans:
        if width <= 0:
            return
        yield Span(span.text[:width], span.role)
        width -= len(span.text)
