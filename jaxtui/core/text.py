"""Texts on their way to people, and into Python: whatever they hold, they are texts.

Hostnames, names of files, exceptions and documents come from others. What a terminal
would act on is shown as an escape.
"""

from __future__ import annotations

import codecs
import difflib
import json
import re
import textwrap
from collections.abc import Iterable

HIDDEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: a terminal acts on them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # what turns text around
    "\u2028\u2029"  # ends of lines that are none for a terminal
    "\ud800-\udfff"  # bytes of a file's name that are no UTF-8
    "\ufdd0-\ufdef\ufffe\uffff"  # what no XML may hold
    "]"
)
"""A character that is shown as an escape."""

_HIDDEN_IN_LINES = re.compile(rf"(?![\t\n]){HIDDEN.pattern}")


PLAIN = "jaxtui-plain"
"""Name of the way to encode what an encoding lacks, for ``errors=`` of a stream: plots
are drawn in ASCII, and any other character is a question mark."""

_INK: dict[int, str | int] = {
    **dict.fromkeys(range(0x2800, 0x2900), "*"),  # braille
    **dict.fromkeys(range(0x2500, 0x2580), "+"),  # corners and crossings of lines
    **dict.fromkeys(range(0x2580, 0x25A0), "#"),  # blocks
    **str.maketrans("─━┄┅┈┉╌╍│┃┆┇┊┋╎╏", "--------||||||||"),
    **str.maketrans("•◆▪▴×○◇▫▵░µ·–—…", "o&%@x$snw-u---."),
}


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    hidden = error.object[error.start : error.end].translate(_INK)
    return hidden.encode("ascii", "replace").decode(), error.end


codecs.register_error(PLAIN, _plain)


class Painted(str):
    """Text with colours of jaxtui's own; what else is in it passed ``visible``."""

    __slots__ = ()


def visible(text: str, *, line: bool = False) -> str:
    r"""The text with hidden characters as escapes: ``\x1b``, ``\u202e``, ``\udcff``.

    Args:
        text: any; ``Painted`` stays as it is.
        line: escape line feeds and tabs as well.
    """
    if isinstance(text, Painted):
        return text
    hidden = HIDDEN if line else _HIDDEN_IN_LINES
    return hidden.sub(lambda match: repr(match[0])[1:-1], text)


def join_painted(parts: Iterable[str], by: str = "\n") -> Painted:
    """Parts with colours of jaxtui's own and parts without them, joined."""
    return Painted(by.join(map(visible, parts)))


def visible_json(document: bytes) -> bytes:
    """Return the JSON document with hidden characters as its own escapes."""
    if document.isascii() and b"\x7f" not in document:
        return document
    return _HIDDEN_IN_LINES.sub(
        lambda match: f"\\u{ord(match[0]):04x}", document.decode()
    ).encode()


def nearest(name: str, choices: Iterable[str], cutoff: float = 0.6) -> str:
    """The known name that is nearest; empty if none is near.

    ``cutoff`` is how alike they must be, from 0 to 1.
    """
    return "".join(difflib.get_close_matches(name, tuple(choices), n=1, cutoff=cutoff))


def ended(text: str) -> str:
    """A text of others as the end of a sentence."""
    return f"{text.rstrip('.:')}."


def did_you_mean(name: str, choices: Iterable[str], cutoff: float = 0.6) -> str:
    """The nearest name as a question after a blank; empty if none is near."""
    near = nearest(name, choices, cutoff)
    return f" Did you mean {near}?" if near else ""


def literal(text: str) -> str:
    """A text as a literal of Python, all of it visible."""
    # As JSON for its quotes, which are those that formatters prefer.
    return visible(json.dumps(text, ensure_ascii=False))


def wrap(line: str, width: int, later: str) -> str:
    """A line broken between words; a path that is longer than a line stays whole.

    Args:
        line: with its own indent.
        width: cells of a line.
        later: a further indent of all lines but the first.
    """
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent + later,
        break_long_words=False,
        break_on_hyphens=False,
    )
