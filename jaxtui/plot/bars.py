"""Bars from the foot of a plot: a distribution, one bar per bin."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from jaxtui.plot.canvas import Cell
from jaxtui.plot.strokes import Color, Point


def heights(points: Sequence[Point], columns: int) -> list[float]:
    """How high every column is filled, in rows; 0 where no bar stands.

    Bars are equally wide and touch. Where several share a column, the highest is seen.

    Args:
        points: middle and height of each bar, in cells of the canvas; an empty bin has
            the height 0.
        columns: of the canvas.
    """
    points = sorted(points)
    middles = [x for x, _ in points]
    reach = min((b - a for a, b in pairwise(middles) if b > a), default=2.0) / 2
    found = [0.0] * columns
    for column in range(columns if points else 0):
        first, last = bisect_left(middles, column), bisect_left(middles, column + 1)
        inside = [y for _, y in points[first:last]]
        near = points[max(0, first - 1) : last + 1]
        x, y = min(near, key=lambda point: abs(point[0] - column - 0.5))
        if not inside and abs(x - column - 0.5) <= reach:
            inside = [y]
        found[column] = max(inside, default=0.0)
    return found


def fill(
    rows: list[list[Cell]], filled: Sequence[float], color: Color | None, levels: str
) -> None:
    """Fill every column up to its height, the last cell in eighths where possible.

    Args:
        rows: the canvas, from the top.
        filled: rows from the foot, by column.
        color: of the bars.
        levels: characters of a cell that is filled more and more; the last is full.
    """
    for column, height in enumerate(filled):
        full = min(math.floor(height), len(rows))
        for row in range(full):
            rows[len(rows) - 1 - row][column] = (levels[-1], color)
        part = math.ceil((height - full) * len(levels))
        if part > 0 and full < len(rows):
            rows[len(rows) - 1 - full][column] = (levels[part - 1], color)
