"""Words and letters in a plot that stand where a value is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from jaxtui.plot.canvas import Cell, cells
from jaxtui.plot.strokes import Color

NUDGE = 3
"""Cells that a letter gives way to another one at its place."""

ASIDE = 12
"""Cells that a name gives way to letters."""


@dataclass(frozen=True)
class Spot:
    """A short text at a point; a letter that the text around the plot explains."""

    x: float
    y: float
    text: str
    color: Color | None = None
    where: Literal["at", "above"] = "at"
    """``at`` begins in the point's own cell; ``above`` ends there, over a line (or
    under it where no room is left above)."""


class Spots:
    """The cells of a canvas that texts have taken, so that none hides another."""

    def __init__(self, rows: list[list[Cell]]) -> None:
        """Take the canvas; rows come from the top."""
        self._rows = rows
        self._taken: set[tuple[int, int]] = set()

    def write(self, spot: Spot, column: int, height: int) -> None:
        """Write a text at a cell, counted from the left and from the bottom.

        A letter for which no cell is free hides another one; a name is left out.
        """
        text = cells(spot.text, spot.color)
        row = len(self._rows) - 1 - height
        tried = _above(row, column - len(text) + 1)
        if spot.where == "at":
            tried = _around(row, column)
        places = [place for place in tried if self._inside(place, len(text))]
        free = [place for place in places if not self._cells(place, len(text))]
        if spot.where == "at":
            free += places
        for row, start in free[:1]:
            self._rows[row][start : start + len(text)] = text
            self._taken |= {(row, start + by) for by in range(len(text))}

    def _inside(self, place: tuple[int, int], length: int) -> bool:
        row, start = place
        if not 0 <= row < len(self._rows):
            return False
        return start >= 0 and start + length <= len(self._rows[row])

    def _cells(self, place: tuple[int, int], length: int) -> set[tuple[int, int]]:
        """Those of a text at a place that are taken already."""
        row, start = place
        return self._taken & {(row, start + by) for by in range(length)}


def _around(row: int, column: int) -> Iterator[tuple[int, int]]:
    """The cell itself, then those beside it, the nearest first."""
    yield row, column
    for by in range(1, NUDGE + 1):
        yield row, column + by
        yield row, column - by


def _above(row: int, start: int) -> Iterator[tuple[int, int]]:
    """Over the line, further to the left where need be, and under it at worst."""
    for by in range(0, ASIDE + 1, 2):
        yield row - 1, start - by
    yield row + 1, start
