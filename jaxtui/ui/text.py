"""What is drawn cell by cell: lines of spans, bars and large figures.

Prose is rich's ``Text``. Spans are lighter: the cells of a table of a thousand rows,
which are made anew for each frame, and drawings whose cells can be clicked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec


class Span(msgspec.Struct, frozen=True):
    text: str
    role: str = "label"
    """The role, e.g. ``chip``, ``selected``, ``process-0``, ``muted``, ``label``."""
    device: str | None = None
    """The device that a click here means."""


Line = tuple[Span, ...]
"""A row of the drawing."""


def device_at(lines: Sequence[Line], x: int, y: int) -> str | None:
    """The name of the device drawn at this cell, if any."""
    if not 0 <= y < len(lines):
        return None
    for span in lines[y]:
        if x < len(span.text):
            return span.device if x >= 0 else None
        x -= len(span.text)
    return None


def wrap_spans(spans: Sequence[Span], width: int, between: str) -> list[Line]:
    """Spans in lines that are at most ``width`` long; a longer word is cut."""
    lines: list[list[Span]] = []
    used = width
    for span in spans:
        size = len(span.text)
        if size > width and " " in span.text:
            pieces = [Span(word, span.role) for word in span.text.split(" ")]
            lines += [list(line) for line in wrap_spans(pieces, width, " ")]
            used = width
        elif lines and used + len(between) + size <= width:
            lines[-1] += [Span(between), span]
            used += len(between) + size
        else:
            lines.append([Span(span.text[:width], span.role, span.device)])
            used = size
    return [tuple(line) for line in lines]


def piece(line: Line, begin: int, end: int) -> Line:
    """The spans of a line from one column to another."""
    spans, column = [], 0
    for span in line:
        text = span.text[max(0, begin - column) : max(0, end - column)]
        if text:
            spans.append(Span(text, span.role, span.device))
        column += len(span.text)
    return tuple(spans)


def cut(line: Line, width: int) -> Line:
    """A line in at most so many cells, with an ellipsis where something is missing."""
    if len(plain(line)) <= width:
        return line
    return (*piece(line, 0, width - 1), Span("…"[:width], "muted"))


def plain(line: Line) -> str:
    if len(line) == 1:  # as most cells of long tables
        return line[0].text
    return "".join(span.text for span in line)


EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int) -> str:
    """A bar to scale, an eighth of a cell at the finest.

    It is not padded; what is more than nothing is seen.
    """
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def log_share(value: float, shortest: float, longest: float) -> float:
    """The length of a bar on a logarithmic scale, in that of the longest.

    The shortest has a tenth, or more within a decade.
    """
    span = max(math.log10(longest / shortest), 1.0)
    return 1 + 0.9 * math.log10(value / longest) / span


def meter(share: float, width: int) -> Line:
    """A bar to scale on a track."""
    drawn = bar(share, width)
    return Span(drawn, "device"), Span("░" * (width - len(drawn)), "muted")


_PIXELS = {
    "0": "75557",
    "1": "26227",
    "2": "71747",
    "3": "71717",
    "4": "55711",
    "5": "74717",
    "6": "74757",
    "7": "71111",
    "8": "75757",
    "9": "75717",
    "×": "05250",
    ".": "00002",
    "?": "71202",
}
"""Three across, a row of each character an octal digit."""


def large(text: str, width: int, height: int) -> list[str]:
    """A figure in the largest characters that fit, of any size; Textual's have one.

    Args:
        text: such as ``541×``.
        width: cells that there are; no line is longer.
        height: lines that there are; no more are returned.

    Returns:
        The lines; the text itself as one of them where nothing larger fits.
    """
    size = min(height // 5, width // max(1, 2 * (4 * len(text) - 1)))
    if size < 1 or not set(text) <= set(_PIXELS):
        return [text[:width]][: max(0, height)]
    lines = []
    for row in range(5):
        pixels = "0".join(f"{int(_PIXELS[char][row]):03b}" for char in text)
        line = "".join(("█" if char == "1" else " ") * 2 * size for char in pixels)
        lines += [line] * size
    return lines
