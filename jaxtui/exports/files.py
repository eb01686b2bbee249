"""Files that are whole or not there, and never replace another unasked."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

FORMATS = {
    ".json": "every figure",
    ".csv": "a row per case, in base units",
    ".md": "a table for people",
    ".svg": "the plot as a picture",
    ".txt": "the plot and the results as text",
    ".py": "plain Python that does the same with nothing but JAX and NumPy",
}
"""What can be written, by the ending of a file's name."""


class ExportError(Exception):
    """A file cannot be written; the text is one sentence for people."""


def check(path: Path, *, replace: bool = False) -> None:
    """Nothing, if the file can be written as far as that can be known beforehand.

    Args:
        path: Where to.
        replace: Whether a file that exists may be replaced.

    Raises:
        ExportError: The ending is unknown, the folder does not exist or may not be
            written to, or the file exists.
    """
    try:
        _check(path, replace=replace)
    except OSError as error:  # a name that is too long, for one
        raise ExportError(f"{path} cannot be written: {error.strerror}.") from error


def _check(path: Path, *, replace: bool) -> None:
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(f"{ending} ({what})" for ending, what in FORMATS.items())
        raise ExportError(f'"{path}" has no ending that says what to write: {known}.')
    if not path.parent.is_dir():
        raise ExportError(f"The folder {path.parent} does not exist.")
    if path.is_dir():
        raise ExportError(f"{path} is a folder.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ExportError(f"The folder {path.parent} may not be written to.")
    if path.exists() and not replace:
        raise ExportError(f"{path} exists already.")


def write(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a file, at once or not at all.

    Args:
        path: Where to.
        data: What.
        replace: Whether a file that exists may be replaced.

    Raises:
        ExportError: As for ``check``, or it cannot be written.
    """
    check(path, replace=replace)
    try:
        _write(path, data, replace=replace)
    except FileExistsError:
        raise ExportError(f"{path} exists already.") from None
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror}.") from error


def _write(path: Path, data: bytes, *, replace: bool) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".jaxtui-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        if replace:
            os.replace(name, path)
        else:
            _appear(name, path)
    finally:
        if os.path.exists(name):
            os.unlink(name)


def _appear(name: str, path: Path) -> None:
    """Unlike a rename, a link never replaces what came into being meanwhile."""
    try:
        os.link(name, path)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links: take the name first, then fill it.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        os.replace(name, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
