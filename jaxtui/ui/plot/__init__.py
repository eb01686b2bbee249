"""Plots: numbers in, coloured cells out; nothing else here touches plotext."""

from jaxtui.ui.plot.axes import Axis
from jaxtui.ui.plot.cells import HEAT, Color, Piece, Row, on_heat, paint
from jaxtui.ui.plot.picture import COLORS, HEIGHT, SERIES, WIDEST, Picture
from jaxtui.ui.plot.readout import Reading, Value
from jaxtui.ui.plot.series import Mark, Series, Spot, dot

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
