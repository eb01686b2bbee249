"""Figures that the back row can read: a time in large characters made of blocks."""

from __future__ import annotations

ROWS = 7
"""Pixels from top to bottom; a character is five across."""

_FONT = {
    "0": ".###. #...# #..## #.#.# ##..# #...# .###.",
    "1": "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    "2": ".###. #...# ....# ...#. ..#.. .#... #####",
    "3": "##### ...#. ..#.. ...#. ....# #...# .###.",
    "4": "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
    "5": "##### #.... ####. ....# ....# #...# .###.",
    "6": "..##. .#... #.... ####. #...# #...# .###.",
    "7": "##### ....# ...#. ..#.. .#... .#... .#...",
    "8": ".###. #...# #...# .###. #...# #...# .###.",
    "9": ".###. #...# #...# .#### ....# ...#. .##..",
    ".": ".. .. .. .. .. ## ##",
    "?": ".###. #...# ....# ...#. ..#.. ..... ..#..",
    "m": "..... ..... ##.#. #.#.# #.#.# #.#.# #.#.#",
    "µ": "..... ..... #...# #...# #...# ##..# #.##.",
    "n": "..... ..... #.##. ##..# #...# #...# #...#",
    "s": "..... ..... .#### #.... .###. ....# ####.",
    " ": ".. .. .. .. .. .. ..",
}

_PIXELS = ((4, 2), (3, 2), (2, 2), (2, 1), (1, 1))
"""Cells of a pixel, across and down."""


def fits(text: str) -> bool:
    """Whether there is a large character for each."""
    return all(character in _FONT for character in text)


def large(text: str, width: int, height: int, block: str = "█") -> list[str]:
    """A text in the largest characters that fit.

    Args:
        text: a time, e.g. ``0.213 ms``, or a question mark.
        width: cells that there are; no line is longer.
        height: lines that there are; no more are returned.
        block: what a pixel is made of.

    Returns:
        The lines; the text itself as one of them where nothing larger fits.
    """
    if fits(text):
        pixels = [_row(text, index) for index in range(ROWS)]
        for across, down in _PIXELS:
            if len(pixels[0]) * across <= width and ROWS * down <= height:
                return [
                    _line(row, across, block) for row in pixels for _ in range(down)
                ]
        if len(pixels[0]) <= width and height >= (ROWS + 1) // 2 and block == "█":
            return _halves(pixels)
    return [text[:width]][: max(0, height)]


def _row(text: str, index: int) -> str:
    return ".".join(_FONT[character].split()[index] for character in text)


def _line(row: str, across: int, block: str) -> str:
    return "".join((block if one == "#" else " ") * across for one in row)


def _halves(pixels: list[str]) -> list[str]:
    """Two rows of pixels in a line, for little room."""
    rows = [*pixels, "." * len(pixels[0])] if len(pixels) % 2 else pixels
    halves = {"..": " ", "#.": "▀", ".#": "▄", "##": "█"}
    return [
        "".join(halves[top + bottom] for top, bottom in zip(*pair, strict=True))
        for pair in zip(rows[::2], rows[1::2], strict=True)
    ]
