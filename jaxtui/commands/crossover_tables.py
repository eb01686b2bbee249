"""The tables of a search for crossings, each within the usual width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.crossover import Payback, Point, Search, faster, paybacks, ratio
from jaxtui.crossover.points import SIDES, Side
from jaxtui.crossover.words import Names, calls_text, names
from jaxtui.stats import Interval
from jaxtui.view.text import COLUMNS, table

FIRST_AND_SECOND = Names("first", "second")
"""What the two are called where their names are too long for a table."""


def calls(search: Search) -> str:
    """What a call takes on both sides at each size, and who is faster."""
    called = names(search.first, search.second)
    tables = (
        _calls(search, called, f"{called.first}/{called.second}"),
        _calls(search, called, "ratio"),
        _calls(search, FIRST_AND_SECOND, "first/second"),
    )
    return _narrow(tables)


def starts(search: Search) -> str:
    """What JAX takes once, at each size; empty for two that live on the host."""
    jax = [side for side in SIDES if not getattr(search, side).on_host]
    if not jax or not search.points:
        return ""
    called = names(search.first, search.second)
    tables = [_starts(search, jax, one) for one in (called, FIRST_AND_SECOND)]
    return _narrow(tables)


def _narrow(tables: Sequence[str]) -> str:
    """The first that fits, or the last."""
    for drawn in tables:
        if max(map(len, drawn.splitlines())) <= COLUMNS:
            return drawn
    return tables[-1]


def _drawn(rows: list[dict[str, str]]) -> str:
    head = [*rows[0]]
    return table(head, [[*row.values()] for row in rows], head)


def _calls(search: Search, called: Names, ratios: str) -> str:
    found = [ratio(point, "call") for point in search.points]
    most = max((one.confidence for one in found if one), default=0.0)
    rows = (_call(point, called, ratios, most) for point in search.points)
    return _drawn([dict(row) for row in rows])


def _call(
    point: Point, called: Names, ratios: str, confidence: float
) -> Iterator[tuple[str, str]]:
    """The cells of one size, by column; ``confidence`` is that of most intervals."""
    found = ratio(point, "call")
    yield "size", fmt.size(point.size)
    for side in SIDES:
        yield called.of(side), fmt.measured(point.of(side).ready)
    yield ratios, fmt.ratio(found and found.median)
    yield fmt.percent(confidence), _interval(found, confidence)
    yield "faster", _who(point, called)


def _starts(search: Search, jax: Sequence[Side], called: Names) -> str:
    paid = {one.size: one for one in paybacks(search.points)}
    rows = [
        _start(point, side, called if len(jax) > 1 else None, paid.get(point.size))
        for point in search.points
        for side in jax
    ]
    return _drawn(rows)


def _start(
    point: Point, side: Side, called: Names | None, paid: Payback | None
) -> dict[str, str]:
    """The cells of one side at one size, by column; ``called`` if there are two."""
    phases = point.of(side).phases
    sent = [one for one in (phases.transfer, phases.fetch) if one is not None]
    first = None if phases.first_call is None else phases.cold_seconds
    cells = {"size": fmt.size(point.size)}
    if called is not None:
        cells["of"] = called.of(side)
    cells["transfers"] = fmt.seconds(sum(sent) if sent else None, 2)
    cells["first call"] = fmt.seconds(first, 2)
    cells["pays after"] = calls_text(paid.calls) if paid and paid.side == side else ""
    return cells


def _interval(found: Interval | None, confidence: float) -> str:
    """Its ends, and how sure they are where the head of the column does not tell."""
    if found is None:
        return fmt.ABSENT
    ends = "…".join(fmt.significant(end, 2) for end in (found.low, found.high))
    if found.confidence == confidence:
        return ends
    return f"{ends} ({fmt.percent(found.confidence)})"


def _who(point: Point, called: Names) -> str:
    who = faster(point, "call")
    if who is None:
        return fmt.ABSENT
    return "neither" if who == "even" else called.of(who)
