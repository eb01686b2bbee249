"""The history: its list, one measurement of it, and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

import msgspec
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.history.store import Entry, Page, Row
from jaxtui.core.model import PHASES, Measurement, Remark
from jaxtui.core.model.base import dtype_label
from jaxtui.core.model.document import Document
from jaxtui.core.model.own import short_name
from jaxtui.core.selection import DTYPE_ALIASES
from jaxtui.features.bench.figures import figure
from jaxtui.ui.documents import encode, machine
from jaxtui.ui.export import Contents, csv_text
from jaxtui.ui.plot import SERIES
from jaxtui.ui.report import Cell, Column, Report, Rows, gather, markdown, styled
from jaxtui.ui.text import Span

WHERE = ("hostname", "cpu", "python", "jax", "jaxlib", "numpy")
"""The facts about the machine of one measurement."""

RIGHT = ("id", "size", "ready", "interval", "rate")
"""The heads of columns that are aligned at the right."""


def label(row: Row) -> dict[str, str]:
    """The texts that tell the case of a row, by the heads of their columns."""
    return {
        "op": short_name(row.op),
        "size": fmt.size(row.size),
        "dtype": dtype_label(row.dtype, row.precision),
        "device": row.device,
        "mode": row.mode
        + (" host inputs" if row.inputs == "host" and row.device_kind else ""),
    }


def when(seconds: float) -> str:
    """A moment in the reader's own time."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def short_when(seconds: float) -> str:
    """Write a time in eleven characters: without the year, or else without the time."""
    return " ".join(filter(None, _day_and_time(seconds)))


def _day_and_time(seconds: float) -> tuple[str, str]:
    """A day of this year and the time; one of another year alone."""
    moment = datetime.fromtimestamp(seconds)
    if moment.year != datetime.now().year:
        return moment.strftime("%Y-%m-%d"), ""
    return moment.strftime("%m-%d"), moment.strftime("%H:%M")


def listing(page: Page) -> Report:
    """The list."""
    remarks = []
    if page.unreadable:
        remarks.append(Remark("damaged-rows", {"rows": page.unreadable}, "warning"))
    count = len(page.rows)
    if page.count > count + page.unreadable:
        remarks.append(Remark("more-rows", {"shown": count, "count": page.count}))
    hosts = {row.hostname for row in page.rows}
    return Report(
        title="history",
        tables=[Rows(columns(page.rows, ids=True))] if page.rows else (),
        notes=gather((), remarks),
        host=hosts.pop() if len(hosts) == 1 else "",
    )


RANKS = {
    "rate": 7,
    "interval": 6,
    "host": 5,
    "device": 4,
    "dtype": 3,
    "when": 2,
    "mode": 1,
}
"""The columns that are dropped where there is no room, the highest first: the time
tells a measurement from the others of its case."""

LONGEST = 24
"""Cells that names of ops and hosts take at most."""

SHORT = 16
"""The cells to which an op's name is cut before a column is dropped."""


def columns(rows: Sequence[Row], *, ids: bool = False) -> list[Column]:
    """The list, figures as in a bench; a host that all rows share is no column."""
    texts: dict[str, Sequence[Cell]] = {}
    if ids:
        texts["id"] = [str(row.id) for row in rows]
    texts["when"] = [short_when(row.at) for row in rows]
    labels = [label(row) for row in rows]
    texts |= {name: [styled(cells[name]) for cells in labels] for name in labels[0]}
    texts["mode"] = [
        styled(cells["mode"], row.mode if row.mode in SERIES else "")
        for row, cells in zip(rows, labels, strict=True)
    ]
    intervals = [row.interval for row in rows]
    timed = [interval for interval in intervals if interval]
    times = fmt.shared(
        (interval.median for interval in timed),
        ends=(end for interval in timed for end in (interval.low, interval.high)),
    )
    texts["ready"] = [
        figure(interval, times) if interval else fmt.ABSENT for interval in intervals
    ]
    texts["interval"] = [
        (Span(fmt.ends_beside(interval, times), "muted"),)
        if interval and interval.confidence
        else ""
        for interval in intervals
    ]
    speeds = [fmt.speed(row.flops_per_second, row.bytes_per_second) for row in rows]
    write = fmt.alike(speeds)
    texts["rate"] = [
        styled(write(speed), "unknown" if interval and interval.vague else "")
        for speed, interval in zip(speeds, intervals, strict=True)
    ]
    hosts = [row.hostname for row in rows]
    if len(set(hosts)) > 1:
        texts["host"] = hosts
    heads = {
        "ready": f"ready {times.name}".rstrip(),
        # Beside ``ready``, whose rate it is not.
        "rate": "pipelined",
    }
    longest = max(map(len, ("op", *(cells["op"] for cells in labels))))
    return [
        Column(
            heads.get(name, name),
            cells,
            rank=RANKS.get(name, 0),
            right=name in RIGHT,
            # Of a function the name tells most, which is the end.
            least=min(longest, SHORT) if name == "op" else 0,
            most=LONGEST if name in ("op", "host") else None,
            grows=name == "op",
            tail=name == "op",
        )
        for name, cells in texts.items()
    ]


