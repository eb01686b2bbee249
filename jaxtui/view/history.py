"""The history: its list, one measurement of it, and its files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import msgspec

from jaxtui import format as fmt
from jaxtui.history.store import Entry, Page, Row
from jaxtui.model import PHASES, Measurement, Record
from jaxtui.model.base import dtype_label
from jaxtui.model.measurement import is_vague
from jaxtui.model.own import short_name
from jaxtui.selection import DTYPE_ALIASES
from jaxtui.text import visible
from jaxtui.view import words
from jaxtui.view.document import SCHEMA, encode, machine
from jaxtui.view.export import Contents, csv_text, markdown
from jaxtui.view.text import Column, Line, Span, Table, fit, fold

WHERE = ("hostname", "cpu", "python", "jax", "jaxlib", "numpy")
"""What is said of the machine of one measurement."""

HEAD = ("id", "when", "op", "size", "dtype", "device", "mode", "ready", "rate", "host")
"""One per cell."""

RIGHT = ("id", "size", "ready", "rate")
"""The heads of columns that are aligned at the right."""


def cells(row: Row) -> tuple[str, ...]:
    """The texts of a row, in the order of ``HEAD``."""
    return (
        str(row.id),
        when(row.at),
        short_name(row.op),
        fmt.size(row.size),
        dtype_label(row.dtype, row.precision),
        row.device,
        row.mode + (" host inputs" if row.inputs == "host" and row.device_kind else ""),
        fmt.seconds(row.ready),
        str(fmt.speed(row.flops_per_second, row.bytes_per_second)),
        row.hostname,
    )


def when(seconds: float) -> str:
    """A moment in the reader's own time."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def short_when(seconds: float) -> str:
    """The same in eleven characters: without the year, or else without the time."""
    return " ".join(filter(None, _day_and_time(seconds)))


def _day_and_time(seconds: float) -> tuple[str, str]:
    """A day of this year and the time; one of another year alone."""
    moment = datetime.fromtimestamp(seconds)
    if moment.year != datetime.now().year:
        return moment.strftime("%Y-%m-%d"), ""
    return moment.strftime("%m-%d"), moment.strftime("%H:%M")


def unreadable(count: int) -> str:
    return f"{fmt.plural(count, 'row')} of the history could not be read."


def text(page: Page, width: int | None = None) -> str:
    """The table, and how much more there is."""
    found = columns(page.rows, width, HEAD, gap=2)
    lines = [found.text()]
    hosts = {row.hostname for row in page.rows}
    if len(hosts) == 1 and all(one.key != "host" for one in found.columns):
        lines.append(f"All on {visible(hosts.pop(), line=True)}.")
    read = len(page.rows)
    if page.count > read + page.unreadable:
        lines.append(f"{read} of {page.count}, the newest: --limit N shows more.")
    return "\n".join(lines)


RANKS = {"rate": 6, "host": 5, "device": 4, "dtype": 3, "when": 2, "mode": 1}
"""What is left out where there is no room, the highest first: by its moment a
measurement is told from the others of its case."""

LONGEST = 24
"""Cells that names of ops and hosts take at most."""

SHORT = 16
"""To so many cells the name of an op is cut before a column is left out."""

INDENT = 11
"""Cells of a name before its words: the labels of most notes fit."""


def columns(
    rows: Sequence[Row],
    width: int | None,
    names: Sequence[str] = HEAD[1:],
    *,
    gap: int = 1,
) -> Table:
    """What a list of this width has room for, each column in one unit.

    A host that all rows share is no column, and moments are short.

    Without a width there are all columns, with nothing cut.
    """
    times = fmt.shared(row.ready or 0.0 for row in rows)
    rates = fmt.shared((row.flops_per_second or 0.0 for row in rows), "FLOP/s")
    found = zip(HEAD, zip(*map(cells, rows), strict=True), strict=True)
    texts = {
        name: tuple(visible(each, line=True) for each in column)
        for name, column in found
    }
    if width is not None:
        texts["when"] = tuple(short_when(row.at) for row in rows)
        if len(set(texts["host"])) == 1:
            names = [name for name in names if name != "host"]
    units = [times.of(row.ready or 0.0) for row in rows]
    numbers = fmt.aligned(
        unit.text(row.ready) for row, unit in zip(rows, units, strict=True)
    )
    texts["ready"] = numbers
    if not times.name:
        texts["ready"] = tuple(
            f"{number} {unit.name:>2}" if row.ready else number
            for row, number, unit in zip(rows, numbers, units, strict=True)
        )
    moved = [
        fmt.figure(
            row.bytes_per_second if row.flops_per_second is None else None, "B/s"
        )
        for row in rows
    ]
    write = fmt.alike(moved)
    texts["rate"] = tuple(
        write(bytes_)
        if row.flops_per_second is None
        else rates.text(row.flops_per_second)
        for row, bytes_ in zip(rows, moved, strict=True)
    )
    heads = {
        "ready": f"ready {times.name}".rstrip(),
        "rate": rates.name or "rate",
    }
    longest = max(map(len, ("op", *texts["op"])))
    possible = []
    for name in names:
        column = Column(
            name,
            heads.get(name, name),
            [
                (Span(text, _role(name, text, row)),)
                for text, row in zip(texts[name], rows, strict=True)
            ],
            rank=RANKS.get(name, 0),
            right=name in RIGHT,
        )
        if width is not None and name in ("op", "host"):
            most = min(longest, LONGEST) if name == "op" else LONGEST
            column = replace(column, most=most)
        if width is not None and name == "op":
            # Of a function the name tells most, which is the end.
            least = min(longest, SHORT)
            column = replace(column, least=least, grows=True, tail=True)
        possible.append(column)
    return fit(possible, sys.maxsize if width is None else width - 1, gap)


