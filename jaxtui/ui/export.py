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

from jaxtui.core.model import PHASES, Case, Measurement, Remark
from jaxtui.core.model.own import is_own, parts
from jaxtui.core.places import write_whole
from jaxtui.core.text import ended, visible
from jaxtui.ui.documents import Results

FORMATS = (".json", ".csv", ".md", ".svg", ".py")
"""The endings of files: every figure, a row per case in base units, the report, the
report as a picture, and plain Python that measures the case without jaxtui."""

Contents = Mapping[str, Callable[[], str]]
"""By file ending: the function that makes the contents."""

MANY = 2
"""The number of ops or dtypes named in a file's name; more are counted."""

CASE = ("op", "size", "dtype", "precision", "device", "mode", "inputs")

CLOCK = (
    "median",
    "ci_low",
    "ci_high",
    "confidence",
    "mean",
    "p10",
    "p90",
    "p99",
    "max",
    "n",
)
"""The fields of a clock; seconds but for ``n``, the number of calls."""

RATES = (
    "pipelined_seconds",
    "flops",
    "bytes",
    "flops_per_second",
    "bytes_per_second",
    "error_vs_float64",
)

TIMES_NUMPY = ("times_numpy", "times_numpy_low", "times_numpy_high")
"""The speed-up over NumPy, and the ends of its interval."""

CSV = (
    *CASE,
    *(f"ready_{name}" for name in CLOCK),
    "dispatch_median",
    *RATES,
    *(f"{phase}_seconds" for phase in PHASES),
    "stopped",
    "notes",
    "run_notes",
    "failure",
    "hostname",
    "jax",
    *TIMES_NUMPY,
    "processes",
)
"""The columns, in order."""

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
        found = [word for word in dict.fromkeys(words) if word]
        return "-".join(found) if len(found) <= MANY else f"{len(found)}-{noun}s"

    ops = some((parts(c.op)[1] if is_own(c.op) else c.op for c in cases), "op")
    # A user's function may have no size.
    sizes = sorted({c.size for c in cases} - {0})
    span = "-".join(str(c) for c in sizes[:1] + sizes[1:][-1:])
    return file_stem(ops, span, some((c.dtype for c in cases), "dtype"))


# Tables.


def as_csv(results: Results) -> str:
    """A row per case in base units, after a row of names; absent facts are empty."""
    host = results.host
    shared: dict[str, Any] = {"run_notes": _flags(results.notes)}
    if host:
        shared |= {"hostname": host.hostname, "jax": host.jax}
    rows = [
        _csv_row(m) | shared | ({"hostname": m.hostname} if m.hostname else {})
        for m in results.measurements
    ]
    rows += [
        {name: getattr(failure.case, name) for name in CASE}
        | {"failure": failure.text}
        | shared
        for failure in results.failures
    ]
    return csv_text(CSV, rows)


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


def _csv_row(measurement: Measurement) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(measurement.case, name) for name in CASE}
    if measurement.ready:
        row |= {f"ready_{name}": getattr(measurement.ready, name) for name in CLOCK}
    if measurement.dispatch:
        row["dispatch_median"] = measurement.dispatch.median
    if times := measurement.times_numpy:
        row |= dict(
            zip(TIMES_NUMPY, (times.median, times.low, times.high), strict=True)
        )
    if measurement.processes:
        row["processes"] = measurement.processes.n
    row |= {name: getattr(measurement, name) for name in RATES}
    row |= {f"{phase}_seconds": getattr(measurement.phases, phase) for phase in PHASES}
    return row | {"stopped": measurement.stopped, "notes": _flags(measurement.notes)}


def _flags(notes: Sequence[Remark]) -> str:
    return " ".join(note.code for note in notes)
