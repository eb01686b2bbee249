"""Two measurements of the past side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.analysis.comparison import Comparison, Pair
from jaxtui.document import SCHEMA
from jaxtui.model import Record
from jaxtui.text import visible
from jaxtui.view.text import COLUMNS, Line, Span, plain, table, wrap


class Pairs(Record, frozen=True, kw_only=True):
    """What ``jaxtui compare --json`` prints."""

    schema: int = SCHEMA
    pairs: tuple[Pair, ...]


def lines(found: Comparison, *, brief: bool = False) -> Iterator[Line]:
    """The answer, and below it what else is not the same.

    Args:
        found: the comparison.
        brief: the differences in one line.
    """
    yield (Span(found.sentence, found.answer),)
    differences = [visible(one, line=True) for one in found.differences]
    if not differences:
        yield (Span("Case, chip, host and versions are the same."),)
    elif brief:
        yield (Span(f"Not the same: {'; '.join(differences)}."),)
    else:
        yield (Span("Not the same:"),)
        yield from ((Span(f"  {one}"),) for one in differences)


def text(pairs: Sequence[Pair]) -> str:
    """A single pair in words, several as a table."""
    if len(pairs) > 1:
        return _table(pairs)
    (pair,) = pairs
    found = [
        line
        for side in (pair.first, pair.second)
        for line in wrap(f"{side.label}: {side.measurement.case.label}")
    ]
    answer, *rest = lines(pair.comparison)
    found += ["", *wrap(plain(answer)), ""]
    return "\n".join([*found, *(part for line in rest for part in wrap(plain(line)))])


def _table(pairs: Sequence[Pair]) -> str:
    """A row per pair, without a line that is broken: with what there is room for."""
    first, second = pairs[0].first.label, pairs[0].second.label
    rows = [_cells(pair) for pair in pairs]
    for a, b, columns in (
        (first, second, (0, 1, 2, 3, 4, 5)),
        ("A", "B", (0, 1, 2, 3, 4, 5)),
        ("A", "B", (0, 1, 2, 3, 5)),
    ):
        head = [("case", a, b, "ratio", "", "")[column] for column in columns]
        cells = [[row[column] for column in columns] for row in rows]
        drawn = table(head, cells, (a, b, "ratio"))
        if max(map(len, drawn.split("\n"))) <= COLUMNS:
            break
    parts = [] if a == first else ["\n".join(wrap(f"A is {first}, B is {second}."))]
    parts.append(drawn)
    shared = [
        line
        for one in pairs[0].comparison.differences
        if all(one in pair.comparison.differences for pair in pairs)
        for line in wrap(f"  {visible(one, line=True)}")
    ]
    if shared:
        parts.append("\n".join(["Not the same:", *shared]))
    return "\n\n".join(parts)


def _cells(pair: Pair) -> tuple[str, ...]:
    a, b = pair.first.measurement.ready, pair.second.measurement.ready
    found = pair.comparison
    ratio = ends = ""
    if found.ratio is not None and found.low is not None and found.high is not None:
        ratio, ends = f"{found.ratio:.3g}", f"[{found.low:.3g}, {found.high:.3g}]"
    return (
        pair.first.measurement.case.label,
        fmt.seconds(a.median if a else None),
        fmt.seconds(b.median if b else None),
        ratio,
        ends,
        found.answer,
    )