def _role(name: str, text: str, row: Row) -> str:
    if name == "ready":
        # A list does not know how many rounds there were.
        wide = is_vague(row.ci_low or 0.0, row.ci_high or 0.0, 1.0)
        return "unknown" if wide else "value"
    return "numpy" if (name, text) == ("mode", "numpy") else "label"


# One measurement.


@dataclass(frozen=True, slots=True)
class Headline:
    """The figure that matters, which a screen may draw large."""

    number: Span
    unit: str = ""
    interval: Line = ()
    basis: Line = ()
    """How many calls that rests on."""


def headline(one: Measurement) -> Headline:
    ready = one.ready
    if ready is None:
        return Headline(Span("no samples", "muted"))
    median = fmt.median(ready)
    number, unit = (
        (median, "")
        if isinstance(median, str)
        else (median.number(median.unit), median.unit.name)
    )
    name = fmt.interval_name(ready.confidence)
    return Headline(
        Span(number, "unknown" if ready.vague else "hero"),
        unit,
        (Span(str(fmt.ends(ready))), Span(f"  {name}", "muted")),
        (Span(fmt.sampled(ready), "muted"),),
    )


def search(text: str) -> str | None:
    """The words to search for: ``bf16`` means ``bfloat16``, as elsewhere."""
    typed = text.lower().split()
    return " ".join(DTYPE_ALIASES.get(word, word) for word in typed) or None


def on_screen(entry: Entry, width: int) -> Iterator[Line]:
    """One measurement."""
    told = headline(entry.measurement)
    unit = (Span(f" {told.unit}", "title"),) if told.unit else ()
    yield (told.number, *unit, Span("  "), *told.interval, Span("  "), *told.basis)
    for line in facts(entry):
        yield from fold(line, width, later=" " * INDENT)


def facts(entry: Entry) -> Iterator[Line]:
    """What stands below the figures of a measurement."""
    one = entry.measurement
    yield _named("clocks", ", ".join(_clocks(one)))
    yield _named("phases", _phases(one) or "none was measured")
    yield _named("rates", ", ".join(_rates(one)) or "none")
    yield _named("when", f"{when(entry.at)}, id {entry.id}")
    yield _named("where", _where(entry))
    yield from _source(one)
    yield from (_named(words.label(note), words.text(note)) for note in one.notes)


def _source(one: Measurement) -> Iterator[Line]:
    if source := one.source:
        packages = (f"{name} {version}" for name, version in source.packages.items())
        yield _named("source", ", ".join((source.digest, *packages)))


def _named(name: str, words: str) -> Line:
    return (Span(f"{name:<{INDENT - 1}} ", "title"), Span(words))


def _where(entry: Entry) -> str:
    kind = f"{entry.device.device_kind} on " if entry.device else ""
    return kind + machine(entry.host, *WHERE)


def _clocks(one: Measurement) -> Iterator[str]:
    ready = one.ready
    if ready is None:
        yield "no samples"
        return
    if one.dispatch is not None:
        yield f"dispatch {fmt.median(one.dispatch)}"
    if one.memory is not None:
        yield f"memory {fmt.span(one.memory)}"
    if one.pipelined_seconds is not None:
        yield f"pipelined {fmt.seconds(one.pipelined_seconds)}"
    if one.processes is not None:
        yield f"processes {fmt.processes(one.processes)}"


def _phases(one: Measurement) -> str:
    """In one unit, which stands at the end, unless they are too far apart."""
    found = {
        name.replace("_", " "): seconds
        for name in PHASES
        if (seconds := getattr(one.phases, name)) is not None
    }
    unit = fmt.shared(found.values())
    words = ", ".join(f"{name} {unit.text(each)}" for name, each in found.items())
    return f"{words} {unit.name}".strip()


def _rates(one: Measurement) -> Iterator[str]:
    if one.flops_per_second is not None:
        yield fmt.rate(one.flops_per_second)
    if one.bytes_per_second is not None:
        yield fmt.rate(one.bytes_per_second, "B/s")
    if one.error_vs_float64 is not None:
        yield f"error {fmt.error(one.error_vs_float64)}"


# Files.


class Document(Record, frozen=True, kw_only=True):
    """What ``jaxtui history --json`` prints."""

    schema: int = SCHEMA
    count: int
    unreadable: int
    measurements: tuple[Row, ...]


def document(page: Page) -> Document:
    return Document(
        count=page.count, unreadable=page.unreadable, measurements=tuple(page.rows)
    )


def files(page: Page) -> Contents:
    return {
        ".json": lambda: encode(document(page)).decode(),
        ".csv": lambda: as_csv(page.rows),
        ".md": lambda: as_markdown(page.rows) + "\n",
    }


def as_csv(rows: Sequence[Row]) -> str:
    """A row per measurement in base units, after a row of names.

    ``date`` is ``at`` in words that spreadsheets read; it is UTC.
    """
    dates = (datetime.fromtimestamp(row.at, timezone.utc) for row in rows)
    return csv_text(
        ("date", *Row.__struct_fields__),
        (
            {"date": date.isoformat(timespec="seconds"), **msgspec.structs.asdict(row)}
            for row, date in zip(rows, dates, strict=True)
        ),
    )


def as_markdown(rows: Sequence[Row]) -> str:
    """A table for people, without a newline at its end."""
    return markdown(HEAD, [cells(row) for row in rows], RIGHT)
