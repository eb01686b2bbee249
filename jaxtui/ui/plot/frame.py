"""The surroundings of the curves: frame, ticks, grid, bars, marks, names and
letters.

A canvas is rows of cells, from the top; a height counts from the lowest row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from jaxtui.ui.plot.axes import Tick
from jaxtui.ui.plot.cells import BLANK, Cell, Color, cells
from jaxtui.ui.plot.series import Spot
from jaxtui.ui.plot.strokes import Point

MUTED: Color = (128, 128, 128)
"""The frame and the grid; readable on black and on white."""

LETTER_REACH = 3
"""Cells that a letter gives way to another one at its place."""

NAME_REACH = 12
"""Cells that a name gives way to letters."""

Canvas = list[list[Cell]]


GRID = "┈"
ACROSS = "╌"
"""A mark's horizontal line."""
UPRIGHT = "┆"
"""A mark's vertical line."""
CURSOR = "│"
"""The line at the place whose values are read off."""
LEVELS = "▁▂▃▄▅▆▇█"
"""A bar's last cell, by how full it is."""


def sides(canvas: Canvas, ticks: Sequence[Tick], margin: int) -> Canvas:
    """The canvas with the vertical axis and its labels, ``margin`` wide, before it."""
    labels = {len(canvas) - 1 - tick.cell: tick.label for tick in ticks}
    framed = []
    for index, row in enumerate(canvas):
        label = labels.get(index)
        rule = "│" if label is None else "┤"
        framed.append([*cells((label or "").rjust(margin)), (rule, MUTED), *row])
    return framed


FEWEST_LABELS = 2
"""The fewest labels of an axis: more of them give way to its name."""


APART = 4
"""Cells that a gap has beside the name of the axis, so that it belongs to no label."""


def footer(ticks: Sequence[Tick], name: str, columns: int, lines: int) -> Canvas:
    """The horizontal axis: labels in the rule, or under it where two lines are free.

    Its name stands at the right end, or else in the widest gap between two labels; the
    last labels give way to it where there is neither.
    """
    if lines == 0:
        return []
    rule: list[Cell] = [("└", MUTED), *([("─", MUTED)] * columns)]
    labels = rule if lines == 1 else [BLANK] * (columns + 1)
    if lines == 2:
        for tick in ticks:
            rule[1 + tick.cell] = ("┬", MUTED)
    text = cells(name, MUTED)
    start = _start(ticks, len(text), columns)
    while start is None and len(ticks) > FEWEST_LABELS:
        ticks = ticks[:-1]
        start = _start(ticks, len(text), columns)
    for tick in ticks:
        labels[1 + tick.start : 1 + tick.start + len(tick.label)] = cells(tick.label)
    if name and start is not None:
        labels[start - 1 : start + len(text)] = [BLANK, *text]
        if start + len(text) <= columns:
            labels[start + len(text)] = BLANK
    return [rule] if lines == 1 else [rule, labels]


def _start(ticks: Sequence[Tick], width: int, columns: int) -> int | None:
    """Return the column at which a text fits between the labels of ticks."""
    begins = [1 + tick.start for tick in ticks]
    ends = [1 + tick.start + len(tick.label) for tick in ticks]
    if columns - width > max(ends, default=0):
        return columns + 1 - width
    gaps = zip(ends, begins[1:], strict=False)
    begin, end = max(gaps, key=lambda gap: gap[1] - gap[0], default=(0, 0))
    return (begin + end - width) // 2 if end - begin >= width + APART else None


def grid(canvas: Canvas, ticks: Sequence[Tick]) -> None:
    for tick in ticks:
        row = canvas[len(canvas) - 1 - tick.cell]
        for column in range(3, len(row), 4):
            row[column] = (GRID, MUTED)


def upright(canvas: Canvas, column: int, cell: Cell) -> None:
    """Draw a line from bottom to top, behind the bars."""
    for row in canvas:
        if row[column][0] not in LEVELS:
            row[column] = cell


def across(canvas: Canvas, height: int, cell: Cell) -> None:
    row = canvas[len(canvas) - 1 - height]
    row[:] = [cell] * len(row)


# Bars from the foot: a distribution, one bar per bin.


