"""The tab History: a filter, the list, and the measurement or the two that matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, TypeVar

import msgspec
from msgspec.structs import replace
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Input, Static

from jaxtui.core import format as fmt
from jaxtui.core.comparison import Pair, Side, pairs
from jaxtui.core.history.store import Entry, Filter, History, HistoryError, Page, Row
from jaxtui.features.bench import comparison as compare
from jaxtui.features.bench.comparison import LABELS
from jaxtui.features.bench.values import of_case
from jaxtui.features.history import report as view
from jaxtui.ui.app.dialogs import Question
from jaxtui.ui.app.export import ExportScreen
from jaxtui.ui.app.pane import Pane, bindings
from jaxtui.ui.app.threads import Latest, in_thread
from jaxtui.ui.documents import encode
from jaxtui.ui.export import ExportError, file_stem
from jaxtui.ui.report import Column, markdown, svg
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.table import Listing
from jaxtui.ui.widgets.panel import BorderedInput, Panel, hint

LISTED = 200
"""Rows of the list: words lead to older ones."""

KEYS = (
    ("enter", "take", "To form", "Take the case of the measurement to the form."),
    (
        "slash",
        "filter",
        "Search",
        "Filter as you type, such as: matmul bf16 tpu.",
    ),
    (
        "space",
        "mark",
        "Mark",
        "Mark or unmark the measurement; jaxtui compares two marked ones.",
    ),
    ("delete", "delete", "Delete", "Delete the measurement; jaxtui asks first."),
    ("escape", "back", "Back", "Remove the marks, then the words."),
    ("u", "export", "Export", "Write the list or the comparison to a file."),
)
"""Key, action, label and sentence."""

ROW_ACTIONS = {"take", "mark", "delete", "export"}
"""Actions that need a measurement."""

SHORT = 20
"""Lines of the screen below which there is no room for the frame of the filter."""

EMPTY = (
    ("Nothing measured yet", ""),
    ("1 Enter", "the first minute, in Devices"),
    ("2 r", "the cases of the form, in Bench"),
    ("jaxtui bench", "in a shell adds to the same list"),
)
"""The ways to fill an empty history."""

_T = TypeVar("_T")


class Past(msgspec.Struct, frozen=True):
    """Everything that the tab shows."""

    text: str = ""
    """The words that are filtered by, as they were typed."""
    page: Page | None = None
    """``None`` before the first answer."""
    trouble: str = ""
    """The reason why nothing can be listed, one sentence."""
    cursor: int | None = None
    """Id of the row under the cursor."""
    marked: tuple[int, ...] = ()
    """Ids, two at most, in the order in which they were marked."""
    entries: Mapping[int, tuple[Entry, tuple[Entry, ...]]] = msgspec.field(
        default_factory=dict
    )
    """Whole measurements of the rows that are marked or under the cursor, and the
    earlier ones of their cases."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The newest first."""
        return self.page.rows if self.page else ()

    @property
    def entry(self) -> Entry | None:
        """The measurement under the cursor."""
        entries = self.entries.get(self.cursor or 0)
        return entries and entries[0]

    @property
    def pair(self) -> Pair | None:
        """The two that are marked."""
        if len(self.marked) < len(LABELS) or self.marked - self.entries.keys():
            return None
        first, second = map(self.side, self.marked, LABELS)
        return pairs([first], [second])[0]

    def side(self, number: int, label: str) -> Side:
        """Return a marked measurement as a side of a comparison."""
        entry, earlier = self.entries[number]
        return compare.side(label, entry.host, entry.device, entry.measurement, earlier)


