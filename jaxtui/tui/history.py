"""The tab History: a filter, the list, and the measurement or the two that matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Input, Static

from jaxtui import format as fmt
from jaxtui.analysis.comparison import Pair, pairs
from jaxtui.history.store import Filter, History, HistoryError, Page, Row
from jaxtui.model import Case
from jaxtui.places import ExportError
from jaxtui.selection import DTYPE_ALIASES
from jaxtui.tui.case_pane import CasePane
from jaxtui.tui.dialogs import Question
from jaxtui.tui.export import ExportScreen
from jaxtui.tui.history_panels import (
    TO_FORM,
    Detail,
    HistoryTable,
    Past,
)
from jaxtui.tui.pane import bindings
from jaxtui.tui.threads import Latest, in_thread
from jaxtui.tui.values import of_case
from jaxtui.tui.widgets.panel import BorderedInput, Panel
from jaxtui.view import compare
from jaxtui.view import history as view
from jaxtui.view.compare import LABELS
from jaxtui.view.document import encode
from jaxtui.view.export import CASE, file_stem, stamp
from jaxtui.view.offers import Offer

PAGE = 200
"""Rows that are read at once."""

NEAR = 50
"""So many rows before the last one that was read the next are asked for."""

KEPT = 1_000
"""Rows that are read again at most when the list is refreshed."""

REPEATS = 100
"""Measurements of one case that are drawn over time."""

EVERY = -1
"""As a limit it lets all rows pass, for SQLite."""

BOTH_MARKED = "Two are marked: Space on one of them takes its mark away, Esc both."

_T = TypeVar("_T")


class Words(BorderedInput):
    """What is filtered by."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "To the list"),
        # As well: the list was filtered with each letter.
        Binding("escape", "submit", "Back"),
    ]


KEYS = (
    ("enter", "take", "To form", TO_FORM),
    (
        "slash",
        "filter",
        "Filter",
        "Type words to filter by, such as: matmul bf16 tpu.",
    ),
    (
        "space",
        "mark",
        "Mark",
        "Mark the measurement, or unmark it; two that are marked are compared.",
    ),
    ("delete", "delete", "Delete", "Delete the measurement, after a question."),
    ("escape", "back", "Back", "Leave the filter; take marks away; then the words."),
    ("v", "code", "Code", "Show plain JAX code of the measurement's case."),
    ("y", "copy", "Copy", "Copy the list; a file beside the history has it, too."),
    ("u", "export", "Export", "Write the list, the measurement or the comparison."),
)
"""Key, action, label and sentence."""