def bar_heights(points: Sequence[Point], columns: int) -> list[float]:
    """Return the height of every column in rows; 0 where no bar stands.

    Bars are equally wide and touch; a column is filled as high as the nearest bar.

    Args:
        points: middle and height of each bar, in cells of the canvas; an empty bin has
            the height 0.
        columns: of the canvas.
    """
    middles = sorted(x for x, _ in points)
    # The widest gap: places are rounded to parts of a cell, and bars touch.
    reach = max([1.0, *(b - a for a, b in pairwise(middles))]) / 2
    heights = [0.0] * columns
    for column in range(columns if points else 0):
        x, y = min(points, key=lambda point: abs(point[0] - column - 0.5))
        if abs(x - column - 0.5) <= reach:
            heights[column] = y
    return heights


def bars(canvas: Canvas, heights: Sequence[float], color: Color | None) -> None:
    """Fill every column up to its height, the last cell in eighths."""
    for column, height in enumerate(heights):
        full = min(math.floor(height), len(canvas))
        for row in range(full):
            canvas[len(canvas) - 1 - row][column] = (LEVELS[-1], color)
        part = math.ceil((height - full) * len(LEVELS))
        if part > 0 and full < len(canvas):
            canvas[len(canvas) - 1 - full][column] = (LEVELS[part - 1], color)


# Names: of marks and, at the right, of curves. None hides anything.

_BACKGROUND = {" ", GRID, ACROSS}


def name_upright(canvas: Canvas, column: int, label: str) -> None:
    """Write a vertical line's label beside it, in the first row with room for it."""
    text = cells(f" {label} ") if label else []
    starts = (column + 1, column - len(text))
    _write(
        canvas, text, ((row, start) for row in range(len(canvas)) for start in starts)
    )


def name_across(canvas: Canvas, height: int, label: str) -> None:
    """Write a horizontal line's label into it, or else into the row below or above."""
    text = cells(f" {label} ") if label else []
    middle = len(canvas) - 1 - height
    rows = (middle, middle + 1, middle - 1)
    starts = (len(canvas[0]) - len(text) - 1, 1)
    _write(canvas, text, ((row, start) for row in rows for start in starts))


def names_beside(
    ends: Sequence[tuple[int, str, Color | None]], rows: int, room: int
) -> Canvas:
    """Columns at the right of a canvas: each curve's name at the height of its end.

    The highest comes first.
    """
    beside: Canvas = [[BLANK] * room for _ in range(rows)]
    free = 0
    for number, (height, label, color) in enumerate(ends):
        after = len(ends) - number - 1
        row = min(max(rows - 1 - height, free), rows - 1 - after)
        if 0 <= row < rows:
            text = cells(f" {label}", color)[:room]
            beside[row][: len(text)] = text
        free = row + 1
    return beside


def _write(canvas: Canvas, text: list[Cell], places: Iterable[tuple[int, int]]) -> None:
    """Write at the first place where nothing but background stands."""
    for place, start in places:
        if not 0 <= place < len(canvas) or start < 0:
            continue
        row = canvas[place]
        end = start + len(text)
        if end <= len(row) and all(char in _BACKGROUND for char, _ in row[start:end]):
            row[start:end] = text
            return


# Letters and texts at points.


def spots(canvas: Canvas, placed: Iterable[tuple[Spot, int, int]]) -> None:
    """Write texts so that none hides another.

    A letter for which no cell is free hides another one; a name is left out.
    """
    occupied: set[tuple[int, int]] = set()
    for spot, column, height in placed:
        text = cells(spot.text, spot.color)
        middle = len(canvas) - 1 - height
        tried = _around(middle, column)
        if spot.where == "above":
            tried = _above(middle, column - len(text) + 1)
        places = [
            (row, start)
            for row, start in tried
            if 0 <= row < len(canvas) and 0 <= start <= len(canvas[row]) - len(text)
        ]
        free = [
            (row, start)
            for row, start in places
            if not occupied & {(row, start + by) for by in range(len(text))}
        ]
        if spot.where == "at":
            free += places
        for row, start in free[:1]:
            canvas[row][start : start + len(text)] = text
            occupied |= {(row, start + by) for by in range(len(text))}


def _around(row: int, column: int) -> Iterator[tuple[int, int]]:
    """The cell itself, then those beside it, the nearest first."""
    yield row, column
    for by in range(1, LETTER_REACH + 1):
        yield row, column + by
        yield row, column - by


def _above(row: int, start: int) -> Iterator[tuple[int, int]]:
    """Over the line, further to the left where need be, and under it at worst."""
    for by in range(0, NAME_REACH + 1, 2):
        yield row - 1, start - by
    yield row + 1, start
