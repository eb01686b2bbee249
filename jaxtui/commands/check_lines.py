"""How the verdicts of a check are painted."""

from __future__ import annotations

from jaxtui.health.verdict import VerdictWord
from jaxtui.text import Painted, visible
from jaxtui.view.text import COLOURS


def coloured(text: str, word: VerdictWord, colour: bool) -> str:
    """A text with its first such verdict in its colour, where there are colours."""
    if not colour:
        return text
    return Painted(
        visible(text).replace(word, f"\x1b[{COLOURS[word]}m{word}\x1b[0m", 1)
    )
