"""A plot: curves with frame, ticks, names and marks, in cells of exactly a size.

Everything is laid out here, so that labels never overlap or get cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from jaxtui.ui.plot import frame, strokes
from jaxtui.ui.plot.axes import Axis, Scale, Tick, fit, ticks, usable
from jaxtui.ui.plot.cells import BLANK, Cell, Color, Row, cells, narrow, paint, row
from jaxtui.ui.plot.readout import Reading, fitted, readout
from jaxtui.ui.plot.series import Curve, Mark, Series, Spot, curves_of
from jaxtui.ui.plot.strokes import Stroke

HEIGHT = 16
"""Lines of a plot that a command prints: with a table above it still fits a small
terminal."""

WIDEST = 120
"""Columns of such a plot; wider only stretches the same points."""

COLORS: tuple[Color, ...] = (
    (0, 160, 200),
    (220, 150, 0),
    (60, 170, 80),
    (220, 90, 170),
    (120, 120, 240),
    (150, 150, 60),
)
"""The colours of the curves: distinct on a dark and on a light background."""

SERIES = {"device": 0, "host": 1, "numpy": 2, "eager": 3, "jit": 4}
"""The places of the colours that mean the same everywhere, in ``COLORS`` and in the
themes; the last is for whatever else there is."""

SPAN = "┃"
"""The character of interval bars: heavier than a cursor or a mark."""

_FEWEST = 30
"""Cells below which there is no room for names beside the curves."""

_FITTED = Axis()


class _Layout(msgspec.Struct, frozen=True):
    """The layout of a plot: title, axes and canvas."""

    curves: list[Curve]
    above: int
    """Lines of the title."""
    below: int
    """Lines of the horizontal axis."""
    margin: int
    """Cells of the vertical axis' labels."""
    columns: int
    rows: int
    """The rows of the canvas."""
    beside: int
    """Cells at the right of the canvas, for the names of curves."""
    x: Scale
    y: Scale
    y_ticks: list[Tick]

    def points(self, curve: Curve) -> list[tuple[float, float]]:
        x = self.x.cells(curve.x, self.columns)
        return list(zip(x, self.y.cells(curve.y, self.rows), strict=True))

    def spans(self, curve: Curve) -> list[list[strokes.Point]]:
        """The upright bars of a curve, as far as they lie on the canvas."""
        if not curve.spans:
            return []
        x, low, high = zip(*curve.spans, strict=True)
        places = self.x.cells(x, self.columns)
        ends = self.y.cells(low, self.rows), self.y.cells(high, self.rows)
        bars = zip(places, *ends, strict=True)
        pieces = (
            strokes.clip([(x, start), (x, end)], self.columns, self.rows)
            for x, start, end in bars
        )
        return [part for piece in pieces for part in piece]

    def cell(self, value: float, axis: Literal["x", "y"] = "x") -> int | None:
        """Return its column, or its row from the lowest; ``None`` outside."""
        scale, count = (self.x, self.columns) if axis == "x" else (self.y, self.rows)
        if usable(value, scale.log) and 0 <= scale.at(value) <= 1:
            return int(scale.cells((value,), count)[0])
        return None

    def strokes(self) -> list[Stroke]:
        """Return the strokes, clipped: all lines, then bars and dots over them."""
        lines, bars, dots = [], [], []
        for curve in self.curves:
            if curve.series.bars:
                continue
            points, size = self.points(curve), (self.columns, self.rows)
            if curve.series.specks:
                fits = len(points) <= self.columns
                marker, cell = (curve.dot, (1, 1)) if fits else ("braille", (2, 4))
                parts = strokes.dots(points, *size, *cell)
                lines.append(Stroke(parts, marker, curve.color))
                continue
            if curve.series.line:
                parts = [*strokes.clip(points, *size)]
                lines.append(Stroke(parts, "braille", curve.color))
            bars.append(Stroke(self.spans(curve), SPAN, curve.color))
            if curve.series.points or len(points) == 1:
                dots.append(Stroke(strokes.dots(points, *size), curve.dot, curve.color))
        return [stroke for stroke in (*lines, *bars, *dots) if stroke.parts]

    def ends(self) -> list[tuple[int, Curve]]:
        """The heights at which curves with a name end, from above."""
        ends = []
        for curve in self.curves:
            if curve.series.label and curve.x:
                x, y = self.points(curve)[-1]
                if strokes.inside((x, y), self.columns, self.rows):
                    ends.append((min(int(y), self.rows - 1), curve))
        return sorted(ends, key=lambda end: end[0], reverse=True)


