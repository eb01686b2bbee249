"""Plots: numbers in, coloured cells out; nothing else here touches plotext."""

from jaxtui.plot.axes import Axis
from jaxtui.plot.cells import HEAT, Color, Piece, Row, on_heat, paint
from jaxtui.plot.picture import COLORS, HEIGHT, SERIES, WIDEST, Picture
from jaxtui.plot.readout import Reading, Value
from jaxtui.plot.series import Mark, Series, Spot, dot

__all__ = [
    "COLORS",
    "HEAT",
    "HEIGHT",
    "SERIES",
    "WIDEST",
    "Axis",
    "Color",
    "Mark",
    "Picture",
    "Piece",
    "Reading",
    "Row",
    "Series",
    "Spot",
    "Value",
    "dot",
    "on_heat",
    "paint",
]
