"""``jaxtui history``: what was measured, when, on what."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import click

from jaxtui.core.format import plural
from jaxtui.core.history.store import Filter, History
from jaxtui.core.model.remark import SelectionError
from jaxtui.core.signals import interrupt
from jaxtui.features.history import report as view
from jaxtui.ui.commands import CASE_FAILED, FINE
from jaxtui.ui.commands.common import Whole, flag, named, valued
from jaxtui.ui.commands.options import Parsed, json_flag
from jaxtui.ui.commands.output import Exports, close, export_flags, rendered
from jaxtui.ui.commands.progress import confirm
from jaxtui.ui.commands.terminal import print_stdout

_AGO = re.compile(r"(\d+)\s*(h|d|w)")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def moment(text: str, now: datetime | None = None) -> float:
    """Seconds since 1970 of ``2026-11-21``, ``2026-11-21 14:30``, ``3d``.

    A date means its beginning, in the reader's own time; ``12h``, ``3d`` and ``2w``
    count back from now.

    Args:
        text: What was typed.
        now: The present; for tests.

    Raises:
        SelectionError: It is none of these.
    """
    now = now or datetime.now()
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return (now - int(ago[1]) * _UNITS[ago[2]]).timestamp()
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise SelectionError(
            f'"{text}" is not a date: write 2026-11-21, "2026-11-21 14:30", 12h, 3d or'
            " 2w."
        ) from None


MOMENT = Parsed("date", moment, ("12h", "3d", "2w"))


@named(
    "history",
    "jaxtui history matmul bf16 tpu",
    "jaxtui history tpu --since 3d --export list.csv",
)
@click.argument("words", nargs=-1)
@valued(
    "--since", "DATE", "Only later ones: 2026-11-21, or 12h, 3d or 2w ago.", type=MOMENT
)
@valued("--until", "DATE", "Only earlier ones, in the same form.", type=MOMENT)
@valued("--limit", "N", "How many to list.", 30, type=Whole(1))
@flag("--delete", "Delete them instead of listing them.")
@flag("--yes", "Do not ask before deleting.")
@json_flag
@export_flags("the list", (".json", ".csv", ".md"))
def command(
    *,
    words: tuple[str, ...],
    limit: int,
    delete: bool,
    yes: bool,
    as_json: bool,
    exports: Exports,
    **fields: Any,
) -> int:
    """List measurements, the newest first.

    WORDS show only those that match every word: op, size, dtype, device, mode or host.
    """
    if yes and not delete:
        raise SelectionError("--yes works only with --delete.")
    if delete and as_json:
        raise SelectionError("--delete and --json do not go together: leave one out.")
    if delete and exports.paths:
        raise SelectionError("--delete and --export do not go together: leave one out.")
    # Every other option is a field of a filter.
    wanted = Filter(**fields, text=view.search(" ".join(words)))
    history = History()
    if delete:
        return _delete(history, wanted, sure=yes)
    page = history.page(wanted, limit=limit)

    def text() -> str:
        if page.rows or page.unreadable:
            return rendered(view.listing(page))
        if wanted == Filter():
            return (
                "The history is empty: `jaxtui` and `jaxtui bench` save measurements in"
                f" {history.path}."
            )
        return "No measurement matches: `jaxtui history` lists all."

    return close(
        document=view.document(page),
        text=text,
        as_json=as_json,
        contents=lambda: view.files(page),
        exports=exports,
    )


def _delete(history: History, wanted: Filter, *, sure: bool) -> int:
    """Delete what is wanted, and return the exit code.

    Raises:
        SelectionError: if nothing says which, or there is no terminal to ask on.
    """
    if wanted == Filter():
        raise SelectionError(
            "Name the measurements to delete, as in `jaxtui history selu --delete`;"
            " --since 1970-01-01 selects all of them."
        )
    count = history.count(wanted)
    if not count:
        print_stdout("No measurement matches: `jaxtui history` lists all.")
        return FINE
    what = f"This would delete {plural(count, 'measurement')} for good"
    if not sure and not interrupt.run(confirm(what)):
        print_stdout("Nothing was deleted.")
        return CASE_FAILED
    print_stdout(f"Deleted {history.delete(wanted)} from {history.path}.")
    return FINE
