"""The line above a plot with the values read off at a place."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxtui.ui.plot.cells import BLANK, Cell, cells
from jaxtui.ui.plot.series import Curve

_GAP = 2
"""Blank cells between two pieces of the line."""


class Value(msgspec.Struct, frozen=True):
    text: str
    """The number with its unit."""
    more: str = ""
    """The part that is dropped first where there is no room, e.g. ``1.2–1.4 ms``."""
    series: int | None = None
    """Index of the series that it belongs to; ``None`` says nothing of a series."""


class Reading(msgspec.Struct, frozen=True):
    name: str
    """The name of the place, e.g. ``1024, ready``."""
    values: tuple[Value, ...] = ()


def readout(reading: Reading, curves: Sequence[Curve], width: int) -> list[Cell]:
    """The values at a place in one line; no number is ever cut.

    Where there is no room, intervals go first and then the last values, which are
    counted.
    """
    name = cells(f"{reading.name}:" if reading.values else reading.name)
    for more in (True, False):
        values = [_value(value, curves, more) for value in reading.values]
        line = _joined([name, *values])
        if len(line) <= width:
            return fitted(line, width)
    for left in range(1, len(values) + 1):
        line = _joined([name, *values[:-left], cells(f"+{left}")])
        if len(line) <= width:
            return fitted(line, width)
    return fitted(name if len(name) <= width else [], width)


def _value(value: Value, curves: Sequence[Curve], more: bool) -> list[Cell]:
    text = f"{value.text} {value.more}" if more and value.more else value.text
    if value.series is None or value.series >= len(curves):
        return cells(text)
    curve = curves[value.series]
    label = [*cells(curve.series.label, curve.color), BLANK]
    return [*(label if curve.series.label else []), *cells(text)]


def _joined(pieces: Sequence[list[Cell]]) -> list[Cell]:
    first, *more = pieces
    return [*first, *(cell for piece in more for cell in [*[BLANK] * _GAP, *piece])]


def fitted(line: list[Cell], width: int) -> list[Cell]:
    """A line in exactly so many cells; an ellipsis where something is missing."""
    if len(line) > width:
        return [*line[: width - 1], ("…", None)]
    return [*line, *[BLANK] * (width - len(line))]