class Picture(msgspec.Struct, frozen=True):
    """A plot before it has a size."""

    series: tuple[Series, ...]
    """Values that an axis cannot show are dropped."""
    x: Axis = _FITTED
    """The x axis; its range is the data's unless limited."""
    y: Axis = _FITTED
    """The y axis; its range is widened to round values unless limited."""
    title: str = ""
    """Stands above it with the name of the vertical axis; nothing does without."""
    marks: tuple[Mark, ...] = ()
    """Lines to draw across; those outside the limits are left out."""
    spots: tuple[Spot, ...] = ()
    """Texts at points; those outside the limits are left out."""
    places: Sequence[float] = ()
    """The x values of readings, ascending."""
    read: Callable[[int], Reading] = lambda _: Reading("")
    """Returns the reading at one of the places."""
    start: int = 0
    """The place where reading begins."""

    def draw(
        self,
        width: int,
        height: int,
        *,
        color: bool = True,
        cursor: int | None = None,
    ) -> str:
        """Draw the rows as text in which ANSI codes are the colours."""
        return paint(self.rows(width, height, cursor=cursor), color=color)

    def rows(self, width: int, height: int, *, cursor: int | None = None) -> list[Row]:
        """Exactly ``height`` lines of ``width`` cells.

        Args:
            width: cells of a line.
            height: lines.
            cursor: the place whose values cover the top line.
        """
        if width < 1 or height < 1:
            return []
        return [row(line) for line in self._cells(width, height, cursor)]

    def nearest(self, column: int, width: int, height: int) -> int | None:
        """The place nearest to a column of the plot; ``None`` without places."""
        if not self.places or width < 1 or height < 1:
            return None
        layout = self._layout(width, height)
        first = layout.margin + 1 if width >= 4 else 0
        columns = [
            first + int(layout.x.cells((value,), layout.columns)[0])
            if usable(value, layout.x.log)
            else -1
            for value in self.places
        ]
        apart = [(abs(x - column), place) for place, x in enumerate(columns)]
        return min(apart)[1]

    def _layout(self, width: int, height: int) -> _Layout:
        """Share the size out between title, axes and canvas."""
        curves = curves_of(self.series, self.x, self.y)
        above = 1 if self.title and height >= 4 else 0
        below = 2 if height >= 14 else 1 if height >= 3 else 0
        rows = height - above - below
        heights = [b for curve in curves for b in curve.y]
        heights += [b for curve in curves for _, *ends in curve.spans for b in ends]
        y = fit(heights, self.y, padded=True)
        y_ticks = ticks(y, self.y, rows, along=False)
        margin = max((len(narrow(tick.label)) for tick in y_ticks), default=0)
        if width < margin + 9:
            margin, y_ticks = 0, []
        beside = 0
        if width - margin >= _FEWEST:
            names = [
                len(narrow(series.label)) for series in self.series if series.label
            ]
            beside = min(max(names, default=-1) + 1, width // 4)
        if any(series.bars for series in self.series):
            # Bars stand on the axis, where their zero is.
            y_ticks = [tick for tick in y_ticks if tick.label != "0"]
        return _Layout(
            curves=curves,
            above=above,
            below=below,
            margin=margin,
            columns=width - margin - 1 - beside if width >= 4 else width,
            rows=rows,
            beside=beside,
            x=fit((a for curve in curves for a in curve.x), self.x),
            y=y,
            y_ticks=y_ticks,
        )

    def _cells(self, width: int, height: int, place: int | None) -> list[list[Cell]]:
        if place is not None and not 0 <= place < len(self.places):
            place = None
        layout = self._layout(width, height)
        rows = self._framed(layout, self._canvas(layout, place), width)
        if layout.above:
            heading = " · ".join(part for part in (self.title, self.y.label) if part)
            rows.insert(0, fitted(cells(heading), width))
        if place is not None and height > 1:
            rows[0] = readout(self.read(place), layout.curves, width)
        return rows

    def _framed(
        self, layout: _Layout, body: frame.Canvas, width: int
    ) -> list[list[Cell]]:
        """The canvas with its axes, and the names of curves at its right."""
        if width < 4:
            return [*body, *([[BLANK] * width] * layout.below)]
        columns = layout.columns
        x_ticks = ticks(layout.x, self.x, columns, along=True)
        bottom = frame.footer(x_ticks, self.x.label, columns, layout.below)
        framed = frame.sides(body, layout.y_ticks, layout.margin)
        if layout.beside:
            ends = [(y, curve.series.label, curve.color) for y, curve in layout.ends()]
            names = frame.names_beside(ends, layout.rows, layout.beside)
            framed = [[*line, *name] for line, name in zip(framed, names, strict=True)]
        blank = [BLANK] * layout.beside
        return framed + [[BLANK] * layout.margin + line + blank for line in bottom]

    def _canvas(self, layout: _Layout, place: int | None) -> list[list[Cell]]:
        """Grid, bars and lines, the curves over them, the names of marks last."""
        columns, rows = layout.columns, layout.rows
        canvas = [[BLANK] * columns for _ in range(rows)]
        frame.grid(canvas, layout.y_ticks)
        for curve in layout.curves:
            if curve.series.bars:
                # A bin with nothing in it has no bar.
                feet = [
                    (x, max(0.0, up) if value > 0 else 0.0)
                    for (x, up), value in zip(
                        layout.points(curve), curve.y, strict=True
                    )
                ]
                filled = frame.bar_heights(feet, columns)
                frame.bars(canvas, filled, curve.color)
        marked = [
            (mark, cell)
            for mark in self.marks
            if (cell := layout.cell(mark.at, mark.axis)) is not None
        ]
        for mark, cell in marked:
            tint = mark.color or frame.MUTED
            if mark.axis == "x":
                frame.upright(canvas, cell, (frame.UPRIGHT, tint))
            else:
                frame.across(canvas, cell, (frame.ACROSS, tint))
        cursor = None if place is None else layout.cell(self.places[place])
        if cursor is not None:
            frame.upright(canvas, cursor, (frame.CURSOR, None))
        failed = ""
        try:
            drawn = strokes.draw(layout.strokes(), columns, rows)
        except strokes.KernelError as error:
            drawn, failed = [], str(error)
        for line, over in zip(canvas, drawn, strict=False):
            for column, cell_over in enumerate(over):
                if cell_over is not BLANK:
                    line[column] = cell_over
        placed = (
            (spot, across, up)
            for spot in self.spots
            if (across := layout.cell(spot.x)) is not None
            and (up := layout.cell(spot.y, "y")) is not None
        )
        frame.spots(canvas, placed)
        for mark, cell in marked:
            if mark.axis == "x":
                frame.name_upright(canvas, cell, mark.label)
            else:
                frame.name_across(canvas, cell, mark.label)
        if failed:
            line = canvas[rows // 2]
            line[:] = [*cells(failed[:columns]), *line[len(failed) :]]
        return canvas
