"""The texts of the tab History."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from jaxtui import format as fmt
from jaxtui.analysis.comparison import Side
from jaxtui.history.store import Entry, Row
from jaxtui.selection import DTYPE_ALIASES
from jaxtui.tui.history_state import LABELS, HistoryState
from jaxtui.view import compare
from jaxtui.view import history as view
from jaxtui.view.text import Line

COLUMNS = tuple(name for name in view.HEAD if name != "id")
"""Of the table."""

EMPTY = (
    "Nothing is in the history yet. Whatever is measured is kept here: press 1 for the"
    " devices and Enter there, or run the form of the tab Bench. `jaxtui bench` in a"
    " shell adds to the same list."
)

STYLES = {
    "faster": "bold $text-success",
    "slower": "bold $text-error",
    "no difference": "bold",
    "cannot tell": "bold $text-warning",
    "not comparable": "bold $text-warning",
    "case": "bold $text-accent",
    "title": "bold",
}
"""Of the roles that the view has."""


def side_of(entry: Entry, label: str) -> Side:
    """An entry as a side of a comparison."""
    return Side(
        label=label,
        host=entry.host,
        device=entry.device,
        measurement=entry.measurement,
    )


def words(text: str) -> str:
    """The words to search for: ``bf16`` means ``bfloat16``, as elsewhere."""
    return " ".join(DTYPE_ALIASES.get(word, word) for word in text.lower().split())


def row_cells(row: Row, *, wide: bool) -> dict[str, str]:
    """The texts of a row by column."""
    texts = dict(zip(view.HEAD, view.cells(row), strict=True))
    if not wide:
        texts["when"] = view.short_when(row.at)
    return {name: texts[name] for name in COLUMNS}


def counted(past: HistoryState) -> str:
    """How many there are, and how many of them were read."""
    if past.count is None:
        return ""
    text = fmt.plural(past.count, "measurement")
    if past.unreadable:
        text += f", {fmt.count(past.unreadable)} could not be read"
    return text


def instead(past: HistoryState) -> str:
    """What stands in the place of a table without rows."""
    if past.trouble:
        return past.trouble
    if past.count is None:
        return "Reading the history…"
    if past.unreadable:
        return view.unreadable(past.unreadable)
    if past.text.strip():
        return f"Nothing was measured that has all of the words “{past.text.strip()}”."
    return EMPTY


def question(row: Row) -> str:
    """What is asked before a measurement is deleted."""
    what = " ".join(view.cells(row)[2:7])
    return f"Delete {what} ({fmt.seconds(row.ready)}) of {view.when(row.at)}?"


def listing(past: HistoryState) -> str:
    """The rows that were read, as a table of Markdown."""
    read, count = len(past.rows), past.count or 0
    more = f"\nThe newest {read} of {count}.\n" if past.has_more else ""
    return f"{view.as_markdown(past.rows)}\n{more}"


def below(past: HistoryState, width: int, *, brief: bool) -> Content:
    """What stands below the table: the measurement, or the comparison of two."""
    return Content("\n").join(list(_below(past, width, brief=brief)))


def _below(past: HistoryState, width: int, *, brief: bool) -> Iterator[Content]:
    if past.comparison is not None and len(past.compared) == 2:
        for label, entry in zip(LABELS, past.compared, strict=False):
            yield _side(label, entry).truncate(width, ellipsis=True)
        yield from map(_styled, compare.lines(past.comparison, brief=brief))
        return
    if len(past.marked) == 1 and past.compared:
        hint = "  Space on another row compares it with this one."
        side = _side(LABELS[0], past.compared[0])
        room = max(0, width - len(hint))
        yield Content.assemble(side.truncate(room, ellipsis=True), (hint, "italic"))
    if past.detail is None or not past.rows:
        return
    if brief:
        yield Content(view.brief(past.detail)).truncate(width, ellipsis=True)
    else:
        yield from map(_styled, view.whole(past.detail))


def _styled(line: Line) -> Content:
    parts = ((span.text, STYLES.get(span.role, "")) for span in line)
    return Content.assemble(*parts)


def _side(label: str, entry: Entry) -> Content:
    return Content.assemble(
        (label, STYLES["case"]),
        f"  {fmt.seconds_pm(entry.measurement.ready)}  {entry.measurement.case.label}",
        f"  {view.when(entry.at)}  {entry.host.hostname}",
    )
