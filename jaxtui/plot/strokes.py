"""Curves as lines on a canvas: thinned out, clipped, and simplified to its dots.

Points on the canvas are in cells: x from the left, y from the bottom.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from jaxtui.plot.axes import LARGEST, Axis, fit, lowest

Color = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Stroke:
    """A curve in cells (x from the left, y from the bottom), inside the canvas."""

    parts: Sequence[Sequence[Point]]
    """Polylines; one of a single point is a dot."""
    marker: str
    """``braille``, ``hd`` (quarter blocks) or the one character to draw with."""
    color: Color | None = None


def polylines(points: Sequence[Point], width: int, height: int) -> list[list[Point]]:
    """A curve as what has to be drawn of it: thinned out, clipped, straightened."""
    return [straighten(part) for part in clip(thin(points, width), width, height)]


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


def inside(point: Point, width: int, height: int) -> bool:
    """Whether a point lies on the canvas, its edges included."""
    return 0 <= point[0] <= width and 0 <= point[1] <= height


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


def middle(point: Point, width: int, height: int) -> Point:
    """The centre of the cell that a point of the canvas lies in."""
    x, y = math.floor(point[0]), math.floor(point[1])
    return min(x, width - 1) + 0.5, min(y, height - 1) + 0.5


def drawable(
    x: Sequence[float], y: Sequence[float], x_log: bool = False, y_log: bool = False
) -> list[Point]:
    """The pairs of which both values can be drawn on such axes."""
    left, low, most = lowest(x_log), lowest(y_log), LARGEST
    pairs = zip(x, y, strict=False)
    return [(a, b) for a, b in pairs if left <= a <= most and low <= b <= most]


def envelope(
    x: Sequence[float], y: Sequence[float], columns: int
) -> tuple[list[float], list[float]]:
    """Thin a curve out to the lowest and the highest point of every column.

    Args:
        x: Any floats; a curve that has to be thinned out is sorted by them.
        y: As many floats; pairs that are not finite are dropped.
        columns: Number of equally wide columns between the smallest and largest x.

    Returns:
        At most ``2 * columns`` points, in the order of x, with every extreme kept.
    """
    points = drawable(x, y)
    if len(points) > 2 * columns:
        points.sort(key=itemgetter(0))
        scale = fit((points[0][0], points[-1][0]), Axis())
        places = scale.cells((a for a, _ in points), columns)
        points = [points[i] for i in _extremes(places, points, columns)]
    return [a for a, _ in points], [b for _, b in points]


def thin(points: Sequence[Point], columns: int) -> list[Point]:
    """The same for points in cells, of which many may lie beside the canvas."""
    if len(points) <= 2 * columns:
        return list(points)
    ordered = sorted(points, key=itemgetter(0))
    places = [max(-1.0, min(float(columns), x)) for x, _ in ordered]
    return [ordered[i] for i in _extremes(places, ordered, columns)]


def _extremes(
    places: Sequence[float], points: Sequence[Point], columns: int
) -> Iterator[int]:
    """Indices of the points to keep; ``places`` are ascending and in columns."""
    cells = [math.floor(place) for place in places]
    start = 0
    for cell, group in groupby(cells):
        stop = start + len(list(group))
        heights = [y for _, y in points[start:stop]]
        if 0 <= cell < columns:
            low = start + heights.index(min(heights))
            high = start + heights.index(max(heights))
            yield from sorted({low, high})
        else:  # Beside the canvas only the way into it counts.
            yield from sorted({start, stop - 1})
        start = stop


def straighten(points: Sequence[Point]) -> list[Point]:
    """Without the points inside level runs, which draw the same dots of braille."""
    kept = list(points[:1])
    for before, point, after in zip(points, points[1:], points[2:], strict=False):
        level = {math.floor(4 * y) for _, y in (before, point, after)}
        if len(level) > 1 or not before[0] <= point[0] <= after[0]:
            kept.append(point)
    return [*kept, *points[-1:]] if len(points) > 1 else kept
