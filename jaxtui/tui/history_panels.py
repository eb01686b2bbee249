"""The list of the tab History, and the measurement or the two that are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import DataTable, Sparkline, Static

from jaxtui.analysis.comparison import Pair, Side, pairs
from jaxtui.history.store import Entry, Row
from jaxtui.tui.widgets.panel import Panel
from jaxtui.tui.widgets.paper import STYLES as ROLES
from jaxtui.tui.widgets.paper import Figure, Paper
from jaxtui.view import compare
from jaxtui.view import history as view
from jaxtui.view.phases import bars
from jaxtui.view.text import Line, Span, Table, fold, plain

LABELS = ("A", "B")
"""What the two marked measurements are called."""

TO_FORM = "Take the case of the measurement to the form."


@dataclass(frozen=True, slots=True)
class Past:
    """Everything that the tab shows."""

    text: str = ""
    """The words that are filtered by, as they were typed."""
    rows: tuple[Row, ...] = ()
    """The newest first, as far as they were read."""
    count: int | None = None
    """How many the words mean; ``None`` before the first answer."""
    unreadable: int = 0
    """How many damaged ones were passed over so far."""
    trouble: str = ""
    """Why nothing can be listed, one sentence."""
    cursor: int | None = None
    """Id of the row under the cursor."""
    marked: tuple[int, ...] = ()
    """Ids, two at most, in the order in which they were marked."""
    entries: Mapping[int, Entry] = field(default_factory=dict)
    """The whole measurements that are marked or under the cursor, once read."""
    repeats: tuple[Row, ...] = ()
    """The same case on the same machine, the newest first."""

    @property
    def read(self) -> int:
        """How many were read, damaged ones among them."""
        return len(self.rows) + self.unreadable

    @property
    def has_more(self) -> bool:
        """Whether there are rows that were not read yet."""
        return self.count is not None and self.read < self.count

    @property
    def entry(self) -> Entry | None:
        """The measurement under the cursor."""
        return None if self.cursor is None else self.entries.get(self.cursor)

    @property
    def pair(self) -> Pair | None:
        """The two that are marked."""
        found = [self.entries[one] for one in self.marked if one in self.entries]
        if len(found) < len(LABELS):
            return None
        first, second = map(side_of, found, LABELS)
        return pairs([first], [second])[0]


def side_of(entry: Entry, label: str) -> Side:
    """An entry as a side of a comparison."""
    return Side(
        label=label,
        host=entry.host,
        device=entry.device,
        measurement=entry.measurement,
    )


class HistoryTable(DataTable[Text]):
    """The measurements, as many columns as there is room for."""

    DEFAULT_CSS = """
    HistoryTable {
        height: 1fr; min-height: 2; scrollbar-size: 0 1;
        &, &:focus { background: transparent; background-tint: transparent; }
        & > .datatable--header { background: transparent; color: $muted; }
        & > .datatable--cursor { background: $panel; color: $foreground; }
        &:focus > .datatable--cursor {
            background: $block-cursor-background; color: $block-cursor-foreground;
        }
    }
    """

    class Moved(Message):
        """The cursor or the view went to another place."""

    class Chosen(Message):
        """Enter was pressed on a measurement, or it was clicked again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "To form", tooltip=TO_FORM),
    ]

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cell_padding=0)
        self._past = Past()
        self._table = Table()
        self._pressed: int | None = None

    @property
    def number(self) -> int | None:
        """Id of the measurement under the cursor."""
        rows = self._past.rows
        return rows[self.cursor_row].id if self.cursor_row < len(rows) else None

    @property
    def lowest(self) -> int:
        """Index of the last row that is in view or under the cursor."""
        return max(self.cursor_row, int(self.scroll_y) + self.size.height)

    def show(self, past: Past) -> None:
        """Show these rows; what is on screen already stays."""
        before, self._past = self._past, past
        if past.rows is not before.rows:
            self._fill(before.rows)
        elif past.marked != before.marked:
            listed = {row.id for row in past.rows}
            for number in listed & {*before.marked, *past.marked}:
                self.update_cell(str(number), "mark", self._mark(number))

    def _fill(self, before: tuple[Row, ...]) -> None:
        rows, count = self._past.rows, len(before)
        table = view.columns(rows, self.size.width - 3) if rows else Table()
        added = count and rows[:count] == before
        if not added or _shape(table) != _shape(self._table):
            count = 0
            self.clear(columns=True)
            if table.columns:
                self.add_column("", key="mark", width=2)
            for place, one in enumerate(table.columns):
                width = table.widths[place] + table.gap
                self.add_column(Text(table.head(place)), key=one.key, width=width)
        self._table = table
        for index, row in enumerate(rows[count:], count):
            cells = (
                Text(plain(table.cell(index, place)), self._style(one.key, row))
                for place, one in enumerate(table.columns)
            )
            self.add_row(self._mark(row.id), *cells, key=str(row.id))
        numbers = [row.id for row in rows]
        if self._past.cursor in numbers:
            self.move_cursor(row=numbers.index(self._past.cursor))

    def _style(self, column: str, row: Row) -> str:
        if column == "ready":
            return "bold"
        if column == "mode" and row.mode == "numpy":
            return self.app.theme_variables["numpy"]
        return ""

    def _mark(self, number: int) -> Text:
        if number not in self._past.marked:
            return Text("  ")
        index = self._past.marked.index(number)
        color = self.app.theme_variables[f"plot-{index + 1}"]
        return Text(LABELS[index], style=f"bold reverse {color}")

    def on_mount(self) -> None:
        """Colours of cells do not follow the theme by themselves."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self.on_resize())

    def on_resize(self) -> None:
        """Another width has room for other columns."""
        with self.app.batch_update():
            self._table = Table()
            self._fill(())

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Say that the cursor moved."""
        event.stop()
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The wheel scrolls without the cursor."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def on_mouse_down(self) -> None:
        """Know what a click found."""
        self._pressed = self.cursor_row

    def action_select_cursor(self) -> None:
        """Also of an empty list, of which the pane says that it has nothing."""
        self.post_message(self.Chosen())

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """A click on another row only goes there."""
        event.stop()
        pressed, self._pressed = self._pressed, None
        if pressed in (None, event.cursor_row):
            self.post_message(self.Chosen())


