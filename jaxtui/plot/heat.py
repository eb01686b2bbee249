"""The colours of heat maps: one hue after the other, and brighter all the way."""

from __future__ import annotations

from jaxtui.plot.cells import Color

HEAT: tuple[Color, ...] = (
    (68, 1, 84),
    (70, 50, 126),
    (54, 92, 141),
    (39, 127, 142),
    (31, 161, 135),
    (74, 193, 109),
    (160, 218, 57),
    (253, 231, 37),
)
"""From the lowest to the highest value: viridis, which stays in order for the
colour-blind and in grey (bids.github.io/colormap)."""

_BRIGHT = 4
"""From this level on a text on it is black."""


def on_heat(level: int) -> Color:
    """The colour of a text on a level."""
    return (0, 0, 0) if level >= _BRIGHT else (255, 255, 255)
