"""The lines above a plot: its title and legend, or the values read off at a place."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxtui.plot.cells import BLANK, Cell, cells
from jaxtui.plot.series import Curve

_GAP = 2
"""Blank cells between two pieces of a line."""

_NAME = 16
"""Cells to keep for the name of a place."""

_VALUE = 9
"""Cells to keep for a value: `` 0.83 ms``."""


class Value(msgspec.Struct, frozen=True):
    text: str
    """The number with its unit."""
    more: str = ""
    """What is left out first where there is no room, e.g. ``1.2–1.4 ms``."""
    series: int | None = None
    """Index of the series that it belongs to; ``None`` says nothing of a series."""


class Reading(msgspec.Struct, frozen=True):
    name: str
    """Which place, e.g. ``1024, ready``."""
    values: tuple[Value, ...] = ()


def lines_for(
    title: str, curves: Sequence[Curve], width: int, *, readable: bool
) -> int:
    """The lines that title and legend take; 0 without either.

    Where values can be read off, room for them is kept, so that this moves nothing.
    """
    lines = len(_flow(_pieces(title, curves), width))
    if not readable:
        return lines
    room = [[BLANK] * (len(one) + _VALUE) for one in _pieces("", curves)]
    return max(1, lines, len(_flow([[BLANK] * _NAME, *room], width)))


def header(
    title: str, curves: Sequence[Curve], width: int, lines: int
) -> list[list[Cell]]:
    """Title and legend, without the curves that have no label, in so many lines.

    In a single line the legend is more important than the title; what does not fit at
    all is counted.
    """
    pieces, legend = _pieces(title, curves), _pieces("", curves)
    if lines == 1 and legend and len(_flow(pieces, width)) > 1:
        pieces = legend
    return _exactly(_most(pieces, width, lines, always=1), width, lines)


def readout(
    reading: Reading, curves: Sequence[Curve], width: int, lines: int
) -> list[list[Cell]]:
    """The values at a place in so many lines; no number is ever cut.

    Where there is no room, intervals go first and then the last values.
    """
    name = cells(f"{reading.name}:" if reading.values else reading.name)
    for more in (True, False):
        values = [_value(value, curves, more) for value in reading.values]
        rows = _flow([name, *values], width)
        if _fits(rows, width, lines):
            return _exactly(rows, width, lines)
    return _exactly(_most([name, *values], width, lines, always=0), width, lines)


def _pieces(title: str, curves: Sequence[Curve]) -> list[list[Cell]]:
    """The title and the legend, as far as there are such."""
    legend = [_legend(curve) for curve in curves if curve.series.label]
    return [*([cells(title)] if title else []), *legend]


def _legend(curve: Curve) -> list[Cell]:
    return [*cells(curve.sample, curve.color), BLANK, *cells(curve.series.label)]


def _value(value: Value, curves: Sequence[Curve], more: bool) -> list[Cell]:
    text = f"{value.text} {value.more}" if more and value.more else value.text
    if value.series is None or value.series >= len(curves):
        return cells(text)
    return [*_legend(curves[value.series]), BLANK, *cells(text)]


def _flow(pieces: Sequence[list[Cell]], width: int) -> list[list[Cell]]:
    """Pieces put into lines one after the other; only a line with one can be longer."""
    rows: list[list[Cell]] = []
    for piece in pieces:
        if rows and len(rows[-1]) + _GAP + len(piece) <= width:
            rows[-1] = [*rows[-1], *([BLANK] * _GAP), *piece]
        else:
            rows.append(list(piece))
    return rows


def _most(
    pieces: Sequence[list[Cell]], width: int, lines: int, always: int
) -> list[list[Cell]]:
    """The lines of as many pieces as fit, with the number of the others.

    The first of them come first; so many as ``always`` says are shown even if cut.
    """
    fewer = ([*pieces[:-left], cells(f"+{left}")] for left in range(1, len(pieces)))
    for tried in (list(pieces), *fewer, list(pieces[:1])):
        rows = _flow(tried, width)
        if _fits(rows, width, lines):
            return rows
    return _flow(pieces[:always], width)


def _fits(rows: Sequence[list[Cell]], width: int, lines: int) -> bool:
    return len(rows) <= lines and all(len(row) <= width for row in rows)


def _exactly(rows: Sequence[list[Cell]], width: int, lines: int) -> list[list[Cell]]:
    return [
        [*row[: width - 1], ("…", None)]
        if len(row) > width
        else [*row, *([BLANK] * (width - len(row)))]
        for row in [*rows, *([[]] * lines)][:lines]
    ]
