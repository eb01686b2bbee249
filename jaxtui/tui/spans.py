"""Lines of text whose pieces have a role, which a widget turns into a style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line."""

    text: str
    role: str = "label"
    """What it is, e.g. ``chip``, ``selected``, ``process-0``, ``muted``, ``label``."""
    device: str | None = None
    """The device that a click here means."""


Line = tuple[Span, ...]
"""One row of the drawing."""


def device_at(lines: Sequence[Line], x: int, y: int) -> str | None:
    """The name of the device drawn at this cell, if any."""
    if not 0 <= y < len(lines):
        return None
    for span in lines[y]:
        if x < len(span.text):
            return span.device if x >= 0 else None
        x -= len(span.text)
    return None


def words(text: str) -> list[Span]:
    """A muted span per word, to be wrapped with blanks between them."""
    return [Span(word, "muted") for word in text.split(" ")]


def wrapped(spans: Sequence[Span], width: int, between: str) -> list[Line]:
    """Spans in lines that are at most ``width`` long; what is longer is broken up."""
    lines: list[list[Span]] = []
    used = width
    for span in spans:
        size = len(span.text)
        if size > width and " " in span.text:
            pieces = [Span(word, span.role) for word in span.text.split(" ")]
            lines += [list(line) for line in wrapped(pieces, width, " ")]
            used = width
        elif lines and used + len(between) + size <= width:
            lines[-1] += [Span(between), span]
            used += len(between) + size
        else:
            lines.append([Span(span.text[:width], span.role, span.device)])
            used = size
    return [tuple(line) for line in lines]


def text_of(line: Line) -> str:
    """A line without its roles."""
    return "".join(span.text for span in line)
