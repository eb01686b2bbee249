"""``jaxtui compare``: two measurements of the past, or two files of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from jaxtui.core.comparison import Side, pairs
from jaxtui.core.history.store import History, UnknownEntryError
from jaxtui.core.model import SelectionError
from jaxtui.core.text import visible
from jaxtui.features.bench import messages
from jaxtui.features.bench.comparison import Pairs, gate, markdown_line, report, side
from jaxtui.ui.commands import FINE, SLOWER, UNDECIDED
from jaxtui.ui.commands.common import flag, named, valued
from jaxtui.ui.commands.options import Parsed, json_flag
from jaxtui.ui.commands.output import close, rendered


def _share(text: str) -> float:
    """The share that a percentage is: ``5%``, ``2.5 %``, ``5``."""
    number = re.fullmatch(r"([0-9]{1,4}(?:\.[0-9]+)?) ?%?", text.strip())
    if number is None or not float(number[1]):
        raise SelectionError(f'"{text}" is not a percentage: 5% or 2.5%, above 0.')
    return float(number[1]) / 100


@named(
    "compare",
    "jaxtui compare 12 15",
    "jaxtui compare before.json after.json --fail-if-slower 5%",
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@valued(
    "--fail-if-slower",
    "PERCENT",
    "Exit with 0 if B is not slower than A by more than this in any case, with 4 if it "
    "is, with 5 if that cannot be told.",
    type=Parsed("percent", _share),
)
@flag("--markdown", "Print one line of Markdown, for a pull request.")
@json_flag
def command(
    first: str,
    second: str,
    fail_if_slower: float | None,
    markdown: bool,
    as_json: bool,
) -> int:
    """Compare two measurements: is B faster than A?

    A and B are ids of the history, or documents of bench --json or learn NAME --json.
    """
    before, after = (list(_sides(typed)) for typed in (first, second))
    compared = pairs(before, after)
    if not compared:
        raise SelectionError(
            f"{first} and {second} have no case in common: compare two ids, or two"
            " files in which the same op, size, dtype and mode was measured."
        )
    judged, code = None, FINE
    if fail_if_slower is not None:
        taken = [pair.first for pair in compared]
        missing = [side for side in before if side not in taken]
        judged = gate(compared, fail_if_slower, missing)
        code = {False: FINE, True: SLOWER, None: UNDECIDED}[judged.slower]

    def text() -> str:
        if markdown:
            return markdown_line(compared, judged)
        return rendered(report(compared, judged=judged), notes=True)

    return close(document=Pairs.of(compared), text=text, as_json=as_json, code=code)


def _sides(named: str) -> Iterator[Side]:
    history = History()
    # Of at most 18 digits, as SQLite's integers have.
    if re.fullmatch(r"[0-9]{1,18}", named):
        number = int(named)
        try:
            entry = history.entry(number)
        except UnknownEntryError as error:
            raise SelectionError(str(error)) from error
        yield side(
            named, entry.host, entry.device, entry.measurement, history.before(entry)
        )
        return
    path = Path(named)
    try:
        host, measurements = messages.read(path)
    except OSError as error:
        raise SelectionError(
            f'"{named}" is neither an id of the history nor a file that can be read:'
            f" {error.strerror}."
        ) from error
    cases = [measurement.case for measurement in measurements]
    earlier = history.earlier(cases, host.hostname) if host is not None else {}
    label = visible(path.name, line=True)
    for measured in measurements:
        before = earlier.get(measured.case, ())
        yield side(label, host, None, measured, before)
