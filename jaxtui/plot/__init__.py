"""Plots as text, for screens and commands; nothing else here touches plotext."""

from jaxtui.plot.axes import Axis, plain
from jaxtui.plot.drawing import draw
from jaxtui.plot.header import Reading, Value
from jaxtui.plot.picture import Picture
from jaxtui.plot.series import Mark, Series
from jaxtui.plot.spots import Spot
from jaxtui.plot.strokes import Color, envelope

__all__ = [
    "Axis",
    "Color",
    "Mark",
    "Picture",
    "Reading",
    "Series",
    "Spot",
    "Value",
    "draw",
    "envelope",
    "plain",
]
