"""Two giant numbers for an audience: what the stopwatch claims, and the truth."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui import format as fmt
from jaxtui.model import LoopMeasured
from jaxtui.tui import loop_words

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


_WORDS = 6
"""Lines that are not digits: two names, two blanks, two sentences."""


class Giant(Widget):
    """The claimed figure, and the true one once it is revealed."""

    DEFAULT_CSS = """
    Giant { height: 1fr; padding: 0 1; }
    """

    measured: reactive[LoopMeasured | None] = reactive(None)
    """The loop; ``None`` until it has ended."""
    waiting: reactive[str] = reactive("")
    """Why there is no figure yet."""
    revealed: reactive[bool] = reactive(False)
    """Whether the truth is shown."""

    def render(self) -> Content:
        """Both figures, as large as they fit."""
        measured = self.measured
        claimed, true = "?", "?"
        if measured is not None:
            clock = measured.undisturbed
            claimed = fmt.seconds(clock.stopwatch_seconds)
            if self.revealed:
                true = fmt.seconds(clock.true_seconds)
        lines = [
            self._centred("The stopwatch says", "bold $plot-2"),
            *self._figure(claimed, "bold $plot-2"),
            Content(""),
            self._centred("The work really took", "bold $plot-1"),
            *self._figure(true, "bold $plot-1"),
            Content(""),
            *self._last(),
        ]
        return Content("\n").join(lines)

    def _figure(self, text: str, style: str) -> list[Content]:
        width, height = self.content_size
        lines = large(text, width, max(1, (height - _WORDS) // 2), "█")
        return [self._centred(line, style) for line in lines]

    def _centred(self, text: str, style: str = "bold") -> Content:
        # By hand: lines of one figure must not be centred each by its own ink.
        margin = max(0, self.content_size.width - len(text)) // 2
        return Content.assemble(" " * margin, (text, style))

    def _last(self) -> list[Content]:
        """What to predict, or what the figures mean."""
        measured = self.measured
        if measured is None:
            return [self._centred(line) for line in self.waiting.split("\n")]
        if not self.revealed:
            return [self._centred(loop_words.HIDDEN)]
        if not measured.impossible:
            return [self._centred(loop_words.rates(measured))]
        return [
            self._centred(loop_words.rates(measured)),
            self._centred(loop_words.IMPOSSIBLE, "bold $text-error"),
        ]