class HistoryPane(CasePane):
    """What was measured, when and on what; two that are marked are compared."""

    HELP = "On the tab History"

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "history",
        KEYS,
        ("To form", "Filter", "Mark", "Delete", "Code", "Export"),
        # What is typed next on a slow line is for the words already.
        priority=("Filter",),
    )

    DEFAULT_CSS = """
    HistoryPane {
        #history-body { height: 1fr; }
        #history-list { width: 1fr; height: 1fr; }
        #history-empty { height: 1fr; padding: 1 2; display: none; }
        Detail { height: 8; }
        &.-short Detail { height: 6; }
        &.-short #history-words { display: none; }
        &.-short #history-words:focus, &.-short.-filtered #history-words {
            display: block; height: 1; border: none;
        }
        &.-wide #history-body { layout: horizontal; }
        &.-wide #history-list { width: 7fr; }
        &.-wide Detail { width: 5fr; height: 1fr; }
        /* One line of it stays, so that it keeps the focus. */
        &.-empty HistoryTable { height: 1; min-height: 1; }
        &.-empty Detail { display: none; }
        &.-empty #history-empty { display: block; }
    }
    """

    past: reactive[Past] = reactive(Past(), repaint=False)
    """What is listed, marked and compared."""

    def __init__(self) -> None:
        super().__init__(id="history-pane")
        self._rows, self._whole = Latest(), Latest()
        self._history = History()

    def compose(self) -> ComposeResult:
        words = Words(id="history-words", placeholder="such as: matmul bf16 tpu")
        words.border_title = "filter"
        yield words
        with Vertical(id="history-body"):
            with Panel(id="history-list"):
                yield HistoryTable()
                yield Static(id="history-empty", markup=False)
            yield Detail()

    def on_mount(self) -> None:
        self.draw()

    # What the tab shows.

    def watch_past(self, old: Past, new: Past) -> None:
        self.query_one(HistoryTable).show(new)
        self.draw()
        if bool(old.rows) != bool(new.rows):
            self.refresh_bindings()

    def draw(self) -> None:
        past = self.past
        self.set_class(not past.rows, "-empty")
        self.set_class(bool(past.text), "-filtered")
        self.set_class(self.app.size.height < SHORT, "-short")
        keys = "Enter to form · Space mark · Delete" if past.rows else ""
        self.query_one("#history-list", Panel).entitle(counted(past), keys)
        self.query_one("#history-empty", Static).update(instead(past))
        self.query_one(Detail).show(past, tall=self.app.size.height >= TALL)

    def set_wide(self, wide: bool) -> None:
        self.set_class(wide, "-wide")

    def on_resize(self) -> None:
        self.draw()

    def take_focus(self) -> None:
        self.screen.set_focus(self.query_one(HistoryTable))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In the words a slash is a letter."""
        # Whether the words have been told of their focus yet makes no difference.
        if action == "filter" and isinstance(self.screen.focused, Words):
            return False
        return super().check_action(action, parameters)

    def why_not(self, action: str) -> str | None:
        if action in ROW_ACTIONS and not self.past.rows:
            return "No measurement is listed."
        if action == "back" and not (self.past.marked or self.past.text):
            return "There is no mark and no word to take away."
        return super().why_not(action)

    # Listing.

    def enter(self) -> None:
        self.refresh_list()
        self.take_focus()

    def refresh_list(self) -> None:
        """Read the list again, as far as it was read; the cursor stays."""
        read = -(-self.past.read // PAGE) * PAGE
        self._list(self.past.text, min(max(PAGE, read), KEPT))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        """Filter with each key typed."""
        event.stop()
        if event.value != self.past.text:
            self.past = replace(self.past, text=event.value, cursor=None)
            self._list(event.value, PAGE)

    @on(Input.Submitted)
    def _typed_all(self, event: Input.Submitted) -> None:
        event.stop()
        self.take_focus()

    def _list(self, text: str, limit: int) -> None:
        self._ask(
            self._rows,
            partial(self._page, text, limit, 0),
            partial(self._listed, text),
        )

    def _page(self, text: str, limit: int, offset: int) -> Page:
        wanted = Filter(text=words(text) or None)
        return self._history.page(wanted, limit=limit, offset=offset)

    def _listed(self, text: str, page: Page) -> None:
        past, rows = self.past, page.rows
        if text != past.text:
            return
        # Where the table is: the message of the key before may still be on its way.
        cursor = past.cursor and (self.query_one(HistoryTable).number or past.cursor)
        if all(row.id != cursor for row in rows):
            cursor = rows[0].id if rows else None
        self.past = replace(
            past,
            rows=rows,
            count=page.count,
            unreadable=page.unreadable,
            cursor=cursor,
            trouble="",
        )
        self._read_whole()

    @on(HistoryTable.Moved)
    def _moved(self, event: HistoryTable.Moved) -> None:
        """Read the measurement that the cursor is at, and the next rows."""
        event.stop()
        past, table = self.past, self.query_one(HistoryTable)
        if table.number is not None and table.number != past.cursor:
            past = self.past = replace(past, cursor=table.number)
            self._read_whole()
        if past.has_more and table.lowest >= len(past.rows) - NEAR:
            question = partial(self._page, past.text, PAGE, past.read)
            self._ask(self._rows, question, partial(self._append, past.rows))

    def _append(self, before: tuple[Row, ...], page: Page) -> None:
        past = self.past
        if past.rows is not before:
            return
        # What another process has added since moves everything on by a row.
        known = {row.id for row in before}
        more = tuple(row for row in page.rows if row.id not in known)
        past = replace(past, unreadable=past.unreadable + page.unreadable)
        # An empty page is the end, whatever was counted.
        count = page.count if more else past.read
        self.past = replace(past, rows=(*before, *more), count=count)

    def _read_whole(self) -> None:
        """Read what is marked and under the cursor, and the cursor's case over time."""
        past = self.past
        numbers = {*past.marked, *filter(None, [past.cursor])}
        known = {one: past.entries[one] for one in numbers if one in past.entries}
        before = {one: past.earlier[one] for one in past.marked if one in past.earlier}
        row = self._row

        def read() -> Past:
            missing = {one: self._history.entry(one) for one in numbers - known.keys()}
            found = {**known, **missing}
            news = {
                one: self._history.before(found[one])
                for one in past.marked
                if one not in before
            }
            new = replace(past, entries=found, earlier={**before, **news}, repeats=())
            if row is None:
                return new
            same = Filter(host=row.hostname, **_case(row))
            # What is not the same after an edit is no repeat.
            if source := found[row.id].measurement.source:
                same = replace(same, source=source.digest)
            return replace(new, repeats=self._history.page(same, limit=REPEATS).rows)

        def take(found: Past) -> None:
            self.past = replace(
                self.past,
                entries=found.entries,
                earlier=found.earlier,
                repeats=found.repeats,
            )

        self._ask(self._whole, read, take)

    @property
    def _row(self) -> Row | None:
        """The row under the cursor; a slow line delivers several keys at once."""
        number = self.query_one(HistoryTable).number
        return next((one for one in self.past.rows if one.id == number), None)

    # What the keys do.

    def action_mark(self) -> None:
        row, marked = self._row, self.past.marked
        if row is None:
            return
        if row.id in marked:
            self._mark(tuple(one for one in marked if one != row.id))
        elif len(marked) == len(LABELS):
            self.base.say(BOTH_MARKED)
        else:
            self._mark((*marked, row.id))

    def _mark(self, marked: tuple[int, ...]) -> None:
        self.past = replace(self.past, marked=marked)
        self._read_whole()

    def action_delete(self) -> None:
        row = self._row
        if row is None:
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.base.background(partial(self._delete, row.id))

        what = " ".join(view.cells(row)[2:7])
        question = f"Delete {what} ({fmt.seconds(row.ready)}) of {view.when(row.at)}?"
        self.app.push_screen(Question(question, "deletes it", "keeps it"), answered)

    async def _delete(self, number: int) -> None:
        forget = partial(self._history.delete, Filter(id=number))
        error = await in_thread(partial(_answer_or_error, forget))
        if isinstance(error, HistoryError):
            self.base.say(str(error))
            return
        past = self.past
        rows = tuple(row for row in past.rows if row.id != number)
        index = next((i for i, row in enumerate(past.rows) if row.id == number), 0)
        cursor = rows[min(index, len(rows) - 1)].id if rows else None
        marked = tuple(one for one in past.marked if one != number)
        self.past = replace(past, rows=rows, cursor=cursor, marked=marked)
        self.base.say("Deleted.")
        # What moved up may be on a page that was not read yet.
        self.refresh_list()

    def action_filter(self) -> None:
        self.screen.set_focus(self.query_one(Words))

    def action_back(self) -> None:
        if self.past.marked:
            self._mark(())
        else:
            self.query_one(Words).value = ""

    @on(HistoryTable.Chosen)
    def _chosen(self, event: HistoryTable.Chosen) -> None:
        event.stop()
        self.perform("take")

    def action_take(self) -> None:
        if (case := self.case) is not None:
            self.base.to_form(of_case(case))

    @property
    def case(self) -> Case | None:
        """That of the measurement under the cursor."""
        row = self._row
        if row is None:
            return None
        entry = self.past.entries.get(row.id)
        if entry is not None:
            return entry.measurement.case
        return Case(**_case(row))

    def action_export(self) -> None:
        self.app.push_screen(ExportScreen(self.exports()))

    def action_copy(self) -> None:
        self.base.take_away(listing(self.past), "history.md")

    def exports(self) -> Offer:
        """The two that are marked, or else all that the words mean."""
        past = self.past
        if (pair := past.pair) is not None:
            return Offer(
                file_stem("compare", *map(str, past.marked), stamp()),
                {".json": partial(_document, past), ".md": partial(_text, pair)},
            )
        stem = file_stem("history", *past.text.split(), stamp())
        # It may be a hundred thousand rows, and not all of them are on the list yet.
        write = {
            ending: partial(self._file, ending) for ending in (".csv", ".md", ".json")
        }
        return Offer(stem, write)

    def _file(self, ending: str) -> str:
        try:
            page = self._page(self.past.text, EVERY, 0)
        except HistoryError as error:
            raise ExportError(str(error)) from error
        return view.files(page)[ending]()

    # Asking.

    def _ask(
        self, latest: Latest, question: Callable[[], _T], answered: Callable[[_T], None]
    ) -> None:
        """Ask the file in a thread; an answer to an older question is dropped."""

        def take(found: _T | HistoryError) -> None:
            if self.base.leaving:
                return
            if isinstance(found, HistoryError):
                self.past = replace(self.past, trouble=str(found))
                self.session.say(str(found))
                return
            answered(found)
            if self._history.moved:
                self.session.say(self._history.moved)
                self._history.moved = ""

        self.base.background(
            partial(latest.ask, partial(_answer_or_error, question), take)
        )


