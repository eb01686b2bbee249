"""What surrounds the curves of a plot: frame, ticks, grid, marks and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtui.plot.axes import Tick
from jaxtui.plot.canvas import BLANK, Cell, cells, narrow
from jaxtui.plot.strokes import Color

MUTED: Color = (128, 128, 128)
"""The frame and the grid; readable on black and on white."""


@dataclass(frozen=True)
class Glyphs:
    """The characters of a frame."""

    side: str
    tick: str
    corner: str
    base: str
    below: str
    grid: str
    across: str
    """A mark's horizontal line."""
    upright: str
    """A mark's vertical line."""
    cursor: str
    """The line at the place whose values are read off."""
    levels: str
    """A bar's last cell, by how full it is."""


LINES = Glyphs("│", "┤", "└", "─", "┬", "┈", "╌", "┆", "│", "▁▂▃▄▅▆▇█")
ASCII = Glyphs("|", "+", "+", "-", "+", ".", "-", ":", "|", "#")


def sides(
    rows: Sequence[Sequence[Cell]], ticks: Sequence[Tick], margin: int, glyphs: Glyphs
) -> list[list[Cell]]:
    """The canvas with the vertical axis and its labels, ``margin`` wide, before it."""
    labels = {len(rows) - 1 - tick.cell: tick.label for tick in ticks}
    framed = []
    for index, row in enumerate(rows):
        label = labels.get(index)
        rule = glyphs.side if label is None else glyphs.tick
        framed.append([*cells((label or "").rjust(margin)), (rule, MUTED), *row])
    return framed


def footer(
    ticks: Sequence[Tick], name: str, columns: int, lines: int, glyphs: Glyphs
) -> list[list[Cell]]:
    """The horizontal axis: labels in the rule, or under it where two lines are free.

    Args:
        ticks: Where the labels go.
        name: What the axis shows; written at the right end where there is room.
        columns: Cells of the canvas; the rows are one longer, for the corner.
        lines: 0, 1 or 2.
        glyphs: The characters to draw with.
    """
    if lines == 0:
        return []
    rule: list[Cell] = [(glyphs.corner, MUTED), *([(glyphs.base, MUTED)] * columns)]
    labels = rule if lines == 1 else [BLANK] * (columns + 1)
    used = 0
    for tick in ticks:
        if lines == 2:
            rule[1 + tick.cell] = (glyphs.below, MUTED)
        text = cells(tick.label)
        labels[1 + tick.start : 1 + tick.start + len(text)] = text
        used = 1 + tick.start + len(text)
    text = [BLANK, *cells(name, MUTED)]
    if name and used + 2 + len(text) <= columns + 1:
        labels[columns + 1 - len(text) :] = text
    return [rule] if lines == 1 else [rule, labels]


def grid(rows: list[list[Cell]], ticks: Sequence[Tick], glyphs: Glyphs) -> None:
    """Dot the canvas at the height of each tick."""
    for tick in ticks:
        row = rows[len(rows) - 1 - tick.cell]
        for column in range(3, len(row), 4):
            row[column] = (glyphs.grid, MUTED)


def vertical(
    rows: list[list[Cell]], column: int, color: Color | None, glyphs: Glyphs
) -> None:
    """Draw a line from bottom to top."""
    for row in rows:
        row[column] = (glyphs.upright, color or MUTED)


def cursor(rows: list[list[Cell]], column: int, glyphs: Glyphs) -> None:
    """Draw the line at which values are read off."""
    for row in rows:
        row[column] = (glyphs.cursor, None)


def horizontal(
    rows: list[list[Cell]], height: int, color: Color | None, glyphs: Glyphs
) -> None:
    """Draw a line from left to right, ``height`` rows above the lowest."""
    row = rows[len(rows) - 1 - height]
    row[:] = [(glyphs.across, color or MUTED)] * len(row)


def name_vertical(rows: list[list[Cell]], column: int, label: str) -> None:
    """Write a vertical line's label beside it, in the first row with room for it."""
    text = cells(f" {label} ") if label else []
    for row in rows:
        for start in (column + 1, column - len(text)):
            if _free(row, start, len(text)):
                row[start : start + len(text)] = text
                return


def name_horizontal(rows: list[list[Cell]], height: int, label: str) -> None:
    """Write a horizontal line's label into it, or else into the row below or above."""
    text = cells(f" {label} ") if label else []
    middle = len(rows) - 1 - height
    for row in (
        rows[i] for i in (middle, middle + 1, middle - 1) if 0 <= i < len(rows)
    ):
        for start in (len(row) - len(text) - 1, 1):
            if _free(row, start, len(text)):
                row[start : start + len(text)] = text
                return


def name_end(
    rows: list[list[Cell]],
    column: int,
    height: int,
    label: str,
    color: Color | None,
    *,
    above: bool,
) -> None:
    """Write a curve's label where it ends: after it, or else close above or below.

    Args:
        rows: the canvas with all curves.
        column: of the curve's last point.
        height: its row, counted from the lowest.
        label: left out where there is no room within three rows.
        color: of the label.
        above: try the rows above before those below.
    """
    text = [BLANK, *cells(label, color), BLANK]
    middle = len(rows) - 1 - height
    way = -1 if above else 1
    for distance in (0, way, -way, 2 * way, -2 * way, 3 * way, -3 * way):
        if not 0 <= middle + distance < len(rows):
            continue
        row = rows[middle + distance]
        for start in (column + 1, column + 1 - len(text)):
            if _free(row, start, len(text)):
                row[start : start + len(text)] = text
                return


_OVERWRITTEN = {" ", LINES.grid, ASCII.grid, LINES.across, ASCII.across}


def _free(row: Sequence[Cell], start: int, length: int) -> bool:
    """Whether nothing but background stands there."""
    if start < 0 or start + length > len(row):
        return False
    return all(char in _OVERWRITTEN for char, _ in row[start : start + length])


def width_of(ticks: Sequence[Tick]) -> int:
    """Cells that the widest label takes."""
    return max((len(narrow(tick.label)) for tick in ticks), default=0)
