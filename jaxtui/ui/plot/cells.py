"""Coloured characters: what a plot is made of."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Optional

from jaxtui.core.text import Painted, visible

Color = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

Cell = tuple[str, Optional[Color]]  # noqa: UP045  (evaluated on Python 3.10)
"""A character and its colour; ``None`` is the terminal's own."""

BLANK: Cell = (" ", None)

Piece = Cell
"""Several characters of one colour."""

Row = tuple[Piece, ...]
"""A line of a drawing."""


def narrow(text: str) -> str:
    """The text with every character that does not fill one cell shown as ``?``."""
    return "".join(
        char
        if char.isprintable()
        and unicodedata.east_asian_width(char) not in "WF"
        and not unicodedata.combining(char)
        and unicodedata.category(char) != "Cf"
        else "?"
        for char in visible(text, line=True)
    )


def cells(text: str, color: Color | None = None) -> list[Cell]:
    return [(char, color) for char in narrow(text)]


def row(line: Sequence[Cell]) -> Row:
    return tuple(
        ("".join([char for char, _ in run]), color)
        for color, run in groupby(line, key=itemgetter(1))
    )


def paint(rows: Iterable[Row], *, color: bool) -> str:
    """Lines of text, with one escape code per piece where colours are wanted."""
    return Painted(
        "\n".join("".join(_piece(*piece, color) for piece in r) for r in rows)
    )


def _piece(text: str, color: Color | None, colored: bool) -> str:
    if not colored or color is None or text.isspace():
        return text
    red, green, blue = color
    return f"\x1b[38;2;{red};{green};{blue}m{text}\x1b[0m"


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
"""The colours from the lowest to the highest value: viridis, which stays in order for
the colour-blind and in grey (bids.github.io/colormap)."""

_BRIGHT = 4
"""The first level on which text is black."""


def on_heat(level: int) -> Color:
    """The colour of a text on a level."""
    return (0, 0, 0) if level >= _BRIGHT else (255, 255, 255)
