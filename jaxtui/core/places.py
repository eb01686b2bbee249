"""Files: where those that outlive a run are kept, and how all are read and written."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

VARIABLE = "JAXTUI_DATA"
"""Names another folder."""

LARGEST_BYTES = 256_000_000
"""Bytes of the largest file that is read whole. ``bench --json --samples`` writes 12 MB
a minute where a call takes 5 µs (measured): these are twenty minutes of it, read in two
seconds."""


class NoHomeError(OSError):
    """An error: this user has no home folder, as in many a container."""

    def __str__(self) -> str:
        return (
            "Nothing is saved: this user has no home folder. Set JAXTUI_DATA to a"
            " folder."
        )


def data_folder() -> Path:
    """The folder of this user's data; it need not exist yet.

    ``$XDG_DATA_HOME/jaxtui`` or ``~/.local/share/jaxtui`` on Linux,
    ``~/Library/Application Support/jaxtui`` on macOS; ``$JAXTUI_DATA`` where it is set.

    Raises:
        NoHomeError: There is none of these.
    """
    if folder := os.environ.get(VARIABLE):
        # Not Path.expanduser, which raises where there is no such ~user.
        return Path(os.path.expanduser(folder))
    # Only here: the engine reads files as well, and its Python needs no platformdirs.
    import platformdirs

    try:
        folder = platformdirs.user_data_dir("jaxtui", appauthor=False)
    except (RuntimeError, KeyError):
        folder = ""
    if not os.path.isabs(folder):  # an older platformdirs leaves the "~"
        raise NoHomeError(errno.ENOENT, os.strerror(errno.ENOENT), "$HOME")
    return Path(folder)


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
        status = path.stat()
        if status.st_uid == os.geteuid() and status.st_mode & 0o077:
            path.chmod(stat.S_IMODE(status.st_mode) & 0o700)


def read_whole(path: str | Path, most: int = LARGEST_BYTES) -> bytes:
    """Read a file that a user or another program may have made.

    A pipe or a device may never end, or never begin, and is not opened.

    Args:
        path: links are followed.
        most: bytes that it may have.

    Raises:
        OSError: it cannot be read, is no regular file or is larger; ``strerror`` says
            which, as the end of a sentence.
    """
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        kind = kinds.get(stat.S_IFMT(status.st_mode), "a device")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
    with open(path, "rb") as file:
        # Not by its size alone: a file of /proc has none, and one may grow.
        content = file.read(most + 1) if status.st_size <= most else b""
    if (size := max(len(content), status.st_size)) > most:
        raise OSError(
            errno.EFBIG,
            f"it has {size:,} bytes, and jaxtui reads at most {most:,}",
            str(path),
        )
    return content


def write_whole(
    path: Path, content: bytes, *, rights: int = 0o600, replace: bool = True
) -> None:
    """Write a file, at once or not at all.

    Raises:
        FileExistsError: it is there, and may not be replaced.
        OSError: it cannot be written; what was there before is still there.
    """
    beside = path.with_name(f".jaxtui-{os.urandom(8).hex()}") if replace else path
    # Not by tempfile, whose files are private whatever the umask says.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, rights)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
