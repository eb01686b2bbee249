"""``jaxtui history``: what was measured, when, on what."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

from jaxtui import format as fmt
from jaxtui.commands.history_request import Request
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.table import table
from jaxtui.commands.terminal import is_terminal, put, put_bytes, say
from jaxtui.document import SCHEMA, encode
from jaxtui.history import History, HistoryError, Row
from jaxtui.selection import SelectionError

__all__ = ["Request", "delete", "run"]

FINE, NOTHING = 0, 1

HEAD = ("id", "when", "op", "size", "dtype", "device", "mode", "ready", "rate", "host")
_RIGHT = ("id", "size", "ready", "rate")


def run(request: Request, *, as_json: bool) -> int:
    """Prints the list and gives the exit code.

    Raises:
        CannotRun: if the history cannot be read.
    """
    history = History()
    try:
        rows = history.rows(request.wanted, limit=request.limit)
        count = history.count(request.wanted)
    except HistoryError as error:
        raise CannotRun(str(error)) from error
    _tell(history)
    if as_json:
        put_bytes(encode(document(rows, count)))
        return FINE
    put(text(rows, count) if rows else _nothing(history, request))
    return FINE


def delete(request: Request, *, sure: bool) -> int:
    """Forgets what the request means, and gives the exit code.

    Raises:
        CannotRun: if the history cannot be written.
        SelectionError: if nothing says which, or nobody is there to be asked.
    """
    history = History()
    if request.is_empty:
        raise SelectionError(
            "Say which measurements to delete, as in `jaxtui history --op selu "
            "--delete`; --since 1970-01-01 means all of them."
        )
    try:
        count = history.count(request.wanted)
        if not count:
            put("There is no such measurement.")
            return FINE
        if not sure and not _agrees(count):
            put("Nothing was deleted.")
            return NOTHING
        put(f"Deleted {history.delete(request.wanted)} from {history.path}.")
    except HistoryError as error:
        raise CannotRun(str(error)) from error
    return FINE


def document(rows: list[Row], count: int) -> dict[str, Any]:
    """The JSON document as plain objects."""
    return {"schema": SCHEMA, "count": count, "measurements": rows}


def text(rows: list[Row], count: int) -> str:
    """The table, and how much more there is."""
    lines = [table(HEAD, [_cells(row) for row in rows], _RIGHT)]
    if count > len(rows):
        lines.append(f"{len(rows)} of {count}, the newest: --limit N shows more.")
    return "\n".join(lines)


def when(seconds: float) -> str:
    """A moment in the reader's own time."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _cells(row: Row) -> tuple[str, ...]:
    return (
        str(row.id),
        when(row.at),
        row.op,
        fmt.size(row.size),
        row.dtype + ("" if row.precision == "default" else f" {row.precision}"),
        row.device,
        row.mode + (" host inputs" if row.inputs == "host" and row.device_kind else ""),
        fmt.seconds(row.ready),
        _rate(row),
        row.hostname,
    )


def _rate(row: Row) -> str:
    if row.flops_per_second is not None:
        return fmt.flops_rate(row.flops_per_second)
    return fmt.bytes_rate(row.bytes_per_second)


def _nothing(history: History, request: Request) -> str:
    if request.is_empty:
        return (
            "The history is empty: whatever `jaxtui` or `jaxtui bench` measures is kept"
            f" in {history.path}."
        )
    return "There is no such measurement: `jaxtui history` lists all."


def _tell(history: History) -> None:
    if history.moved:
        say(history.moved)


def _agrees(count: int) -> bool:
    if not is_terminal(sys.stdin):
        raise SelectionError(
            f"This would delete {count} measurements: add --yes if it is meant."
        )
    plural = "" if count == 1 else "s"
    say(f"Delete {count} measurement{plural} for good? Type yes:")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
