"""``jaxtui compare``: two measurements of the past, or two files of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from jaxtui.analysis.comparison import Side, pairs
from jaxtui.commands.options import json_flag
from jaxtui.commands.output import close, rendered
from jaxtui.history.store import History, HistoryError
from jaxtui.model import SelectionError
from jaxtui.model.remark import rejection
from jaxtui.text import visible
from jaxtui.view import document
from jaxtui.view.compare import Pairs, report, side


@click.command("compare")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@json_flag
def command(first: str, second: str, as_json: bool) -> int:
    """Compare two measurements: is B faster than A?

    A and B are ids of the history, or documents of bench --json or learn NAME --json.
    """
    found = pairs(*(list(_sides(one)) for one in (first, second)))
    if not found:
        raise rejection("nothing-in-common", first=first, second=second)
    return close(
        document=Pairs.of(found),
        text=lambda: rendered(report(found), notes=True),
        as_json=as_json,
    )


def _sides(named: str) -> Iterator[Side]:
    history = History()
    # Of at most 18 digits, as SQLite's integers have.
    if re.fullmatch(r"[0-9]{1,18}", named):
        number = int(named)
        try:
            entry = history.entry(number)
        except HistoryError as error:
            if error.remark.code != "no-measurement":
                raise
            raise SelectionError(error.remark) from error
        yield side(
            named, entry.host, entry.device, entry.measurement, history.before(entry)
        )
        return
    path = Path(named)
    try:
        host, found = document.read(path)
    except OSError as error:
        raise rejection("not-to-compare", typed=named, why=error.strerror) from error
    cases = [measurement.case for measurement in found]
    earlier = history.earlier(cases, host.hostname) if host is not None else {}
    label = visible(path.name, line=True)
    for one in found:
        yield side(label, host, None, one, earlier.get(one.case, ()))
