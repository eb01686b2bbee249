"""Formats, what makes the content of each, and the file that is meant."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxtui.export import FORMATS

LABELS = {
    ".json": "JSON",
    ".csv": "CSV",
    ".md": "Markdown",
    ".svg": "SVG",
    ".txt": "Text",
    ".py": "Script",
}
"""What a format is called, by the ending of its file."""

_FOLDERS = (os.curdir, os.pardir, "~")
"""What can only be a folder."""

Content = Callable[[], Awaitable[str]]
"""Makes the text of a file; an ``ExportError`` says why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write something down."""

    ending: str
    """Of the file's name, with its dot: one of ``LABELS``."""
    holds: str
    """What is in it: a plain line of at most 60 cells."""
    stem: str
    """What the file is called if nobody says otherwise, without the ending."""
    content: Content

    @property
    def label(self) -> str:
        """One word."""
        return LABELS[self.ending]

    @property
    def name(self) -> str:
        """What the file is called if nobody says otherwise."""
        return self.stem + self.ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Everything that can be exported at the moment."""

    what: str
    """What it is of, in a few words."""
    formats: tuple[Format, ...]
    """At least one."""


def formats(stem: str, *described: tuple[str, str, Content]) -> tuple[Format, ...]:
    """Several formats of one thing.

    Args:
        stem: what the files are called if nobody says otherwise.
        described: ending, what is in it, and what makes it.
    """
    return tuple(
        Format(ending=ending, holds=holds, stem=stem, content=content)
        for ending, holds, content in described
    )


def at_once(make: Callable[[], str]) -> Content:
    """The content that takes no time to speak of."""

    async def content() -> str:
        return make()

    return content


def ending_of(name: str) -> str:
    """The known ending of a name; empty if it has none."""
    ending = Path(name).suffix.lower()
    return ending if ending in FORMATS else ""


def renamed(typed: str, ending: str) -> str:
    """What was typed, with the ending of another format."""
    known = ending_of(typed)
    return typed[: len(typed) - len(known)] + ending if known else typed


def target(typed: str, chosen: Format, folder: Path) -> Path | None:
    """The file that is meant, or ``None`` if nothing was typed.

    A name without a known ending gets that of the format, and a folder the name that
    the format suggests.

    Args:
        typed: a path.
        chosen: the format.
        folder: what the path is relative to.
    """
    typed = typed.strip()
    if not typed:
        return None
    is_folder = typed.endswith((os.sep, f"{os.sep}..")) or typed in _FOLDERS
    typed = os.path.expanduser(typed)
    if is_folder:
        return folder / typed / chosen.name
    return folder / (typed if ending_of(typed) else typed + chosen.ending)


def not_offered(path: Path, formats: Sequence[Format]) -> str:
    """Why a path cannot be written, if its ending is that of no format here."""
    endings: Collection[str] = dict.fromkeys(one.ending for one in formats)
    if path.suffix.lower() in endings:
        return ""
    return f"There is no {path.suffix} of this: {', '.join(endings)} can be written."
