"""The clocks of one case as bars: what a call costs, and when.

The clocks span up to six decades, so bars are logarithmic: a decade more is as many
cells more, and the shortest clock has a tenth of the longest's.
"""

from __future__ import annotations

import math

from jaxtui.core import format as fmt
from jaxtui.core.model import Phases, Summary
from jaxtui.features.bench.figures import figure
from jaxtui.ui.text import Line, Span, bar, log_share, piece, plain

LABELS = (
    "transfer",
    "trace",
    "lower",
    "compile",
    "first run",
    "dispatch",
    "ready",
    "pipelined",
    "fetch",
)
"""The clocks in the order in which a first call meets them."""

_LABEL_ROOM = max(map(len, LABELS)) + 1
_VALUE_ROOM = 12
"""``1234.056 ms`` fits, so that bars seldom change their scale."""


def bars(
    phases: Phases,
    dispatch: Summary | None,
    ready: Summary | None,
    pipelined: float | None,
    width: int,
    *,
    zero_copy: bool = False,
) -> list[Line]:
    """A line per clock: its name, a bar, and its value; ``—`` where there is none.

    All values are in one unit, one point below the other.

    Args:
        phases: The clocks outside the rounds, seconds.
        dispatch: Until a call returned.
        ready: Until its result was there.
        pipelined: Seconds per call of a queued burst.
        width: Cells of a line; no line is longer.
        zero_copy: The transfer copied nothing; then it says so instead of a time.

    Returns:
        Lines whose roles are ``label``, ``bar-<clock>``, ``value``,
        ``unknown`` and ``muted``.
    """
    values: dict[str, float | None] = {
        "transfer": None if zero_copy else phases.transfer,
        "trace": phases.trace,
        "lower": phases.lower,
        "compile": phases.compile,
        "first run": phases.first_call,
        "dispatch": dispatch.median if dispatch else None,
        "ready": ready.median if ready else None,
        "pipelined": pipelined,
        "fetch": phases.fetch,
    }
    unit = fmt.shared(value for value in values.values() if value)
    clocks = {"dispatch": dispatch, "ready": ready}
    names: list[str] = []
    figures: list[Line] = []
    for label, value in values.items():
        clock = clocks.get(label)
        own = unit.of(value or 0.0)
        names.append(own.name if value else "")
        if clock:
            figures.append(figure(clock.interval, own))
        else:
            role = "muted" if value is None else "value"
            figures.append((Span(own.text(value), role),))
    texts = fmt.aligned(map(plain, figures))
    most = max(_VALUE_ROOM, len(texts[0]) + max(map(len, names)) + 1)
    room = width - _LABEL_ROOM - most - 1
    positive = [value for value in values.values() if value and 0 < value < math.inf]
    lines = []
    for (label, value), name, text, shown in zip(
        values.items(), names, texts, figures, strict=True
    ):
        spans = [Span(label.ljust(_LABEL_ROOM), "label")]
        if room > 0:
            share = 0.0
            if value and value in positive:
                share = log_share(value, min(positive), max(positive))
            drawn = bar(share, room)
            role = f"bar-{label.replace(' ', '-')}"
            spans += [Span(drawn, role), Span(" " * (room - len(drawn) + 1))]
        before, _, after = text.partition(plain(shown))
        after = f"{after} {name}" if value is not None else ""
        if zero_copy and label == "transfer":
            before, shown = "", (Span("zero-copy", "value"),)
        spans += [Span(before), *shown, Span(after, "value")]
        lines.append(piece(tuple(spans), 0, width))
    return lines
