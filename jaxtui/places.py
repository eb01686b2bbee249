"""Where jaxtui keeps what outlives a run: the platform's data directory."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

VARIABLE = "JAXTUI_DATA"
"""Names another folder."""


def data_folder() -> Path:
    """The folder of this user's data; it need not exist yet.

    ``$XDG_DATA_HOME/jaxtui`` or ``~/.local/share/jaxtui`` on Linux,
    ``~/Library/Application Support/jaxtui`` on macOS; ``$JAXTUI_DATA`` where it is set.
    """
    if folder := os.environ.get(VARIABLE):
        # Not Path.expanduser, which raises where a ~user is nobody's.
        return Path(os.path.expanduser(folder))
    return Path(platformdirs.user_data_dir("jaxtui", appauthor=False))


def put_aside(path: Path) -> Path:
    """Rename a file that cannot be used; nothing is ever overwritten.

    Returns:
        Its new path: the old one with ``.broken-1``, or the next free number, at its
        end.

    Raises:
        OSError: It cannot be renamed.
    """
    number = 1
    while (aside := path.with_name(f"{path.name}.broken-{number}")).exists():
        number += 1
    return path.rename(aside)
