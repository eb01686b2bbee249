"""Prose as lessons write it, broken into lines for a screen of any width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby

CODE_INDENT = "    "
"""A line that begins with it is code."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a line in one style."""

    text: str
    code: bool = False


Line = tuple[Span, ...]
"""A line as it is drawn; empty between paragraphs."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, or lines of code that belong together."""

    text: str
    """A paragraph in one line, inline code in backticks; or lines of code without
    their common indent."""
    code: bool = False


def blocks(prose: str) -> tuple[Block, ...]:
    """The paragraphs and the code of a text, in order."""
    found: list[Block] = []
    for part in re.split(r"\n[ \t]*\n", prose.strip("\n")):
        lines = [line.rstrip() for line in part.split("\n") if line.strip()]
        for code, group in groupby(lines, lambda line: line.startswith(CODE_INDENT)):
            if code:
                cut = [line.removeprefix(CODE_INDENT) for line in group]
                found.append(Block("\n".join(cut), code=True))
            else:
                found.append(Block(" ".join(" ".join(group).split())))
    return tuple(found)


def lines(prose: str, width: int, *, ticks: bool = False) -> list[Line]:
    """The text in lines of at most ``width`` cells, an empty one between blocks.

    Code keeps its lines, however long; inline code is not broken where it fits.

    Args:
        prose: as ``Step.prose``.
        width: cells.
        ticks: keep the backticks around inline code, where no style shows it.
    """
    drawn: list[Line] = []
    for block in blocks(prose):
        if drawn:
            drawn.append(())
        if block.code:
            code = block.text.split("\n")
            drawn += [(Span(CODE_INDENT + line, code=True),) for line in code]
        else:
            drawn += _filled(block.text, width, ticks)
    return drawn


def plain(prose: str, width: int) -> str:
    """The text in lines for where there are no styles."""
    return "\n".join(text_of(line) for line in lines(prose, width, ticks=True))


def text_of(line: Line) -> str:
    """A line without its styles."""
    return "".join(span.text for span in line)


def _filled(paragraph: str, width: int, ticks: bool) -> Iterator[Line]:
    """A paragraph, as many words to a line as it holds."""
    line: list[Span] = []
    used = 0
    words = _words(paragraph, ticks, width)
    for word in chain.from_iterable(_cut(word, width) for word in words):
        length = sum(len(span.text) for span in word)
        if line and used + 1 + length > width:
            yield _merged(line)
            line, used = [], 0
        if line:
            # Within inline code that had to be broken, the blank is code too.
            line.append(Span(" ", line[-1].code and word[0].code))
            used += 1
        line += word
        used += length
    if line:
        yield _merged(line)


def _words(paragraph: str, ticks: bool, width: int) -> Iterator[list[Span]]:
    """What must not be broken: words, and inline code with all that it has in it."""
    word: list[Span] = []
    for index, piece in enumerate(re.split(r"(`[^`]+`)", paragraph)):
        code = index % 2 == 1
        text = piece if ticks or not code else piece[1:-1]
        parts = [text] if code and len(text) <= width else re.split(r"( +)", text)
        for part in parts:
            if not part.strip(" "):
                if part and word:
                    yield word
                    word = []
            else:
                word.append(Span(part, code))
    if word:
        yield word


def _cut(word: list[Span], width: int) -> Iterator[list[Span]]:
    """A word that is longer than any line, in pieces that are not."""
    if sum(len(span.text) for span in word) <= width:
        yield word
        return
    for span in word:
        for start in range(0, len(span.text), width):
            yield [Span(span.text[start : start + width], span.code)]


def _merged(line: list[Span]) -> Line:
    """Neighbours of one style as one stretch."""
    groups = groupby(line, lambda span: span.code)
    return tuple(Span("".join(s.text for s in group), code) for code, group in groups)