class Words(BorderedInput):
    """The words of the filter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "To the list"),
        Binding("escape", "clear", "Back", tooltip="Clear the words; to the list."),
    ]

    async def action_clear(self) -> None:
        self.value = ""
        await self.action_submit()


class HistoryTable(Listing):
    """The measurements."""

    DEFAULT_CSS = """
    HistoryTable { min-height: 2; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "To form", tooltip=KEYS[0][3]),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._past = Past()

    @property
    def number(self) -> int | None:
        """Id of the measurement under the cursor."""
        return int(self.key_here) if self.key_here else None

    def show_past(self, past: Past) -> None:
        """Show these rows; what is on screen already stays."""
        before, self._past = self._past, past
        if past.rows is not before.rows or past.marked != before.marked:
            marks = [_mark(past, row.id) for row in past.rows]
            columns = view.columns(past.rows) if past.rows else ()
            self.show(
                [Column(" ", marks), *columns], [str(row.id) for row in past.rows]
            )
        # Any other snapshot may be older than the key that has just moved the cursor.
        numbers = [row.id for row in past.rows]
        if past.rows is not before.rows and past.cursor in numbers:
            self.move_cursor(row=numbers.index(past.cursor), animate=False)


def _mark(past: Past, number: int) -> Text:
    if number not in past.marked:
        return Text()
    label = LABELS[past.marked.index(number)]
    return Text(label, f"mark-{label.lower()}")


