"""Results as files to take away: their tables and pictures, names, and the writing.

A file is whole or not there, and never replaces another unless it may.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxtui.core.model import Case
from jaxtui.core.model.own import is_own, parts
from jaxtui.core.places import write_whole
from jaxtui.core.text import ended, visible

FORMATS = (".json", ".csv", ".md", ".svg", ".py")
"""The endings of files: every figure, a row per case in base units, the report, the
report as a picture, and plain Python that measures the case without jaxtui."""

Contents = Mapping[str, Callable[[], str]]
"""By file ending: the function that makes the contents."""

MANY = 2
"""The number of ops or dtypes named in a file's name; more are counted."""

FORMULA = ("=", "+", "-", "@", "\t")
"""Characters that begin a formula in a spreadsheet."""

_NOT_IN_NAMES = re.compile(r"[^\w.+-]+", re.ASCII)


# Writing.


class ExportError(Exception):
    """A file cannot be written; the text is what to tell the user."""


class ExistsError(ExportError):
    """The file is there, and was not to be replaced."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} already exists.")


def here() -> Path:
    """The working directory; the home directory where it has been deleted."""
    try:
        return Path.cwd()
    except OSError:
        return Path.home()


def check(
    path: Path, endings: Collection[str] = FORMATS, *, replace: bool = False
) -> None:
    """Refuse a file that cannot be written, as far as that can be known beforehand.

    Args:
        path: with its ending.
        endings: those that can be written of what there is.
        replace: a file may be there.

    Raises:
        ExportError: the file exists, there is no such ending, the folder does not exist
            or may not be written to.
    """
    with _system_refusals(path):
        if not path.is_dir() and path.suffix.lower() not in endings:
            raise ExportError(
                f'"{path}" needs one of these endings: {", ".join(endings)}.'
            )
        _check(path, replace=replace)


def _check(path: Path, *, replace: bool) -> None:
    if path.is_dir():
        raise ExportError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise ExportError(f"The folder {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ExportError(f"No permission to write to the folder {path.parent}.")
    if path.exists() and not replace:
        raise ExistsError(path)


def write(path: Path, text: str, *, replace: bool = False) -> None:
    """Write a file, at once or not at all.

    It is UTF-8, and such that a terminal can show it.

    Raises:
        ExportError: the file exists, or it cannot be written.
    """
    with _system_refusals(path):
        _check(path, replace=replace)
        content = visible(text).encode()
        write_whole(path, content, rights=0o666, replace=replace)


@contextlib.contextmanager
def _system_refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise ExistsError(path) from None
    except OSError as error:  # a name that is too long, for one
        why = ended(error.strerror or str(error))
        raise ExportError(f"Cannot write {path}: {why}") from error
    except ValueError as error:  # a name that no system takes
        raise ExportError(f"Cannot write {str(path)!r}: {ended(str(error))}") from error


# What a file is called by default.


def stamp(moment: float | None = None) -> str:
    """A moment as it stands in names, in the reader's own time."""
    return time.strftime("%Y%m%d-%H%M%S", time.localtime(moment))


def file_stem(*words: str) -> str:
    """Words as the beginning of a file's name: what shells want quoted is left out."""
    safe = (_NOT_IN_NAMES.sub("_", word).strip("_.-") for word in words)
    return "-".join(word for word in safe if word)


def of_cases(cases: Sequence[Case]) -> str:
    """Op, size and dtype of some cases: ``matmul-256-4096-float32``."""

    def some(words: Iterable[str], noun: str) -> str:
        values = [word for word in dict.fromkeys(words) if word]
        return "-".join(values) if len(values) <= MANY else f"{len(values)}-{noun}s"

    ops = some((parts(c.op)[1] if is_own(c.op) else c.op for c in cases), "op")
    # A user's function may have no size.
    sizes = sorted({c.size for c in cases} - {0})
    span = "-".join(str(c) for c in sizes[:1] + sizes[1:][-1:])
    return file_stem(ops, span, some((c.dtype for c in cases), "dtype"))


# Tables.


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A line per row, after a line of names.

    A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return out.getvalue()


def _cell(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(FORMULA)
    return f"'{value}" if is_formula else value
