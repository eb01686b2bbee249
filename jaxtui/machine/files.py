"""Reading files that may not be there, or that this user may not read."""

from __future__ import annotations

import os
from pathlib import Path


def text(path: Path) -> str:
    """The file's text; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def names(directory: Path) -> list[str]:
    """What is in a directory, in order; empty if it cannot be read."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def target(link: str) -> str:
    """Where a symbolic link leads; empty if that cannot be read."""
    try:
        return os.readlink(link)
    except OSError:
        return ""
