"""The list of the tab History, and the measurement or the two that are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.widgets import DataTable, Sparkline, Static

from jaxtui.analysis.comparison import Pair, Side, pairs
from jaxtui.history.store import Entry, Row
from jaxtui.tui.widgets.grid import Grid
from jaxtui.tui.widgets.panel import Panel
from jaxtui.tui.widgets.paper import Figure, Paper, Write
from jaxtui.view import compare
from jaxtui.view import history as view
from jaxtui.view.compare import LABELS
from jaxtui.view.phases import bars
from jaxtui.view.text import Column, Line, Span, Table, fold

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
    earlier: Mapping[int, tuple[Entry, ...]] = field(default_factory=dict)
    """Of those that are marked what was measured of their case before."""
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
        if len(self.marked) < len(LABELS):
            return None
        if not all(one in self.earlier for one in self.marked):
            return None
        first, second = map(self.side, self.marked, LABELS)
        return pairs([first], [second])[0]

    def side(self, number: int, label: str) -> Side:
        """One that is marked, as a side of a comparison."""
        one = self.entries[number]
        return compare.side(
            label, one.host, one.device, one.measurement, self.earlier[number]
        )


class HistoryTable(Grid):
    """The measurements, as many columns as there is room for."""

    DEFAULT_CSS = """
    HistoryTable { min-height: 2; }
    """

    class Moved(Message):
        """The cursor or the view went to another place."""

    class Chosen(Message):
        """Enter was pressed on a measurement, or it was clicked again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "To form", tooltip=TO_FORM),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._past = Past()
        self._pressed: int | None = None

    @property
    def number(self) -> int | None:
        """Id of the measurement under the cursor."""
        return int(self.key_here) if self.key_here else None

    @property
    def lowest(self) -> int:
        """Index of the last row that is in view or under the cursor."""
        return max(self.cursor_row, int(self.scroll_y) + self.size.height)

    def show(self, past: Past) -> None:
        """Show these rows; what is on screen already stays."""
        before, self._past = self._past, past
        if past.rows is not before.rows or past.marked != before.marked:
            self.on_resize()
        # Any other snapshot may be older than the key that has just moved the cursor.
        cursor = str(past.cursor)
        if past.rows is not before.rows and cursor in self.keys:
            self.move_cursor(row=self.keys.index(cursor))

    def on_resize(self) -> None:
        past, table = self._past, Table()
        if past.rows:
            table = view.columns(past.rows, self.size.width - 3)
            mark = Column("mark", "", [_mark(past, row.id) for row in past.rows])
            table = Table((mark, *table.columns), (1, *table.widths), table.gap)
        self.draw_table(table, [str(row.id) for row in past.rows])

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The wheel scrolls without the cursor."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def on_mouse_down(self) -> None:
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


def _mark(past: Past, number: int) -> Line:
    if number not in past.marked:
        return ()
    label = LABELS[past.marked.index(number)]
    return (Span(label, f"mark-{label.lower()}"),)


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
        VerticalScroll { height: 1fr; }
    }
    """

    def compose(self) -> ComposeResult:
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
        self, title: str, digits: str, answer: Write, figures: Write, facts: Write
    ) -> None:
        self.entitle(title)
        self.query_one(Figure).update(digits)
        self.query_one(Figure).display = bool(digits)
        for name, lines in (("answer", answer), ("figures", figures), ("facts", facts)):
            self.query_one(f"#{name}", Paper).show(lines)

    def _draw_repeats(self, repeats: tuple[Row, ...], cells: int) -> None:
        times = [row.ready for row in reversed(repeats) if row.ready is not None]
        spark = self.query_one(Sparkline)
        self.query_one("#repeats").display = len(times) > 1
        if len(times) > 1:
            spark.data = times
            spark.styles.width = min(cells * len(times), 30)
            self.query_one("#repeats Static", Static).update(view.repeats(repeats))


def _nothing(_width: int) -> Iterable[Line]:
    return ()


def _of_entry(entry: Entry, tall: bool) -> tuple[str, Write, Write, Write]:
    one = entry.measurement
    told = view.headline(one)
    unit = (Span(f" {told.unit}", "title"),) if told.unit else ()
    large = tall and bool(unit)

    def answer(_width: int) -> Iterable[Line]:
        if large:
            per_call = (*unit, Span(" per call, until ready", "muted"))
            return per_call, told.interval, told.basis
        return ((told.number, *unit, Span("  "), *told.interval),)

    def phases(width: int) -> Iterable[Line]:
        clocks = one.phases, one.dispatch, one.ready, one.pipelined_seconds
        return bars(*clocks, width, memory=one.memory)

    def facts(width: int) -> Iterable[Line]:
        for line in view.facts(entry, brief=not tall):
            yield from fold(line, width, later=" " * view.INDENT)

    digits = told.number.text if large else ""
    return digits, answer, phases if tall else _nothing, facts


def _of_pair(past: Past, pair: Pair, tall: bool) -> tuple[str, Write, Write, Write]:
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
