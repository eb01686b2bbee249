"""``jaxtui history``: what was measured, when, on what."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from jaxtui.commands import CANNOT_RUN, CASE_FAILED, FINE
from jaxtui.commands.exporting import NO_EXPORTS, Exports
from jaxtui.commands.history_request import Request
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.options import (
    export_flags,
    flag,
    json_flag,
    valued,
)
from jaxtui.commands.terminal import is_terminal, put, put_bytes, say, typed_line
from jaxtui.document import encode
from jaxtui.format import plural
from jaxtui.history.store import History, HistoryError
from jaxtui.selection import SelectionError
from jaxtui.signals import interrupt
from jaxtui.view import history as view

ENDINGS = (".json", ".csv", ".md")
"""Of the files that a list can be written to."""


def run(request: Request, *, as_json: bool, exports: Exports = NO_EXPORTS) -> int:
    """Prints the list and gives the exit code.

    Args:
        request: which measurements.
        as_json: print one JSON document instead of a table.
        exports: the files to write what is listed to.

    Raises:
        CannotRun: if the history cannot be read.
    """
    history = History()
    try:
        page = history.page(request.wanted, limit=request.limit)
    except HistoryError as error:
        raise CannotRun(str(error)) from error
    if history.moved:
        say(history.moved)
    if page.unreadable:
        say(view.unreadable(page.unreadable))
    if as_json:
        put_bytes(encode(view.document(page)))
    elif page.rows:
        # Whoever pipes it somewhere gets every column.
        terminal = is_terminal(sys.stdout)
        width = shutil.get_terminal_size().columns if terminal else None
        put(view.text(page, width))
    elif not page.unreadable:
        put(_nothing(history, request))
    return FINE if exports.write(view.files(page)) else CANNOT_RUN


def forget(request: Request, *, sure: bool) -> int:
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
            return CASE_FAILED
        put(f"Deleted {history.delete(request.wanted)} from {history.path}.")
    except HistoryError as error:
        raise CannotRun(str(error)) from error
    return FINE


def _nothing(history: History, request: Request) -> str:
    if request.is_empty:
        return (
            "The history is empty: whatever `jaxtui` or `jaxtui bench` measures is kept"
            f" in {history.path}."
        )
    return "There is no such measurement: `jaxtui history` lists all."


def _agrees(count: int) -> bool:
    if not is_terminal(sys.stdin):
        raise SelectionError(
            f"This would delete {count} measurements: add --yes if it is meant."
        )
    say(f"Delete {plural(count, 'measurement')} for good? Type yes:")
    return (interrupt.run(typed_line()) or "").strip().lower() in ("y", "yes")


@click.command("history")
@click.argument("words", nargs=-1)
@valued("--op", "OP", "Only this op.")
@valued("--size", "SIZE", "Only this size, such as 2k.")
@valued("--dtype", "DTYPE", "Only this dtype.")
@valued("--device", "DEVICE", "Only tpu:0, or all of tpu.")
@valued("--mode", "MODE", "Only this mode.")
@valued("--host", "NAME", "Only what this machine measured.")
@valued("--since", "DATE", "2026-11-21, today, yesterday, 12h, 3d or 2w.")
@valued("--until", "DATE", "The moment before it, likewise.")
@valued("--limit", "N", "How many to list.", 30, type=click.IntRange(1))
@flag("--delete", "Forget them instead of listing them.")
@flag("--yes", "Do not ask before deleting.")
@json_flag
@export_flags("Write the list as well, by its ending: .json, .csv or .md.")
def command(
    *,
    delete: bool,
    yes: bool,
    as_json: bool,
    export: tuple[str, ...],
    force: bool,
    **typed: Any,
) -> int:
    """List what was measured, the newest first.

    WORDS are looked for in op, size, dtype, device, mode and host.
    """
    if yes and not delete:
        raise click.UsageError("--yes belongs to --delete: leave it out without.")
    if delete and as_json:
        raise click.UsageError("--delete prints one line: leave --json out with it.")
    if delete and (export or force):
        raise click.UsageError("--delete lists nothing: leave --export out with it.")
    request = Request.typed(**typed)
    if delete:
        return forget(request, sure=yes)
    exports = Exports.typed(export, force=force, endings=ENDINGS)
    return run(request, as_json=as_json, exports=exports)