def _shape(table: Table) -> tuple[object, ...]:
    return tuple(one.head for one in table.columns), table.widths


class Detail(Panel):
    """The measurement under the cursor, or the two that are marked."""

    DEFAULT_CSS = """
    Detail {
        #hero { height: auto; }
        #hero Figure {
            width: auto; margin-right: 1; color: $lane-device;
            &.-numpy { color: $numpy; }
            &.-faster { color: $text-success; }
            &.-slower { color: $text-error; }
            &.-no-difference { color: $foreground; }
            &.-cannot-tell { color: $text-warning; }
        }
        &.-tall #figures { margin: 1 0; }
        #repeats { height: 1; }
        #repeats Sparkline { height: 1; margin-right: 1; }
        #repeats Static { color: $muted; width: 1fr; }
        &.-tall #repeats { height: auto; margin-bottom: 1; }
        &.-tall #repeats Sparkline { height: 3; }
        &.-tall #repeats Static { padding-top: 2; }
        VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
    }
    """

    def compose(self) -> ComposeResult:
        """The figure that matters, what it rests on, and the rest."""
        with Horizontal(id="hero"):
            yield Figure()
            yield Paper(id="answer")
        yield Paper(id="figures")
        with Horizontal(id="repeats"):
            yield Sparkline([])
            yield Static(markup=False)
        with VerticalScroll(id="history-facts"):
            yield Paper(id="facts")

    def show(self, past: Past, *, tall: bool) -> None:
        """Show two that are marked, or else the one under the cursor.

        Args:
            past: what the tab shows.
            tall: there is room for large digits.
        """
        self.set_class(tall, "-tall")
        pair, entry = past.pair, past.entry
        if pair is not None:
            self._write("A and B", *_of_pair(past, pair, tall))
            meaning = pair.comparison.answer.replace(" ", "-")
        elif entry is not None:
            case = entry.measurement.case
            self._write(case.label, *_of_entry(entry, tall))
            meaning = case.mode
        else:
            self._write("measurement", "", _nothing, _nothing, _nothing)
            meaning = ""
        self.query_one(Figure).set_classes(f"-{meaning}")
        self._draw_repeats(past.repeats if pair is None else (), 2 if tall else 1)

    def _write(
        self, title: str, digits: str, answer: Lines, figures: Lines, facts: Lines
    ) -> None:
        self.entitle(title)
        self.query_one(Figure).update(digits)
        self.query_one(Figure).display = bool(digits)
        for name, lines in (("answer", answer), ("figures", figures), ("facts", facts)):
            self.query_one(f"#{name}", Paper).show(partial(_styled, lines))

    def _draw_repeats(self, repeats: tuple[Row, ...], cells: int) -> None:
        times = [row.ready for row in reversed(repeats) if row.ready is not None]
        spark = self.query_one(Sparkline)
        self.query_one("#repeats").display = len(times) > 1
        if len(times) > 1:
            spark.data = times
            spark.styles.width = min(cells * len(times), 30)
            self.query_one("#repeats Static", Static).update(view.repeats(repeats))


