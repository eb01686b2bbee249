"""The contents of a plot: curves, marks and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from jaxtui.ui.plot.axes import LARGEST, Axis, lowest
from jaxtui.ui.plot.cells import Color

_PALETTE: tuple[Color, ...] = (
    (86, 180, 233),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (213, 94, 0),
    (150, 140, 240),
)
"""Colours of series that bring none: told apart by colour-blind eyes as well."""

_DOTS = ("•", "◆", "▪", "▴", "×", "○", "◇", "▫", "▵", "*")


class Series(msgspec.Struct, frozen=True):
    label: str
    """Stands at the right, where the curve ends."""
    x: Sequence[float]
    y: Sequence[float]
    color: Color | None = None
    spans: Sequence[tuple[float, float]] = ()
    """The interval of each point in y, in their order: upright bars, visible where they
    are higher than the point's own cell."""
    points: bool = False
    """Draw a dot at each point, of a shape of the series' own."""
    line: bool = True
    """Join the points; ``points=True, line=False`` is a scatter plot."""
    specks: bool = False
    """Draw a dot for each point instead: of braille where they are many."""
    bars: bool = False
    """Draw a bar at each point instead; the bars touch."""


class Mark(msgspec.Struct, frozen=True):
    """A straight dashed line across the plot, e.g. at a peak or a crossing."""

    at: float
    label: str = ""
    axis: Literal["x", "y"] = "x"
    """``x``: a vertical line at this x; ``y``: a horizontal one at this y."""
    color: Color | None = None


class Spot(msgspec.Struct, frozen=True):
    """A short text at a point; a letter that the text around the plot explains."""

    x: float
    y: float
    text: str
    color: Color | None = None
    where: Literal["at", "above"] = "at"
    """``at`` begins in the point's own cell; ``above`` ends there, over a line (or
    under it where no room is left above)."""


def dot(index: int) -> str:
    return _DOTS[index % len(_DOTS)]


class Curve(msgspec.Struct, frozen=True):
    """A series made ready: what its axes can show, and how it looks."""

    series: Series
    x: list[float]
    y: list[float]
    spans: list[tuple[float, float, float]]
    """Upright bars: x, and both ends in y."""
    color: Color
    dot: str
    """The character of its points."""


def curves_of(series: Sequence[Series], x: Axis, y: Axis) -> list[Curve]:
    """Every series made ready, with a look of its own.

    Values that an axis cannot show are dropped.
    """
    left, low = lowest(x.log), lowest(y.log)
    curves = []
    for index, data in enumerate(series):
        points = [
            (a, b)
            for a, b in zip(data.x, data.y, strict=False)
            if left <= a <= LARGEST and low <= b <= LARGEST
        ]
        spans = [
            (a, *ends)
            for a, ends in zip(data.x, data.spans, strict=False)
            if left <= a <= LARGEST and all(low <= end <= LARGEST for end in ends)
        ]
        curve = Curve(
            data,
            [a for a, _ in points],
            [b for _, b in points],
            spans,
            data.color or _PALETTE[index % len(_PALETTE)],
            dot(index),
        )
        curves.append(curve)
    return curves
