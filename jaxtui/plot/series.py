"""Curves and marks: what a plot is told to draw, and how each curve looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtui.plot.axes import Axis
from jaxtui.plot.frame import Glyphs
from jaxtui.plot.header import Entry
from jaxtui.plot.strokes import Color, drawable

PALETTE: tuple[Color, ...] = (
    (86, 180, 233),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (213, 94, 0),
    (150, 140, 240),
)
"""Colours of series that bring none: told apart by colour-blind eyes as well."""

_CURVES = ("braille", "hd", "+", "~", "=")
_CURVES_ASCII = ("*", "+", "~", "=", ",")
_POINTS = ("•", "◆", "▪", "▴", "×", "○", "◇", "▫", "▵", "*")
_POINTS_ASCII = ("o", "x", "#", "%", "@", "&", "$", "s", "n", "w")
"""No character stands for the line of one series and the points of another."""

_SAMPLES = {"braille": "⠤⠤", "hd": "▄▄"}


@dataclass(frozen=True)
class Series:
    """One curve."""

    label: str
    """Legend text; empty keeps the series out of the legend."""
    x: Sequence[float]
    y: Sequence[float]
    color: Color | None = None
    points: bool = False
    """Draw a dot at each point, of a shape of the series' own."""
    line: bool = True
    """Join the points; ``points=True, line=False`` is a scatter plot."""
    bars: bool = False
    """Draw a bar at each point instead; the bars touch."""
    named: bool = False
    """Write the label also where the curve ends, if there is room."""


@dataclass(frozen=True)
class Mark:
    """A straight dashed line across the plot, e.g. at a peak or a crossing."""

    at: float
    label: str = ""
    axis: Literal["x", "y"] = "x"
    """``x``: a vertical line at this x; ``y``: a horizontal one at this y."""
    color: Color | None = None


@dataclass(frozen=True)
class Curve:
    """A series made ready: what its axes can show, and how it looks."""

    series: Series
    x: list[float]
    y: list[float]
    color: Color
    marker: str
    dot: str


def curves(
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    color: bool,
    ascii: bool,  # noqa: A002
) -> Iterator[Curve]:
    """Every series made ready, with a look of its own.

    Args:
        series: what to draw; values that an axis cannot show are dropped.
        x: the horizontal axis.
        y: the vertical axis.
        color: whether colours tell the lines apart.
        ascii: use no character beyond ASCII.
    """
    markers = _CURVES_ASCII if ascii else _CURVES[:1] if color else _CURVES
    dots = _POINTS_ASCII if ascii else _POINTS
    for index, one in enumerate(series):
        points = drawable(one.x, one.y, x.log, y.log)
        yield Curve(
            one,
            [a for a, _ in points],
            [b for _, b in points],
            one.color or PALETTE[index % len(PALETTE)],
            markers[index % len(markers)],
            dots[index % len(dots)],
        )


def entry(curve: Curve, glyphs: Glyphs) -> Entry:
    """A curve in the legend."""
    sample = _SAMPLES.get(curve.marker, curve.marker * 2)
    if curve.series.points:
        sample = curve.dot
    elif curve.series.bars:
        sample = glyphs.levels[-1]
    return Entry(sample, curve.series.label, curve.color)
