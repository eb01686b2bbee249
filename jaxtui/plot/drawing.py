"""Plots as text: series in, lines of exactly the asked size out.

Frame, ticks, legend and marks are laid out here, so that labels never overlap or get
cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxtui.plot import bars, frame, header, kernel
from jaxtui.plot.axes import Axis, Scale, Tick, fit, ticks, usable
from jaxtui.plot.canvas import BLANK, Cell, line
from jaxtui.plot.series import Curve, Mark, Series, entry
from jaxtui.plot.series import curves as curves_of
from jaxtui.plot.spots import Spot, Spots
from jaxtui.plot.strokes import (
    Stroke,
    inside,
    middle,
    polylines,
)
from jaxtui.text import Painted


@dataclass(frozen=True)
class _Space:
    """The rectangle of the curves: two scales and the cells that show them."""

    x: Scale
    y: Scale
    columns: int
    rows: int


@dataclass(frozen=True)
class _Layout:
    """How a plot's size is shared out between header, axes and curves."""

    heading: str
    entries: list[header.Entry]
    """One for each series."""
    above: int
    """Lines of the header."""
    below: int
    """Lines of the horizontal axis."""
    margin: int
    """Cells of the vertical axis' labels."""
    space: _Space
    y_ticks: list[Tick]


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
    spots: Sequence[Spot] = (),
    readable: bool = False,
    cursor: float | None = None,
    reading: header.Reading | None = None,
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
        spots: Texts at points; those outside the limits are left out.
        readable: Keep room in the header for ``reading``.
        cursor: Draw a line from bottom to top at this x.
        reading: What stands in the header instead of title and legend.

    Returns:
        ``height`` lines, each ``width`` cells wide, without a newline at the end.
    """
    if width < 1 or height < 1:
        return ""
    x, y = x or Axis(), y or Axis()
    curves = list(curves_of(series, x, y, color, ascii))
    glyphs = frame.ASCII if ascii else frame.LINES
    layout = _layout(curves, x, y, title, width, height, readable, glyphs)
    rows = _top(layout, width, reading)
    body = _body(curves, marks, spots, cursor, layout, glyphs)
    if width < 4:
        rows += [*body, *([[BLANK] * width] * layout.below)]
    else:
        columns = layout.space.columns
        x_ticks = ticks(layout.space.x, x, columns, along=True)
        bottom = frame.footer(x_ticks, x.label, columns, layout.below, glyphs)
        rows += frame.sides(body, layout.y_ticks, layout.margin, glyphs)
        rows += [[BLANK] * layout.margin + row for row in bottom]
    return Painted("\n".join(line(row, color) for row in rows))


def columns_of(
    values: Sequence[float],
    series: Sequence[Series],
    *,
    width: int,
    height: int,
    x: Axis,
    y: Axis,
    title: str = "",
) -> list[int]:
    """The columns, from 0 at the left of the plot, in which values of x lie.

    Values outside of the limits have a column outside of the plot.

    Args:
        values: Any floats; those that the axis cannot show get the column -1.
        series: As for ``draw``, like all that follows.
        width: Cells of every line.
        height: Number of lines.
        x: The horizontal axis.
        y: The vertical axis.
        title: Put at the left of the first line.
    """
    if width < 1 or height < 1:
        return [-1] * len(values)
    curves = list(curves_of(series, x, y, True, False))
    layout = _layout(curves, x, y, title, width, height, True, frame.LINES)
    left = layout.margin + 1 if width >= 4 else 0
    scale = layout.space.x
    return [
        left + int(scale.cells((value,), layout.space.columns)[0])
        if usable(value, scale.log)
        else -1
        for value in values
    ]


def _layout(
    curves: Sequence[Curve],
    x: Axis,
    y: Axis,
    title: str,
    width: int,
    height: int,
    readable: bool,
    glyphs: frame.Glyphs,
) -> _Layout:
    """Share the size out between header, axes and canvas."""
    entries = [entry(curve, glyphs) for curve in curves]
    heading = " · ".join(part for part in (title, y.label) if part)
    above = 0
    if height >= 4:
        above = header.lines_for(heading, entries, width, readable=readable)
        above = min(above, header.most_lines(height))
    below = 2 if height >= 14 else 1 if height >= 3 else 0
    rows = height - above - below
    y_scale = fit((b for curve in curves for b in curve.y), y, padded=True)
    y_ticks = ticks(y_scale, y, rows, along=False)
    margin = frame.width_of(y_ticks)
    if width < margin + 9:
        margin, y_ticks = 0, []
    columns = width - margin - 1 if width >= 4 else width
    x_scale = fit((a for curve in curves for a in curve.x), x)
    space = _Space(x_scale, y_scale, columns, rows)
    return _Layout(heading, entries, above, below, margin, space, y_ticks)


def _top(
    layout: _Layout, width: int, reading: header.Reading | None
) -> list[list[Cell]]:
    if not layout.above:
        return []
    if reading is not None:
        return header.readout(reading, layout.entries, width, layout.above)
    return header.header(layout.heading, layout.entries, width, layout.above)


def _body(
    curves: Sequence[Curve],
    marks: Sequence[Mark],
    spots: Sequence[Spot],
    cursor: float | None,
    layout: _Layout,
    glyphs: frame.Glyphs,
) -> list[list[Cell]]:
    """The canvas: grid, bars and lines, the curves over them, the names last."""
    space = layout.space
    rows = [[BLANK] * space.columns for _ in range(space.rows)]
    frame.grid(rows, layout.y_ticks, glyphs)
    for curve in curves:
        if curve.series.bars:
            filled = bars.heights(_feet(curve, space), space.columns)
            bars.fill(rows, filled, curve.color, glyphs.levels)
    marked = [(mark, cell) for mark in marks for cell in _cell(mark, space)]
    for mark, cell in marked:
        rule = frame.vertical if mark.axis == "x" else frame.horizontal
        rule(rows, cell, mark.color, glyphs)
    for cell in _cell(Mark(cursor), space) if cursor is not None else ():
        frame.cursor(rows, cell, glyphs)
    strokes = [stroke for stroke in _strokes(curves, space) if stroke.parts]
    drawn = kernel.drawn(strokes, space.columns, space.rows)
    for row, over in zip(rows, drawn, strict=True):
        for column, cell_over in enumerate(over):
            if cell_over[0] not in " ⠀":
                row[column] = cell_over
    _write(rows, spots, space)
    for mark, cell in marked:
        name = frame.name_vertical if mark.axis == "x" else frame.name_horizontal
        name(rows, cell, mark.label)
    _name_ends(rows, curves, space)
    return rows


def _write(rows: list[list[Cell]], spots: Sequence[Spot], space: _Space) -> None:
    """Write texts at their points."""
    writer = Spots(rows)
    for spot in spots:
        across = _cell(Mark(spot.x), space)
        up = _cell(Mark(spot.y, axis="y"), space)
        for column, height in zip(across, up, strict=False):
            writer.write(spot, column, height)


def _feet(curve: Curve, space: _Space) -> list[tuple[float, float]]:
    """Middle and height of every bar, in cells; a bin with nothing in it has no bar."""
    x = space.x.cells(curve.x, space.columns)
    y = space.y.cells(curve.y, space.rows)
    return [
        (at, max(0.0, high) if value > 0 else 0.0)
        for at, high, value in zip(x, y, curve.y, strict=True)
    ]


def _name_ends(rows: list[list[Cell]], curves: Sequence[Curve], space: _Space) -> None:
    """Write the names of curves where they end, the highest end first."""
    ends = []
    for curve in curves:
        if curve.series.named and curve.series.label and curve.x:
            x = space.x.cells(curve.x[-1:], space.columns)[0]
            y = space.y.cells(curve.y[-1:], space.rows)[0]
            if inside((x, y), space.columns, space.rows):
                ends.append((min(int(y), space.rows - 1), int(x), curve))
    ends.sort(key=lambda end: end[0], reverse=True)
    for place, (height, column, curve) in enumerate(ends):
        label, color = curve.series.label, curve.color
        frame.name_end(rows, column, height, label, color, above=place == 0)


def _cell(mark: Mark, space: _Space) -> Iterator[int]:
    """The mark's column, or its row from the bottom; nothing if outside the limits."""
    vertical = mark.axis == "x"
    scale, count = (space.x, space.columns) if vertical else (space.y, space.rows)
    if usable(mark.at, scale.log) and 0 <= scale.at(mark.at) <= 1:
        yield int(scale.cells((mark.at,), count)[0])


def _strokes(curves: Sequence[Curve], space: _Space) -> Iterator[Stroke]:
    """What to draw, clipped and thinned out: all lines, then the dots over them."""
    size = space.columns, space.rows
    dots = []
    for curve in curves:
        if curve.series.bars:
            continue
        x = space.x.cells(curve.x, space.columns)
        points = list(zip(x, space.y.cells(curve.y, space.rows), strict=True))
        if curve.series.line:
            yield Stroke(polylines(points, *size), curve.marker, curve.color)
        if curve.series.points or len(points) == 1:
            places = {middle(point, *size) for point in points if inside(point, *size)}
            parts = [[place] for place in sorted(places)]
            dots.append(Stroke(parts, curve.dot, curve.color))
    yield from dots