class HistoryPane(Pane):
    """The list of measurements; two marked ones are compared."""

    HELP = "On the tab History"

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "history", KEYS, ("To form", "Search", "Mark", "Delete", "Export")
    )

    DEFAULT_CSS = """
    HistoryPane {
        #history-body { height: 1fr; }
        #history-list { width: 1fr; height: 1fr; }
        #history-empty { height: 1fr; padding: 1 2; display: none; }
        #history-detail { height: 9; }
        #history-detail VerticalScroll { height: 1fr; }
        &.-short #history-detail { height: 6; }
        &.-short #history-words { display: none; }
        &.-short #history-words:focus, &.-short.-filtered #history-words {
            display: block; height: 1; border: none;
        }
        &.-wide #history-body { layout: horizontal; }
        &.-wide #history-list { width: 7fr; }
        &.-wide #history-detail { width: 5fr; height: 1fr; }
        /* One line of it stays, so that it keeps the focus. */
        &.-empty HistoryTable { height: 1; min-height: 1; }
        &.-empty #history-detail { display: none; }
        &.-empty #history-empty { display: block; }
    }
    """

    past: reactive[Past] = reactive(Past(), repaint=False)
    """The listed, marked and compared measurements."""

    def __init__(self) -> None:
        super().__init__(id="history-pane")
        self._lists, self._details = Latest(), Latest()
        self._history = History()

    def compose(self) -> ComposeResult:
        field = Words(id="history-words", placeholder="such as: matmul bf16 tpu")
        field.border_title = "filter"
        yield field
        with Vertical(id="history-body"):
            with Panel(id="history-list"):
                yield HistoryTable()
                yield Static(id="history-empty", markup=False)
            with Panel(id="history-detail"), VerticalScroll():
                yield Sheet()

    def on_mount(self) -> None:
        self.draw()

    # What the tab shows.

    def watch_past(self, old: Past, new: Past) -> None:
        self.query_one(HistoryTable).show_past(new)
        self.draw()
        if bool(old.rows) != bool(new.rows):
            self.refresh_bindings()

    def draw(self) -> None:
        past = self.past
        self.set_class(not past.rows, "-empty")
        self.set_class(bool(past.text), "-filtered")
        self.set_class(self.app.size.height < SHORT, "-short")
        actions = ("take", "mark", "filter", "delete") if past.rows else ()
        hints = [hint(self, action) for action in actions]
        self.query_one("#history-list", Panel).set_title(counted(past), hints)
        self.query_one("#history-empty", Static).update(instead(past))
        title, sheet = "measurement", self.query_one(Sheet)
        if (pair := past.pair) is not None:
            title = " and ".join(LABELS)
            sheet.content = compare.report([pair])
        elif (entry := past.entry) is not None:
            title = entry.measurement.case.label
            sheet.content = view.report(entry)
        self.query_one("#history-detail", Panel).set_title(title)

    def set_wide(self, wide: bool) -> None:
        self.set_class(wide, "-wide")

    def on_resize(self) -> None:
        self.draw()

    def take_focus(self) -> None:
        self.screen.set_focus(self.query_one(HistoryTable))

    def why_not(self, action: str) -> str | None:
        if action in ROW_ACTIONS and not self.past.rows:
            return "No measurement is listed."
        if action == "back" and not (self.past.marked or self.past.text):
            return "No marks and no words to clear."
        return None

    # Listing.

    def enter(self) -> None:
        self.refresh_list()
        self.take_focus()

    def refresh_list(self) -> None:
        """Read the list again; the cursor stays."""
        text = self.past.text
        self._ask(self._lists, partial(self._page, text, LISTED), self._show_page)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        """Filter with each key typed."""
        event.stop()
        if event.value != self.past.text:
            self.past = replace(self.past, text=event.value, cursor=None)
            self.refresh_list()

    @on(Input.Submitted)
    def _typed_all(self, event: Input.Submitted) -> None:
        event.stop()
        self.take_focus()

    def _page(self, text: str, limit: int) -> tuple[str, Page]:
        matching = Filter(text=view.search(text))
        return text, self._history.page(matching, limit=limit)

    def _show_page(self, answer: tuple[str, Page]) -> None:
        (text, page), past = answer, self.past
        if text != past.text:
            return
        # Where the table is: the message of the key before may still be on its way.
        cursor = past.cursor and (self.query_one(HistoryTable).number or past.cursor)
        if all(row.id != cursor for row in page.rows):
            cursor = page.rows[0].id if page.rows else None
        self.past = replace(past, page=page, cursor=cursor, trouble="")
        self._read_entries()

    @on(HistoryTable.RowHighlighted)
    def _moved(self, event: HistoryTable.RowHighlighted) -> None:
        event.stop()
        number = self.query_one(HistoryTable).number
        if number is not None and number != self.past.cursor:
            self.past = replace(self.past, cursor=number)
            self._read_entries()

    def _read_entries(self) -> None:
        """Read what is marked and what is under the cursor."""
        past = self.past
        numbers = {*past.marked, *filter(None, [past.cursor])}

        def read() -> Mapping[int, tuple[Entry, tuple[Entry, ...]]]:
            entries = {}
            for number in numbers:
                if number in past.entries:
                    entries[number] = past.entries[number]
                else:
                    entry = self._history.entry(number)
                    entries[number] = entry, self._history.before(entry)
            return entries

        def take(entries: Mapping[int, tuple[Entry, tuple[Entry, ...]]]) -> None:
            self.past = replace(self.past, entries=entries)

        self._ask(self._details, read, take)

    @property
    def _row(self) -> Row | None:
        """The row under the cursor; a slow line delivers several keys at once."""
        number = self.query_one(HistoryTable).number
        return next((row for row in self.past.rows if row.id == number), None)

    # What the keys do.

    def action_mark(self) -> None:
        row, marked = self._row, self.past.marked
        if row is None:
            return
        if row.id in marked:
            self._mark(tuple(number for number in marked if number != row.id))
        elif len(marked) == len(LABELS):
            self.base.say(
                "Two measurements are already marked. Press Space on one to unmark it,"
                " Esc to unmark both."
            )
        else:
            self._mark((*marked, row.id))

    def _mark(self, marked: tuple[int, ...]) -> None:
        self.past = replace(self.past, marked=marked)
        self._read_entries()

    def action_delete(self) -> None:
        row = self._row
        if row is None:
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.base.background(partial(self._delete, row.id))

        what = " ".join(view.label(row).values())
        question = f"Delete {what} ({fmt.seconds(row.ready)}) of {view.when(row.at)}?"
        self.app.push_screen(Question(question, "deletes it", "keeps it"), answered)

    async def _delete(self, number: int) -> None:
        forget = partial(self._history.delete, Filter(id=number))
        error = await in_thread(partial(_answer_or_error, forget))
        if isinstance(error, HistoryError):
            self.base.say(str(error))
            return
        past, page = self.past, self.past.page
        if page is not None:
            place = next((i for i, row in enumerate(page.rows) if row.id == number), 0)
            rows = tuple(row for row in page.rows if row.id != number)
            self.past = replace(
                past,
                page=msgspec.structs.replace(page, rows=rows),
                cursor=rows[min(place, len(rows) - 1)].id if rows else None,
                marked=tuple(marked for marked in past.marked if marked != number),
            )
        self.base.say("Deleted.")
        self.refresh_list()

    def action_filter(self) -> None:
        self.screen.set_focus(self.query_one(Words))

    def action_back(self) -> None:
        if self.past.marked:
            self._mark(())
        else:
            self.query_one(Words).value = ""

    @on(HistoryTable.RowSelected)
    def _chosen(self, event: HistoryTable.RowSelected) -> None:
        event.stop()
        self.perform("take")

    def action_take(self) -> None:
        if (row := self._row) is not None:
            self.base.to_form(of_case(row.case))

    def action_export(self) -> None:
        past = self.past
        # It may be a hundred thousand rows, and not all of them are on the list.
        stem = file_stem("history", *past.text.split())
        contents = {
            ending: partial(self._file, ending) for ending in (".csv", ".md", ".json")
        }
        if (pair := past.pair) is not None:
            stem = file_stem("compare", *map(str, past.marked))
            contents = {
                ".json": partial(_document, past),
                ".md": partial(markdown, compare.report([pair])),
                ".svg": partial(svg, compare.report([pair])),
            }
        self.app.push_screen(ExportScreen(stem, contents))

    def _file(self, ending: str) -> str:
        try:
            _, page = self._page(self.past.text, -1)
        except HistoryError as error:
            raise ExportError(str(error)) from error
        return view.files(page)[ending]()

    # Asking.

    def _ask(
        self, latest: Latest, question: Callable[[], _T], answered: Callable[[_T], None]
    ) -> None:
        """Ask the file in a thread; an answer to an older question is dropped."""

        def take(answer: _T | HistoryError) -> None:
            if self.base.leaving:
                return
            if isinstance(answer, HistoryError):
                trouble = str(answer)
                self.past = replace(self.past, trouble=trouble)
                self.session.say(trouble)
            else:
                answered(answer)

        self.base.background(
            partial(latest.ask, partial(_answer_or_error, question), take)
        )


