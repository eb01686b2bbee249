"""``jaxtui compare``: two measurements of the past, or two files of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from jaxtui import format as fmt
from jaxtui.commands import FINE
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.terminal import put, put_bytes
from jaxtui.document import Results, encode
from jaxtui.history import History, HistoryError
from jaxtui.history.comparison import Pair, Pairs, Side, compare
from jaxtui.model import Case
from jaxtui.selection import SelectionError
from jaxtui.text import visible
from jaxtui.view.text import table


def run(first: str, second: str, *, as_json: bool) -> int:
    """Prints how the second compares with the first, and gives the exit code.

    Args:
        first: An id of the history, or a document of ``jaxtui bench --json``.
        second: Likewise.
        as_json: One JSON document instead of text.

    Raises:
        SelectionError: if there is no such measurement, or nothing to compare.
        CannotRun: if the history cannot be read.
    """
    sides = [_sides(one) for one in (first, second)]
    pairs = tuple(
        Pair(first=a, second=b, comparison=compare(a, b)) for a, b in _paired(*sides)
    )
    if not pairs:
        raise SelectionError(
            f"{first} and {second} have no case in common: compare two ids, or two "
            "files in which the same op, size, dtype and mode was measured."
        )
    if as_json:
        put_bytes(encode(Pairs(pairs=pairs)))
    else:
        put(text(pairs))
    return FINE


def text(pairs: Sequence[Pair]) -> str:
    """A single pair in words, several as a table."""
    if len(pairs) > 1:
        return _table(pairs)
    (pair,) = pairs
    lines = [
        f"{side.label}: {side.measurement.case.label}"
        for side in (pair.first, pair.second)
    ]
    lines += ["", pair.comparison.sentence]
    if pair.comparison.differences:
        lines += ["", "Not the same:"]
        lines += [f"  {visible(one, line=True)}" for one in pair.comparison.differences]
    return "\n".join(lines)


def _table(pairs: Sequence[Pair]) -> str:
    rows = [_cells(pair) for pair in pairs]
    head = ("case", pairs[0].first.label, pairs[0].second.label, "ratio", "", "")
    shared = [
        one
        for one in pairs[0].comparison.differences
        if all(one in pair.comparison.differences for pair in pairs)
    ]
    parts = [table(head, rows, head[1:4])]
    if shared:
        parts.append(
            "Not the same:\n"
            + "\n".join(f"  {visible(one, line=True)}" for one in shared)
        )
    return "\n\n".join(parts)


def _cells(pair: Pair) -> tuple[str, ...]:
    a, b = pair.first.measurement.ready, pair.second.measurement.ready
    found = pair.comparison
    known = found.ratio is not None and found.low is not None and found.high is not None
    return (
        pair.first.measurement.case.label,
        fmt.seconds(a.median if a else None),
        fmt.seconds(b.median if b else None),
        f"{found.ratio:.3g}" if known else "",
        f"[{found.low:.3g}, {found.high:.3g}]" if known else "",
        found.answer,
    )


def _sides(named: str) -> list[Side]:
    # Of at most 18 digits, as SQLite's integers have.
    if re.fullmatch(r"[0-9]{1,18}", named):
        return [_of_history(int(named))]
    return list(_of_file(Path(named)))


def _of_history(number: int) -> Side:
    try:
        entry = History().entry(number)
    except HistoryError as error:
        if str(error).startswith("There is no"):
            hint = " `jaxtui history` lists them."
            raise SelectionError(f"{error}{hint}") from error
        raise CannotRun(str(error)) from error
    return Side(
        label=str(number),
        host=entry.host,
        device=entry.device,
        measurement=entry.measurement,
    )


def _of_file(path: Path) -> Iterator[Side]:
    try:
        results = msgspec.json.decode(path.read_bytes(), type=Results)
    except OSError as error:
        raise SelectionError(
            f"{path} is neither an id of the history nor a file that can be read: "
            f"{error.strerror}."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SelectionError(
            f"{path} is no document of `jaxtui bench --json`: {error}."
        ) from error
    if not results.measurements:
        raise SelectionError(f"{path} has no measurements to compare.")
    for measurement in results.measurements:
        yield Side(
            label=visible(path.name, line=True),
            host=results.host,
            device=None,
            measurement=measurement,
        )


def _paired(
    first: Sequence[Side], second: Sequence[Side]
) -> Iterator[tuple[Side, Side]]:
    """One on each side belong together in any case; of several, the same cases."""
    if len(first) == len(second) == 1:
        yield first[0], second[0]
        return
    for same in (_exactly, _elsewhere):
        by_case = {same(side.measurement.case): side for side in second}
        found = [
            (side, by_case[key])
            for side in first
            if (key := same(side.measurement.case)) in by_case
        ]
        if found:
            yield from found
            return


def _exactly(case: Case) -> Case:
    return case


def _elsewhere(case: Case) -> Case:
    """The case without the device, for another machine's file."""
    return msgspec.structs.replace(case, device="")
