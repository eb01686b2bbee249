"""Replacements for characters that the terminal lacks, or would act on."""

from __future__ import annotations

import re
from typing import TextIO

from rich import control
from rich.cells import cell_len
from rich.segment import Segment
from textual import content
from textual.color import Color
from textual.filter import LineFilter

from jaxtui.core.text import HIDDEN, PLAIN, visible


def prepare(stream: TextIO | None) -> None:
    """Let a stream write something in ASCII for each cell that it cannot encode.

    Python's own way for stderr, a backslash and the character's number, is several
    cells wide and would shift the whole screen.
    """
    reconfigure = getattr(stream, "reconfigure", None)
    encoding = getattr(stream, "encoding", None) or ""
    if reconfigure is not None and not encoding.lower().startswith("utf"):
        reconfigure(errors=PLAIN)


def show_hidden() -> None:
    """Let every text of Textual and Rich show hidden characters as escapes.

    Both drop some control characters of whatever they are given, by a table; with all
    of them in it, text is measured and wrapped with its escapes.
    """
    hidden = set(HIDDEN.findall("".join(map(chr, range(0x10000))))) - {"\t", "\n"}
    visible_chars = {ord(char): visible(char) for char in hidden}
    for module in (control, content):
        # Neither name is public: where there is none, ``NothingHidden`` is left.
        getattr(module, "_CONTROL_STRIP_TRANSLATE", {}).update(visible_chars)


class NothingHidden(LineFilter):
    """Takes hidden characters out of whatever was drawn past ``show_hidden``."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(HIDDEN.sub(_as_wide, text), style, control)
            for text, style, control in segments
        ]


def _as_wide(match: re.Match[str]) -> str:
    return "?" * cell_len(match[0])
