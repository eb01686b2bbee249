"""Plots as text: series in, lines of exactly the asked size out.

The only module that touches plotext, which draws the curves; frame, ticks, legend and
marks are laid out here, so that labels never overlap or get cut. plotext 6.1 aborts the
process on NaN and takes gigabytes for points far outside the limits, so it is given
finite points in units of cells, clipped to the canvas, thinned out, and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from jaxtui.plot import frame
from jaxtui.plot.axes import Axis, Scale, Tick, fit, ticks, usable
from jaxtui.plot.canvas import BLANK, Cell, line, parse, rasterize
from jaxtui.plot.strokes import (
    Color,
    Stroke,
    drawable,
    inside,
    middle,
    polylines,
)

PALETTE: tuple[Color, ...] = (
    (86, 180, 233),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (213, 94, 0),
    (150, 140, 240),
)
"""Colours of series that bring none: told apart by colour-blind eyes as well."""

_CURVES = ("braille", "hd", "+", "×", "=")
_CURVES_ASCII = ("*", "+", "x", "o", "=")
_POINTS = ("•", "◆", "▪", "▴", "×")
_POINTS_ASCII = ("o", "x", "#", "%", "@")
_SAMPLES = {"braille": "⠤⠤", "hd": "▄▄"}

_plotext_in_use = threading.Lock()
"""plotext's figure is global, and two threads in it raise KeyError."""


@dataclass(frozen=True)
class Series:
    """One curve."""

    label: str
    """Legend text; empty keeps the series out of the legend."""
    x: Sequence[float]
    y: Sequence[float]
    color: Color | None = None
    points: bool = False
    """Draw a dot at each point."""
    line: bool = True
    """Join the points; ``points=True, line=False`` is a scatter plot."""


@dataclass(frozen=True)
class Mark:
    """A straight dashed line across the plot, e.g. at a peak or a crossing."""

    at: float
    label: str = ""
    axis: Literal["x", "y"] = "x"
    """``x``: a vertical line at this x; ``y``: a horizontal one at this y."""
    color: Color | None = None


@dataclass(frozen=True)
class _Curve:
    """A series made ready: what its axes can show, and how it looks."""

    series: Series
    x: list[float]
    y: list[float]
    color: Color
    marker: str
    dot: str


@dataclass(frozen=True)
class _Space:
    """The rectangle of the curves: two scales and the cells that show them."""

    x: Scale
    y: Scale
    columns: int
    rows: int


def draw(
    series: Sequence[Series],
    *,
    width: int,
    height: int,
    x: Axis | None = None,
    y: Axis | None = None,
    title: str = "",
    color: bool = True,
    ascii: bool = False,  # noqa: A002
    marks: Sequence[Mark] = (),
) -> str:
    """Draw curves with their frame, ticks and legend.

    Args:
        series: What to draw; values that an axis cannot show are dropped.
        width: Cells of every line.
        height: Number of lines.
        x: The horizontal axis; its range is the data's unless limited.
        y: The vertical axis; its range is widened to round values unless limited.
        title: Put at the left of the first line.
        color: Colour by ANSI escape codes; without, curves differ by their marker.
        ascii: Use no character beyond ASCII, except those in labels.
        marks: Lines to draw across; those outside the limits are left out.

    Returns:
        ``height`` lines, each ``width`` cells wide, without a newline at the end.
    """
    if width < 1 or height < 1:
        return ""
    x, y = x or Axis(), y or Axis()
    curves = list(_curves(series, x, y, color, ascii))
    glyphs = frame.ASCII if ascii else frame.LINES
    rows = _picture(curves, marks, x, y, title, glyphs, width, height)
    return "\n".join(line(row, color) for row in rows)


def _curves(
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    color: bool,
    ascii: bool,  # noqa: A002
) -> Iterator[_Curve]:
    markers = _CURVES_ASCII if ascii else _CURVES[:1] if color else _CURVES
    dots = _POINTS_ASCII if ascii else _POINTS[:1] if color else _POINTS
    for index, one in enumerate(series):
        points = drawable(one.x, one.y, x.log, y.log)
        yield _Curve(
            one,
            [a for a, _ in points],
            [b for _, b in points],
            one.color or PALETTE[index % len(PALETTE)],
            markers[index % len(markers)],
            dots[index % len(dots)],
        )


