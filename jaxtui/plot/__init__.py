"""Plots as text, for screens and commands; nothing else here touches plotext."""

from jaxtui.plot.axes import Axis, plain
from jaxtui.plot.drawing import Mark, Series, draw
from jaxtui.plot.picture import Picture
from jaxtui.plot.strokes import Color, envelope

__all__ = ["Axis", "Color", "Mark", "Picture", "Series", "draw", "envelope", "plain"]
