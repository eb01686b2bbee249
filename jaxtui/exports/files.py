"""Files that are whole or not there, and never replace another unasked."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from jaxtui.text import visible

FORMATS = {
    ".json": "every figure",
    ".csv": "a row per case, in base units",
    ".md": "a table for people",
    ".svg": "the plot as a picture",
    ".txt": "the plot and the results as text",
    ".py": "plain Python that does the same with nothing but JAX and NumPy",
}
"""What can be written, by the ending of a file's name."""

_KNOWN = ", ".join(f"{ending} ({what})" for ending, what in FORMATS.items())


Contents = Mapping[str, Callable[[], str]]
"""What a file with this ending holds; made only if it is asked for."""


class ExportError(Exception):
    """A file cannot be written; the text is one sentence for people."""


class ExistsError(ExportError):
    """There is such a file, and nobody said that it may be replaced."""


def here() -> Path:
    """The working directory; the home directory where it has been deleted."""
    try:
        return Path.cwd()
    except OSError:
        return Path.home()


def check(path: Path, *, replace: bool = False) -> None:
    """Nothing, if the file can be written as far as that can be known beforehand.

    Args:
        path: Where to.
        replace: Whether a file that exists may be replaced.

    Raises:
        ExistsError: The file exists.
        ExportError: The ending is unknown, the folder does not exist or may not be
            written to, or there is something else with that name.
    """
    with _in_words(path):
        if not path.is_dir() and path.suffix.lower() not in FORMATS:
            raise ExportError(
                f'"{path}" has no ending that says what to write: {_KNOWN}.'
            )
        _check(path, replace=replace)


def _check(path: Path, *, replace: bool) -> None:
    if path.is_dir():
        raise ExportError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise ExportError(f"The folder {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ExportError(f"The folder {path.parent} may not be written to.")
    if not path.exists():
        return
    if not path.is_file():
        raise ExportError(f"{path} is no ordinary file.")
    if not replace:
        raise ExistsError(f"{path} exists already.")


def write(path: Path, text: str, *, replace: bool = False) -> None:
    """Write a file, at once or not at all.

    Args:
        path: Where to.
        text: What; it is written as UTF-8, and so that a terminal can show it.
        replace: Whether a file that exists may be replaced.

    Raises:
        ExistsError: The file exists.
        ExportError: It cannot be written.
    """
    with _in_words(path):
        _check(path, replace=replace)
        _write(path, visible(text).encode(), replace=replace)


@contextlib.contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except FileExistsError:
        raise ExistsError(f"{path} exists already.") from None
    except OSError as error:  # a name that is too long, for one
        raise ExportError(f"{path} cannot be written: {error.strerror}.") from error
    except ValueError as error:  # a name that no system takes
        raise ExportError(f"{str(path)!r} cannot be written: {error}.") from error


def _write(path: Path, data: bytes, *, replace: bool) -> None:
    # Not by tempfile, whose files nobody else may read whatever the umask says.
    beside = path.with_name(f".jaxtui-{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            beside.replace(path)
        else:
            _appear(beside, path)
    finally:
        with contextlib.suppress(OSError):  # it has its own name by now
            beside.unlink()


def _appear(beside: Path, path: Path) -> None:
    """Unlike a rename, a link never replaces what came into being meanwhile."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links: take the name first, then fill it.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        try:
            beside.replace(path)
        except OSError:
            path.unlink()
            raise