def _picture(
    curves: Sequence[_Curve],
    marks: Sequence[Mark],
    x: Axis,
    y: Axis,
    title: str,
    glyphs: frame.Glyphs,
    width: int,
    height: int,
) -> list[list[Cell]]:
    """Share the size out between header, axes and canvas, and draw them."""
    entries = [_entry(curve) for curve in curves if curve.series.label]
    heading = " · ".join(part for part in (title, y.label) if part)
    above = 1 if height >= 4 and (heading or entries) else 0
    below = 2 if height >= 14 else 1 if height >= 3 else 0
    rows = height - above - below
    y_scale = fit((b for curve in curves for b in curve.y), y, padded=True)
    y_ticks = ticks(y_scale, y, rows, along=False)
    margin = frame.width_of(y_ticks)
    if width < margin + 9:
        margin, y_ticks = 0, []
    columns = width - margin - 1 if width >= 4 else width
    x_scale = fit((a for curve in curves for a in curve.x), x)
    body = _body(
        curves, marks, _Space(x_scale, y_scale, columns, rows), y_ticks, glyphs
    )
    top = [frame.header(heading, entries, width)] if above else []
    if width < 4:
        return top + body + [[BLANK] * width] * below
    x_ticks = ticks(x_scale, x, columns, along=True)
    bottom = frame.footer(x_ticks, x.label, columns, below, glyphs)
    sides = frame.sides(body, y_ticks, margin, glyphs)
    return top + sides + [[BLANK] * margin + row for row in bottom]


def _entry(curve: _Curve) -> frame.Entry:
    sample = _SAMPLES.get(curve.marker, curve.marker * 2)
    if not curve.series.line:
        sample = curve.dot
    return frame.Entry(sample, curve.series.label, curve.color)


def _body(
    curves: Sequence[_Curve],
    marks: Sequence[Mark],
    space: _Space,
    y_ticks: Sequence[Tick],
    glyphs: frame.Glyphs,
) -> list[list[Cell]]:
    """The canvas: grid and marks, the curves over them, the marks' labels last."""
    rows = [[BLANK] * space.columns for _ in range(space.rows)]
    frame.grid(rows, y_ticks, glyphs)
    marked = [(mark, cell) for mark in marks for cell in _cell(mark, space)]
    for mark, cell in marked:
        rule = frame.vertical if mark.axis == "x" else frame.horizontal
        rule(rows, cell, mark.color, glyphs)
    strokes = [stroke for stroke in _strokes(curves, space) if stroke.parts]
    drawn = _drawn(strokes, space.columns, space.rows)
    for row, over in zip(rows, drawn, strict=True):
        for column, cell_over in enumerate(over):
            if cell_over[0] not in " ⠀":
                row[column] = cell_over
    for mark, cell in marked:
        name = frame.name_vertical if mark.axis == "x" else frame.name_horizontal
        name(rows, cell, mark.label)
    return rows


def _cell(mark: Mark, space: _Space) -> Iterator[int]:
    """The mark's column, or its row from the bottom; nothing if outside the limits."""
    vertical = mark.axis == "x"
    scale, count = (space.x, space.columns) if vertical else (space.y, space.rows)
    if usable(mark.at, scale.log) and 0 <= scale.at(mark.at) <= 1:
        yield int(scale.cells((mark.at,), count)[0])


def _strokes(curves: Sequence[_Curve], space: _Space) -> Iterator[Stroke]:
    """What to draw, clipped and thinned out: all lines, then the dots over them."""
    size = space.columns, space.rows
    dots = []
    for curve in curves:
        x = space.x.cells(curve.x, space.columns)
        points = list(zip(x, space.y.cells(curve.y, space.rows), strict=True))
        if curve.series.line:
            yield Stroke(polylines(points, *size), curve.marker, curve.color)
        if curve.series.points or len(points) == 1:
            places = {middle(point, *size) for point in points if inside(point, *size)}
            parts = [[place] for place in sorted(places)]
            dots.append(Stroke(parts, curve.dot, curve.color))
    yield from dots


def _drawn(strokes: Sequence[Stroke], width: int, height: int) -> list[list[Cell]]:
    """The strokes on an empty canvas, by plotext if possible."""
    plotext = _plotext()
    if plotext is None or not strokes or width < 2 or height < 2:
        return rasterize(strokes, width, height)
    try:
        with _plotext_in_use:
            rows = parse(_plotext_text(plotext, strokes, width, height))[:height]
    except Exception:  # A kernel and a parser not ours: a plainer plot beats none.
        return rasterize(strokes, width, height)
    if [len(row) for row in rows] != [width] * height:
        return rasterize(strokes, width, height)
    return rows


@cache
def _plotext() -> Any:
    """The plotext module, or ``None``; imported on first use, as that takes 0.1 s."""
    try:
        import plotext
    except (ImportError, OSError):  # OSError: its kernel is for another machine
        return None
    plotext.terminal.limit(False, False)
    return plotext


def _plotext_text(
    plotext: Any, strokes: Sequence[Stroke], width: int, height: int
) -> str:
    """Draw with plotext on a bare canvas whose unit is one cell."""
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
    return str(figure.build().string())
