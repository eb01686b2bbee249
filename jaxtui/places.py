"""Where jaxtui keeps what outlives a run: the platform's data directory."""

from __future__ import annotations

import contextlib
import os
import stat
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
        # Not Path.expanduser, which raises where there is no such ~user.
        return Path(os.path.expanduser(folder))
    return Path(platformdirs.user_data_dir("jaxtui", appauthor=False))


def make_private(folder: Path) -> None:
    """Make a folder that only its owner may enter.

    The rights of one that exists are narrowed where it is jaxtui's own; one that
    ``$JAXTUI_DATA`` or a caller names may serve others.

    Raises:
        OSError: It cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.environ.get(VARIABLE) and data_folder() in (folder, folder.parent):
        keep_private(folder)


def keep_private(path: Path) -> None:
    """Take the rights of others to a file or folder of this user's away.

    Nothing happens where it does not exist, or its rights cannot be changed.
    """
    with contextlib.suppress(OSError):
        found = path.stat()
        if found.st_uid == os.geteuid() and found.st_mode & 0o077:
            path.chmod(stat.S_IMODE(found.st_mode) & 0o700)


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
