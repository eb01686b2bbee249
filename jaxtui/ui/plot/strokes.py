"""Curves on a canvas: clipped, and drawn.

Points on the canvas are in cells: x from the left, y from the bottom. plotext draws
them. Version 6.1 aborts the process on NaN and takes gigabytes for points far outside
the limits, so it is given finite points in units of cells, clipped to the canvas, and
nothing else.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec

from jaxtui.ui.plot.cells import BLANK, Cell, Color

Point = tuple[float, float]

EMPTY = " ⠀"
"""The characters of plotext for an empty cell: a blank, or braille without a dot."""

_IN_USE = threading.Lock()
"""plotext's figure is global, and two threads in it raise KeyError."""


class KernelError(Exception):
    """plotext cannot be loaded, or has failed; the text says why."""


class Stroke(msgspec.Struct, frozen=True):
    parts: Sequence[Sequence[Point]]
    """Polylines; one of a single point is a dot."""
    marker: str
    """``braille``, or the one character to draw with."""
    color: Color


def dots(
    points: Sequence[Point], width: int, height: int, across: int = 1, up: int = 1
) -> list[list[Point]]:
    """The centres of the cells in which points of the canvas lie, or of the dots of
    braille, so many ``across`` and ``up`` in a cell.
    """
    centres = {
        (
            (min(math.floor(across * x), across * width - 1) + 0.5) / across,
            (min(math.floor(up * y), up * height - 1) + 0.5) / up,
        )
        for x, y in points
        if inside((x, y), width, height)
    }
    return [[centre] for centre in sorted(centres)]


def inside(point: Point, width: int, height: int) -> bool:
    return 0 <= point[0] <= width and 0 <= point[1] <= height


def clip(points: Sequence[Point], width: int, height: int) -> Iterator[list[Point]]:
    """The parts of a polyline that lie inside the canvas, each a polyline."""
    part: list[Point] = []
    for start, end in pairwise(points):
        piece: tuple[Point, Point] | None = (start, end)
        if not (inside(start, width, height) and inside(end, width, height)):
            piece = _segment(start, end, width, height)
        if piece is None:
            continue
        if not part or part[-1] != piece[0]:
            if part:
                yield part
            part = [piece[0]]
        part.append(piece[1])
    if part:
        yield part


def _segment(
    start: Point, end: Point, width: int, height: int
) -> tuple[Point, Point] | None:
    """Liang and Barsky's clipping of one segment to the canvas."""
    (x, y), dx, dy = start, end[0] - start[0], end[1] - start[1]
    first, last = 0.0, 1.0
    for towards, room in ((-dx, x), (dx, width - x), (-dy, y), (dy, height - y)):
        if towards == 0:
            if room < 0:
                return None
        elif towards < 0:
            first = max(first, room / towards)
        else:
            last = min(last, room / towards)
    if first > last:
        return None
    begin = start if first == 0.0 else (x + first * dx, y + first * dy)
    finish = end if last == 1.0 else (x + last * dx, y + last * dy)
    return begin, finish


def draw(strokes: Sequence[Stroke], width: int, height: int) -> list[list[Cell]]:
    """The strokes on an empty canvas, rows from the top.

    Raises:
        KernelError: plotext cannot draw them.
    """
    if not strokes:
        return []
    plotext = _plotext()
    # It has no limits for one column or one row: the others are cut off again.
    across, up = max(2, width), max(2, height)
    try:
        with _IN_USE:
            rows = _cells(_build(plotext, strokes, across, up))
    except Exception as error:  # whatever a kernel that is not ours may raise
        raise KernelError(f"plotext has failed: {error}") from error
    if [len(row) for row in rows] != [across] * up:
        raise KernelError("plotext has drawn another size")
    return [row[:width] for row in rows[up - height :]]


@cache
def _plotext() -> Any:
    """The plotext module; imported by the first plot, as that takes 0.1 s."""
    try:
        import plotext
    except (ImportError, OSError) as error:  # its kernel is for another machine
        raise KernelError(f"plotext cannot be loaded: {error}") from error
    plotext.terminal.limit(False, False)
    return plotext


def _build(plotext: Any, strokes: Sequence[Stroke], width: int, height: int) -> Any:
    """Draw on a bare canvas whose unit is one cell; returns plotext's matrix of it."""
    figure = plotext.figure
    figure.clear()
    figure.theme("simple")
    figure.plot_size(width, height)
    figure.axes(False)
    figure.ruler((0, 1), (0, 1)).frequency(0)
    # Limits are the centres of the outermost cells.
    figure.ruler(0).lim(0.5, width - 0.5)
    figure.ruler(1).lim(0.5, height - 0.5)
    for stroke in strokes:
        x = [point[0] for part in stroke.parts for point in part]
        y = [point[1] for part in stroke.parts for point in part]
        pixel = plotext.pixel(foreground=stroke.color)
        marker = plotext.marker(stroke.marker, pixel=pixel)
        signal = figure.signal(x, y, marker=marker)
        signal.lines()
        start = 0
        for part in stroke.parts:
            signal.line(start, False)
            start += len(part)
        figure.draw(signal)
    return figure.build()


def _cells(matrix: Any) -> list[list[Cell]]:
    """The characters of a plotext matrix and, where one is drawn, its colour."""
    rows = matrix.string(colorless=True).split("\n")[: matrix.height()]
    return [
        [
            BLANK if char in EMPTY else (char, matrix.get(row, column).foreground())
            for column, char in enumerate(line)
        ]
        for row, line in enumerate(rows)
    ]
