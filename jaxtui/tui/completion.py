"""Paths of Python files as they are typed: what may follow, and what all have."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

MOST = 200
"""Entries of a folder that are listed; to see the others, one types on."""

_NAMED = re.compile(r"(?P<path>.+\.py):(?P<names>[\w.,\s]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a text may become."""

    paths: tuple[str, ...] = ()
    """As they would be typed; folders end in a slash."""
    more: int = 0
    """How many others there are."""
    trouble: str = ""
    """Why there is nothing, in a sentence."""

    @property
    def common(self) -> str:
        """What all of them begin with."""
        # Letters and not whole names: it is what the Tab of a shell completes.
        return os.path.commonprefix(self.paths)  # noqa: RUF071


def split_names(text: str) -> tuple[str, tuple[str, ...]]:
    """The path and the functions of ``train.py:step,loss``."""
    match = _NAMED.fullmatch(text.strip())
    if match is None:
        return text.strip(), ()
    names = (name.strip() for name in match["names"].split(","))
    return match["path"], tuple(name for name in names if name)


def candidates(text: str) -> Candidates:
    """Folders and Python files that a path may go on with; reads one folder.

    Names that begin with what was typed come alone, or else those that contain it.
    Hidden ones come when the dot is typed.

    Args:
        text: relative to the working directory; ``~`` is the home directory.
    """
    folder, _, start = text.rpartition("/")
    shown = f"{folder}/" if "/" in text else ""
    if text == "~":
        return Candidates(("~/",))
    try:
        whole = os.path.abspath(os.path.expanduser(shown or "."))
        with os.scandir(whole) as entries:
            names = [name for entry in entries if (name := _offered(entry))]
    except FileNotFoundError:
        return Candidates(trouble=f"There is no folder {shown}.")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Candidates(trouble=f"{shown or '.'} cannot be read: {why}.")
    if not start.startswith("."):
        names = [name for name in names if not name.startswith(".")]
    found = _matching(names, start)
    found.sort(key=lambda name: (name.endswith("/"), name.lower()))
    trouble = "" if found else _nothing(shown, start)
    paths = tuple(shown + name for name in found[:MOST])
    return Candidates(paths, max(0, len(found) - MOST), trouble)


def _offered(entry: os.DirEntry[str]) -> str:
    """The name of a folder, with a slash, or of a Python file; else nothing."""
    try:
        if entry.is_dir():
            return f"{entry.name}/" if entry.name != "__pycache__" else ""
        return entry.name if entry.name.endswith(".py") else ""
    except OSError:  # a link that leads nowhere
        return ""


def _matching(names: list[str], start: str) -> list[str]:
    begun = [name for name in names if name.startswith(start)]
    if begun:
        return begun
    return [name for name in names if start.lower() in name.lower()]


def _nothing(shown: str, start: str) -> str:
    where = shown or "the working directory"
    if start:
        return f'Nothing in {where} matches "{start}".'
    return f"There is no Python file and no folder in {where}."
