"""Coloured characters: the cells that a plot is made of.

``rasterize`` draws curves in plain Python, for where plotext is missing or fails.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Optional

from jaxtui.plot.strokes import Color, Stroke
from jaxtui.text import visible

Cell = tuple[str, Optional[Color]]  # noqa: UP045  (evaluated on Python 3.10)
"""One character and its colour; ``None`` is the terminal's own."""

BLANK: Cell = (" ", None)

_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""The bit of each braille dot, by column and by row from the bottom."""


_SGR = re.compile(r"\x1b\[([0-9;]*)m")


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
    """One cell per character."""
    return [(char, color) for char in narrow(text)]


def parse(text: str) -> list[list[Cell]]:
    """Read lines whose only escape codes set or reset a 24-bit foreground."""
    rows: list[list[Cell]] = []
    color: Color | None = None
    for line in text.split("\n"):
        row: list[Cell] = []
        for index, part in enumerate(_SGR.split(line)):
            if index % 2 == 0:
                row += [(char, color) for char in part]
            elif part.startswith("38;2;"):
                red, green, blue = map(int, part.split(";")[2:5])
                color = (red, green, blue)
            else:
                color = None
        rows.append(row)
    return rows


def line(row: Sequence[Cell], color: bool) -> str:
    """A row as text, with one escape code per run of a colour where wanted."""
    if not color:
        return "".join([char for char, _ in row])
    parts: list[str] = []
    for tint, run in groupby(row, key=itemgetter(1)):
        text = "".join([char for char, _ in run])
        if tint is None or text.isspace():
            parts.append(text)
        else:
            parts.append(f"\x1b[38;2;{tint[0]};{tint[1]};{tint[2]}m{text}\x1b[0m")
    return "".join(parts)


def rasterize(strokes: Sequence[Stroke], width: int, height: int) -> list[list[Cell]]:
    """Draw strokes in plain Python; rows come from the top."""
    canvas: list[list[Cell]] = [[BLANK] * width for _ in range(height)]
    for stroke in strokes:
        fine = stroke.marker in ("braille", "hd")
        across, up = (2, 4) if fine else (1, 1)
        for x, y in _dots(stroke, across, up):
            column = min(max(x // across, 0), width - 1)
            row = height - 1 - min(max(y // up, 0), height - 1)
            before, _ = canvas[row][column]
            mark = _add_dot(before, x, y) if fine else stroke.marker
            canvas[row][column] = (mark, stroke.color)
    return canvas


def _add_dot(before: str, x: int, y: int) -> str:
    old = ord(before) - 0x2800 if "\u2800" <= before <= "\u28ff" else 0
    return chr(0x2800 + (old | _DOTS[x % 2][y % 4]))


def _dots(stroke: Stroke, across: int, up: int) -> Iterator[tuple[int, int]]:
    """The grid points of a stroke, ``across`` by ``up`` of them in a cell."""
    for part in stroke.parts:
        places = [(math.floor(x * across), math.floor(y * up)) for x, y in part]
        yield from places
        for (x, y), (to_x, to_y) in pairwise(places):
            steps = max(abs(to_x - x), abs(to_y - y))
            for step in range(1, steps):
                yield (
                    round(x + (to_x - x) * step / steps),
                    round(y + (to_y - y) * step / steps),
                )