# Words.


def counted(past: Past) -> str:
    """Write the number of measurements, and of those that could not be read."""
    page = past.page
    if page is None or not page.count:
        return "measurements"
    text = fmt.plural(page.count, "measurement")
    if page.count > len(page.rows) + page.unreadable:
        text = f"newest {len(page.rows)} of {text}"
    if page.unreadable:
        text += f", {fmt.count(page.unreadable)} unreadable"
    return text


def instead(past: Past) -> Content:
    """Return the text in place of a table without rows."""
    if past.trouble:
        return Content(past.trouble)
    if past.page is None:
        return Content("Reading the history…")
    if past.page.unreadable:
        (note,) = view.listing(past.page).notes[:1]
        return Content(note.text)
    if past.text.strip():
        return Content.assemble(
            ("No measurement contains all of these words: ", "bold"),
            past.text.strip(),
            "\n\nEsc clears the words.",
        )
    (title, _), *rest = EMPTY
    hints = (
        Content.assemble((key.ljust(14), "bold $panel-lit"), text) for key, text in rest
    )
    return Content("\n").join([Content.styled(title, "bold"), Content(""), *hints])


def _document(past: Past) -> str:
    sides = [[past.side(number, str(number))] for number in past.marked]
    return encode(compare.Pairs.of(pairs(*sides))).decode()


def _answer_or_error(question: Callable[[], _T]) -> _T | HistoryError:
    """The answer, or why there is none."""
    try:
        return question()
    except HistoryError as error:
        return error
