"""The texts of the tab History."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from jaxtui import format as fmt
from jaxtui.history import listing as lists
from jaxtui.history.files import as_markdown
from jaxtui.model import PHASES, Host, Measurement
from jaxtui.selection.names import DTYPE_ALIASES
from jaxtui.tui.history_state import LABELS, HistoryState

if TYPE_CHECKING:
    from jaxtui.history import Entry, Row
    from jaxtui.history.comparison import Comparison

COLUMNS = tuple(name for name in lists.HEAD if name != "id")
"""Of the table."""

EMPTY = (
    "Nothing is in the history yet. Whatever is measured is kept here: press 1 for the"
    " devices and Enter there, or run the form of the tab Bench. `jaxtui bench` in a"
    " shell adds to the same list."
)

_STYLES = {
    "faster": "bold $text-success",
    "slower": "bold $text-error",
    "no difference": "bold",
    "cannot tell": "bold $text-warning",
}

_LABEL = "bold $text-accent"


def words(text: str) -> str:
    """The words to search for: ``bf16`` means ``bfloat16``, as elsewhere."""
    return " ".join(DTYPE_ALIASES.get(word, word) for word in text.lower().split())


def row_cells(row: Row, *, wide: bool) -> dict[str, str]:
    """The texts of a row by column."""
    texts = dict(zip(lists.HEAD, lists.cells(row), strict=True))
    if not wide:
        texts["when"] = lists.short_when(row.at)
    return {name: texts[name] for name in COLUMNS}


def counted(past: HistoryState) -> str:
    """How many there are, and how many of them were read."""
    if past.count is None:
        return ""
    said = fmt.plural(past.count, "measurement")
    if past.unreadable:
        said += f", {fmt.count(past.unreadable)} could not be read"
    return said


def instead(past: HistoryState) -> str:
    """What stands in the place of a table without rows."""
    if past.trouble:
        return past.trouble
    if past.count is None:
        return "Reading the history…"
    if past.unreadable:
        return lists.unreadable(past.unreadable)
    if past.text.strip():
        return f"Nothing was measured that has all of the words “{past.text.strip()}”."
    return EMPTY


def question(row: Row) -> str:
    """What is asked before a measurement is deleted."""
    what = " ".join(lists.cells(row)[2:7])
    return f"Delete {what} ({fmt.seconds(row.ready)}) of {lists.when(row.at)}?"


def listing(past: HistoryState) -> str:
    """The rows that were read, as a table of Markdown."""
    table = as_markdown(past.rows)
    read, count = len(past.rows), past.count or 0
    more = f"\nThe newest {read} of {count}.\n" if past.has_more else ""
    return f"{table}\n{more}"


def below(past: HistoryState, width: int, *, brief: bool) -> Content:
    """What stands below the table: the measurement, or the comparison of two."""
    if past.comparison is not None and len(past.compared) == 2:
        return _joined(_compared(past.comparison, past.compared, width, brief=brief))
    lines = list(_first(past, width))
    if past.detail is not None and past.rows:
        lines += [_clipped(_short(past.detail), width)] if brief else _long(past.detail)
    return _joined(lines)


def _first(past: HistoryState, width: int) -> Iterator[Content]:
    if len(past.marked) == 1 and past.compared:
        said = "  Space on another row compares it with this one."
        side = _side(LABELS[0], past.compared[0])
        room = max(0, width - len(said))
        yield Content.assemble(side.truncate(room, ellipsis=True), (said, "italic"))


# Two measurements.


def _compared(
    found: Comparison, entries: tuple[Entry, ...], width: int, *, brief: bool
) -> Iterator[Content]:
    for label, entry in zip(LABELS, entries, strict=False):
        yield _side(label, entry).truncate(width, ellipsis=True)
    yield Content.styled(found.sentence, _STYLES[found.answer])
    if not found.differences:
        yield Content("Case, chip, host and versions are the same.")
    elif brief:
        yield Content(f"Not the same: {'; '.join(found.differences)}.")
    else:
        yield Content("Not the same in A and B:")
        yield from (Content(f"  {one}") for one in found.differences)


def _side(label: str, entry: Entry) -> Content:
    ready = entry.measurement.ready
    return Content.assemble(
        (label, _LABEL),
        f"  {fmt.seconds_pm(ready)}  {entry.measurement.case.label}",
        f"  {lists.when(entry.at)}  {entry.host.hostname}",
    )


# One measurement.


def _short(entry: Entry) -> str:
    """All that matters most of a measurement, in one line."""
    one, device = entry.measurement, entry.device
    parts = [
        f"{one.case.label}: {fmt.seconds_pm(one.ready)}",
        device.device_kind if device else "",
        f"{entry.host.hostname}, jax {entry.host.jax}",
        ", ".join(note.flag for note in one.notes),
    ]
    return "  ·  ".join(part for part in parts if part)


def _long(entry: Entry) -> Iterator[Content]:
    one, device = entry.measurement, entry.device
    head = f"  {lists.when(entry.at)}  id {entry.id}"
    yield Content.assemble((one.case.label, _LABEL), head)
    kind = f"{device.device_kind}  on  " if device else ""
    yield _fact("where", kind + _host(entry.host))
    yield _fact("clocks", ", ".join(_clocks(one)))
    yield _fact("phases", ", ".join(_phases(one)) or "none was measured")
    if rates := ", ".join(_rates(one)):
        yield _fact("rates", rates)
    for note in one.notes:
        yield _fact(note.flag, note.text)


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
        taken = getattr(one.phases, name)
        if taken is not None:
            yield f"{name.replace('_', ' ')} {fmt.seconds(taken)}"


def _rates(one: Measurement) -> Iterator[str]:
    if one.flops_per_second is not None:
        yield fmt.flops_rate(one.flops_per_second)
    if one.bytes_per_second is not None:
        yield fmt.bytes_rate(one.bytes_per_second)
    if one.error_vs_float64 is not None:
        yield f"error {fmt.error(one.error_vs_float64)}"


def _fact(name: str, text: str) -> Content:
    return Content.assemble((name.ljust(8), "bold"), text)


def _clipped(text: str, width: int) -> Content:
    return Content(text).truncate(width, ellipsis=True)


def _joined(lines: Iterable[Content]) -> Content:
    return Content("\n").join(list(lines))