# One measurement.


def search(text: str) -> str | None:
    """The words to search for: ``bf16`` means ``bfloat16``, as elsewhere."""
    typed = text.lower().split()
    return " ".join(DTYPE_ALIASES.get(word, word) for word in typed) or None


def report(entry: Entry) -> Report:
    """Return the report of a measurement."""
    measurement = entry.measurement
    kind = entry.device.device_kind if entry.device else ""
    where = (
        when(entry.at),
        f"id {entry.id}",
        kind,
        machine(entry.host, *WHERE),
        _source(measurement),
    )
    tables = (_figures(measurement), _phases(measurement))
    return Report(
        title=measurement.case.label,
        verdict=_verdict(measurement),
        tables=[table for table in tables if table.columns],
        notes=gather((), measurement.notes),
        host=" · ".join(filter(None, where)),
    )


def _verdict(measurement: Measurement) -> Text:
    """The figure that matters, and what it rests on."""
    ready = measurement.ready
    if ready is None:
        return Text("No samples.", "muted")
    basis = f" per call ({fmt.interval(ready)}, {fmt.sampled(ready)})"
    role = "unknown" if ready.vague else "hero"
    return Text.assemble((str(fmt.median(ready)), role), (basis, "muted"))


def _figures(measurement: Measurement) -> Rows:
    rows: dict[str, str] = {}
    if measurement.dispatch is not None:
        rows["dispatch"] = str(fmt.median(measurement.dispatch))
    if measurement.pipelined_seconds is not None:
        rows["pipelined"] = fmt.seconds(measurement.pipelined_seconds)
    if measurement.flops_per_second is not None:
        rows["compute"] = fmt.rate(measurement.flops_per_second)
    if measurement.bytes_per_second is not None:
        rows["bandwidth"] = fmt.rate(measurement.bytes_per_second, "B/s")
    if measurement.error_vs_float64 is not None:
        rows["error"] = fmt.error(measurement.error_vs_float64)
    if measurement.processes is not None:
        rows["processes"] = fmt.processes(measurement.processes)
    return _row(rows)


def _phases(measurement: Measurement) -> Rows:
    return _row(
        {
            name.replace("first_call", "first run"): fmt.seconds(seconds)
            for name in PHASES
            if (seconds := getattr(measurement.phases, name)) is not None
        }
    )


def _row(cells: Mapping[str, str]) -> Rows:
    """A single row; the last columns go first where there is no room."""
    return Rows(
        [
            Column(name, [text], rank=rank)
            for rank, (name, text) in enumerate(cells.items())
        ]
    )


def _source(measurement: Measurement) -> str:
    return f"source {measurement.source.digest}" if measurement.source else ""


# Files.


class Listed(Document, frozen=True, kw_only=True):
    """The document of ``jaxtui history --json``; the machines are in its rows."""

    command: str = "history"
    host: None = None
    complete: bool = True
    count: int
    unreadable: int
    measurements: tuple[Row, ...]


def document(page: Page) -> Listed:
    return Listed(
        count=page.count, unreadable=page.unreadable, measurements=tuple(page.rows)
    )


def files(page: Page) -> Contents:
    return {
        ".json": lambda: encode(document(page)).decode(),
        ".csv": lambda: as_csv(page.rows),
        ".md": lambda: markdown(listing(page)),
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