STYLES = {
    **ROLES,
    "hero": "bold",
    "a": "bold $plot-1",
    "b": "bold $plot-2",
    "faster": "bold $text-success",
    "slower": "bold $text-error",
    "no difference": "bold",
    "cannot tell": "bold $text-warning",
    "not comparable": "bold $text-warning",
    "badge": "bold $text-warning reverse",
    **dict.fromkeys(
        [f"bar-{name}" for name in ("transfer", "trace", "lower", "compile", "fetch")],
        "$muted",
    ),
    "bar-first-call": "$muted",
    "bar-ready": "$lane-device",
    "bar-dispatch": "$lane-host",
    "bar-pipelined": "$lane-device",
    "bar-reused": "$lane-device",
    "bar-fresh": "$lane-device",
}
"""How the roles of spans are drawn."""

Lines = Callable[[int], Iterable[Line]]
"""Lines for a width in cells."""


def _nothing(_width: int) -> Iterable[Line]:
    return ()


def _styled(lines: Lines, width: int) -> Content:
    return Content("\n").join(
        Content.assemble(*((span.text, STYLES.get(span.role, "")) for span in line))
        for line in lines(width)
    )


def _of_entry(entry: Entry, tall: bool) -> tuple[str, Lines, Lines, Lines]:
    one = entry.measurement
    (figure, *unit), *rest = view.headline(one)
    large = tall and bool(unit)

    def answer(_width: int) -> Iterable[Line]:
        if large:
            return (*unit, Span(" per call, until ready", "muted")), *rest
        return ((figure, *unit, Span("  "), *rest[0]),)

    def phases(width: int) -> Iterable[Line]:
        clocks = one.phases, one.dispatch, one.ready, one.pipelined_seconds
        return bars(*clocks, width, memory=one.memory)

    def facts(width: int) -> Iterable[Line]:
        for line in view.facts(entry, brief=not tall):
            yield from fold(line, width, later=" " * view.INDENT)

    digits = figure.text if large else ""
    return digits, answer, phases if tall else _nothing, facts


def _of_pair(past: Past, pair: Pair, tall: bool) -> tuple[str, Lines, Lines, Lines]:
    first, *rest = compare.answer(pair)
    sides = (pair.first, pair.second)
    large = tall and first[0].role == "hero"

    def answer(_width: int) -> Iterable[Line]:
        if large:
            return (first[1:], *rest)
        if tall:
            return (first, *rest)
        return (tuple(span for line in (first, *rest) for span in (*line, Span("  "))),)

    def figures(width: int) -> Iterable[Line]:
        return compare.bars(sides, width)

    def facts(width: int) -> Iterable[Line]:
        if not tall:
            yield from compare.differing(pair.comparison, brief=True)
            return
        for label, number in zip(LABELS, past.marked, strict=True):
            entry = past.entries[number]
            words = (
                view.when(entry.at),
                entry.measurement.case.label,
                entry.host.hostname,
            )
            side = (Span(f"{label}  ", label.lower()), Span(" · ".join(words)))
            yield from fold(side, width, later="   ")
        yield ()
        for line in compare.differing(pair.comparison):
            yield from fold(line, width, later="    ")

    digits = first[0].text.strip() if large else ""
    return digits, answer, figures, facts