# What it has to export.


def _document(past: Past) -> str:
    sides = [[past.side(one, str(one))] for one in past.marked]
    return encode(compare.Pairs(pairs=pairs(*sides))).decode()


def _text(pair: Pair) -> str:
    return compare.text([pair]) + "\n"


# Words.

ROW_ACTIONS = {"take", "mark", "delete", "code", "copy", "export"}
"""Actions that need a measurement."""

SHORT = 20
"""Lines of the screen below which there is no room for the frame of the filter."""

TALL = 32
"""Lines of the screen from which on a measurement is shown in full."""

EMPTY = (
    ("Nothing measured yet", ""),
    ("1 Enter", "the first minute, in Devices"),
    ("2 r", "what the form says, in Bench"),
    ("jaxtui bench", "in a shell adds to the same list"),
)
"""How to fill an empty history."""


def words(text: str) -> str:
    """The words to search for: ``bf16`` means ``bfloat16``, as elsewhere."""
    return " ".join(DTYPE_ALIASES.get(word, word) for word in text.lower().split())


def counted(past: Past) -> str:
    """How many there are, and how many of them could not be read."""
    if not past.count:
        return "measurements"
    text = fmt.plural(past.count, "measurement")
    if past.unreadable:
        text += f", {fmt.count(past.unreadable)} could not be read"
    return text


def instead(past: Past) -> Content:
    """What stands in the place of a table without rows."""
    if past.trouble:
        return Content(past.trouble)
    if past.count is None:
        return Content("Reading the history…")
    if past.unreadable:
        return Content(view.unreadable(past.unreadable))
    if past.text.strip():
        return Content.assemble(
            ("Nothing measured with all of these words: ", "bold"),
            past.text.strip(),
            "\n\nEsc takes the words away.",
        )
    (title, _), *rest = EMPTY
    lines = (
        Content.assemble((key.ljust(14), "bold $panel-lit"), text) for key, text in rest
    )
    return Content("\n").join([Content.styled(title, "bold"), Content(""), *lines])


def listing(past: Past) -> str:
    """The rows that were read, as a table of Markdown."""
    read, count = len(past.rows), past.count or 0
    more = f"\nThe newest {read} of {count}.\n" if past.has_more else ""
    return f"{view.as_markdown(past.rows)}\n{more}"


def _case(row: Row) -> dict[str, Any]:
    """What a row knows of its case."""
    return {name: getattr(row, name) for name in CASE}


def _answer_or_error(question: Callable[[], _T]) -> _T | HistoryError:
    """The answer, or why there is none."""
    try:
        return question()
    except HistoryError as error:
        return error
