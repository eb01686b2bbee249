"""Lines of a check: how wide they are, where they break, how verdicts are painted."""

from __future__ import annotations

import textwrap

from jaxtui.health.verdict import VerdictWord
from jaxtui.text import Painted, visible

COLUMNS = 80

_COLOURS: dict[VerdictWord, str] = {
    "pass": "32",
    "low": "33",
    "impossible": "35",
    "fail": "31",
    "skipped": "2",
}


def coloured(text: str, word: VerdictWord, colour: bool) -> str:
    """A text with its first such verdict in its colour, where there are colours."""
    if not colour:
        return text
    return Painted(
        visible(text).replace(word, f"\x1b[{_COLOURS[word]}m{word}\x1b[0m", 1)
    )


def wrapped(text: str, indent: str = "") -> list[str]:
    """The text in lines, each as far in as the text itself, and the indent."""
    own = indent + text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text.strip(),
        COLUMNS,
        initial_indent=own,
        subsequent_indent=own,
        break_long_words=False,
        break_on_hyphens=False,
    )
