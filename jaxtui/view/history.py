"""The history: its list, one measurement of it, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import msgspec

from jaxtui import format as fmt
from jaxtui.document import SCHEMA, encode
from jaxtui.export import Contents, csv_text, markdown
from jaxtui.history.store import Entry, Page, Row
from jaxtui.model import PHASES, Host, Measurement
from jaxtui.model.own import short_name
from jaxtui.view.text import Line, Span, table

HEAD = ("id", "when", "op", "size", "dtype", "device", "mode", "ready", "rate", "host")
"""One per cell."""

RIGHT = ("id", "size", "ready", "rate")
"""The heads of columns that are aligned at the right."""

SHORTEST = 8
"""Cells that the name of an op keeps where there is no room."""


def cells(row: Row) -> tuple[str, ...]:
    """The texts of a row, in the order of ``HEAD``."""
    rate = fmt.flops_rate(row.flops_per_second)
    if row.flops_per_second is None:
        rate = fmt.bytes_rate(row.bytes_per_second)
    return (
        str(row.id),
        when(row.at),
        short_name(row.op),
        fmt.size(row.size),
        row.dtype + ("" if row.precision == "default" else f" {row.precision}"),
        row.device,
        row.mode + (" host inputs" if row.inputs == "host" and row.device_kind else ""),
        fmt.seconds(row.ready),
        rate,
        row.hostname,
    )


def when(seconds: float) -> str:
    """A moment in the reader's own time."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def short_when(seconds: float, now: datetime | None = None) -> str:
    """The same in eleven characters: without the year, or else without the time.

    Args:
        seconds: since 1970.
        now: the present; for tests.
    """
    moment = datetime.fromtimestamp(seconds)
    this_year = moment.year == (now or datetime.now()).year
    return moment.strftime("%m-%d %H:%M" if this_year else "%Y-%m-%d")


def unreadable(count: int) -> str:
    """What is said of damaged rows."""
    return f"{fmt.plural(count, 'row')} of the history could not be read."


def text(page: Page, width: int | None = None) -> str:
    """The table, and how much more there is.

    Args:
        page: with at least one row.
        width: cells of a line; ``None`` for as many as it takes. Where there are too
            few, the host that all rows share is said below, moments are short, and
            columns drop out, so that no line is broken.
    """
    below = []
    rows: list[Mapping[str, str]] = [
        dict(zip(HEAD, cells(row), strict=True)) for row in page.rows
    ]
    head = list(HEAD)
    drawn = _table(head, rows)
    hosts = {row.hostname for row in page.rows}
    if _too_wide(drawn, width) and len(hosts) == 1:
        head.remove("host")
        below.append(f"All on {page.rows[0].hostname}.")
        drawn = _table(head, rows)
    if _too_wide(drawn, width):
        moments = [{"when": short_when(row.at)} for row in page.rows]
        rows = [{**row, **short} for row, short in zip(rows, moments, strict=True)]
        drawn = _table(head, rows)
    for name in ("rate", "host"):
        if _too_wide(drawn, width) and name in head:
            head.remove(name)
            drawn = _table(head, rows)
    if width is not None and (over := _widest(drawn) - width) > 0:
        longest = max(len(row["op"]) for row in rows)
        room = max(SHORTEST, longest - over)
        rows = [{**row, "op": _end_of(row["op"], room)} for row in rows]
        drawn = _table(head, rows)
    read = len(page.rows)
    if page.count > read + page.unreadable:
        below.append(f"{read} of {page.count}, the newest: --limit N shows more.")
    return "\n".join([drawn, *below])


def _table(head: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    return table(head, [[row[name] for name in head] for row in rows], RIGHT)


def _widest(drawn: str) -> int:
    return max(map(len, drawn.split("\n")))


def _too_wide(drawn: str, width: int | None) -> bool:
    return width is not None and _widest(drawn) > width


def _end_of(name: str, room: int) -> str:
    """Of a user's function the end tells most."""
    return name if len(name) <= room else "…" + name[1 - room :]


# One measurement.


def brief(entry: Entry) -> str:
    """All that matters most of a measurement, in one line."""
    one, device = entry.measurement, entry.device
    parts = [
        f"{one.case.label}: {fmt.seconds_pm(one.ready)}",
        device.device_kind if device else "",
        f"{entry.host.hostname}, jax {entry.host.jax}",
        ", ".join(note.flag for note in one.notes),
    ]
    return "  ·  ".join(part for part in parts if part)


def whole(entry: Entry) -> Iterator[Line]:
    """Everything that is known of a measurement."""
    one, device = entry.measurement, entry.device
    yield (
        Span(one.case.label, "case"),
        Span(f"  {when(entry.at)}  id {entry.id}"),
    )
    kind = f"{device.device_kind}  on  " if device else ""
    facts = [
        ("where", kind + _host(entry.host)),
        ("clocks", ", ".join(_clocks(one))),
        ("phases", ", ".join(_phases(one)) or "none was measured"),
        ("rates", ", ".join(_rates(one))),
        *((note.flag, note.text) for note in one.notes),
    ]
    for name, words in facts:
        if words:
            yield (Span(name.ljust(8), "title"), Span(words))


def _host(host: Host) -> str:
    cpu = f", {host.cpu_model}" if host.cpu_model else ""
    return (
        f"{host.hostname}{cpu}, Python {host.python}, jax {host.jax},"
        f" jaxlib {host.jaxlib}, numpy {host.numpy}"
    )


def _clocks(one: Measurement) -> Iterator[str]:
    ready = one.ready
    if ready is None:
        yield "no samples"
        return
    yield f"ready {fmt.seconds(ready.median)}"
    yield fmt.interval(ready)
    if one.dispatch is not None:
        yield f"dispatch {fmt.measured(one.dispatch)}"
    if one.memory is not None:
        yield f"memory {fmt.span(one.memory)}"
    if one.pipelined_seconds is not None:
        yield f"pipelined {fmt.seconds(one.pipelined_seconds)}"
    yield f"{ready.n} calls in {ready.rounds} rounds"


def _phases(one: Measurement) -> Iterator[str]:
    for name in PHASES:
        seconds = getattr(one.phases, name)
        if seconds is not None:
            yield f"{name.replace('_', ' ')} {fmt.seconds(seconds)}"


def _rates(one: Measurement) -> Iterator[str]:
    if one.flops_per_second is not None:
        yield fmt.flops_rate(one.flops_per_second)
    if one.bytes_per_second is not None:
        yield fmt.bytes_rate(one.bytes_per_second)
    if one.error_vs_float64 is not None:
        yield f"error {fmt.error(one.error_vs_float64)}"


# Files.


def document(page: Page) -> dict[str, Any]:
    """What ``jaxtui history --json`` prints, as plain objects."""
    return {
        "schema": SCHEMA,
        "count": page.count,
        "unreadable": page.unreadable,
        "measurements": page.rows,
    }


def files(page: Page) -> Contents:
    """What is listed, in each kind of file."""
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
