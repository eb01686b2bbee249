"""The keys of the tab History, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from jaxtui.analysis.comparison import compare
from jaxtui.export import ExportError
from jaxtui.history.store import Entry, Filter, History, HistoryError, Page
from jaxtui.model import Case
from jaxtui.tui.aside import Latest, in_thread
from jaxtui.tui.command import Command
from jaxtui.tui.history_state import KEPT, LABELS, PAGE, HistoryState
from jaxtui.tui.history_text import listing, question, side_of, words
from jaxtui.tui.screens.question import Question

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp
    from jaxtui.tui.widgets.history_pane import HistoryPane


HISTORY_COMMANDS: tuple[Command, ...] = (
    Command(
        "history-take",
        "enter",
        "history_take",
        "To form",
        "Take the case of the measurement to the form.",
        "History",
        footer=True,
        tab="history",
    ),
    Command(
        "history-filter",
        "slash,ctrl+f",
        "history_filter",
        "Filter",
        "Type words to filter by, such as: matmul bf16 tpu.",
        "History",
        footer=True,
        tab="history",
    ),
    Command(
        "history-mark",
        "space",
        "history_mark",
        "Mark",
        "Mark the measurement, or unmark it; two that are marked are compared.",
        "History",
        footer=True,
        tab="history",
    ),
    Command(
        "history-delete",
        "delete",
        "history_delete",
        "Delete",
        "Delete the measurement from the history, after a question.",
        "History",
        footer=True,
        tab="history",
    ),
    Command(
        "history-back",
        "escape",
        "history_back",
        "Back",
        "Leave the filter; then take the marks away; then the filter's words.",
        "History",
        tab="history",
    ),
)

_OF_A_ROW = {
    "history_take",
    "history_mark",
    "history_delete",
    "code",
    "copy",
    "export",
}
"""Actions that need a measurement."""


def why_not_history(action: str, history: HistoryState) -> str | None:
    """Why an action cannot be done in the tab History now, or ``None``.

    Args:
        action: its name without arguments.
        history: what the tab shows.
    """
    if action == "run":
        return "Enter takes the measurement's case to the form; r runs it there."
    if action in _OF_A_ROW and not history.rows:
        return "No measurement is listed."
    return None


EVERY = -1
"""As a limit it lets all rows pass, for SQLite."""

BOTH_MARKED = "Two are marked: Space on one of them takes its mark away, Esc both."

_T = TypeVar("_T")


class HistoryActions:
    """The part of the app that lists, compares and forgets measurements."""

    def __init__(self) -> None:
        super().__init__()
        self._rows, self._details, self._pair = Latest(), Latest(), Latest()
        self._archive: History | None = None

    @property
    def _reader(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self)

    @property
    def _past(self) -> HistoryState:
        return self._reader.session.state.history

    # Listing.

    def look(self) -> None:
        """Read the list again, as far as it was read; the cursor stays."""
        read = -(-self._past.read // PAGE) * PAGE
        self._list(self._past.text, min(max(PAGE, read), KEPT))

    def look_again(self) -> None:
        """More has been written: read the list again if it is on screen."""
        reader = self._reader
        shown = not reader.leaving and reader.history is not None
        if shown and reader.tab == "history":
            self.look()

    def on_history_pane_typed(self, event: HistoryPane.Typed) -> None:
        """Filter with each key typed."""
        if event.text != self._past.text:
            self._set_past(replace(self._past, text=event.text, cursor=None))
            self._list(event.text, PAGE)

    def on_history_pane_ran_out(self) -> None:
        """Read the next rows."""
        past = self._past
        if past.has_more:
            question = partial(self._page, past.text, PAGE, past.read)
            self._ask(self._rows, question, partial(self._append, past))

    def on_history_pane_moved(self, event: HistoryPane.Moved) -> None:
        """Read the measurement that the cursor is at."""
        self._move(event.number)

    def _list(self, text: str, limit: int) -> None:
        question = partial(self._page, text, limit, 0)
        self._ask(self._rows, question, partial(self._listed, text))

    def _page(self, text: str, limit: int, offset: int) -> Page:
        wanted = Filter(text=words(text) or None)
        return self._opened().page(wanted, limit=limit, offset=offset)

    def _listed(self, text: str, page: Page) -> None:
        past, rows = self._past, page.rows
        if text != past.text:
            return
        kept = any(row.id == past.cursor for row in rows)
        cursor = past.cursor if kept else rows[0].id if rows else None
        listed = replace(past, rows=rows, count=page.count, unreadable=page.unreadable)
        self._set_past(replace(listed, cursor=cursor, trouble=""))
        self._move(cursor)

    def _append(self, before: HistoryState, page: Page) -> None:
        past = self._past
        if past.text != before.text or past.rows is not before.rows:
            return
        # What another process has added since moves everything on by a row.
        known = {row.id for row in past.rows}
        more = tuple(row for row in page.rows if row.id not in known)
        past = replace(past, unreadable=past.unreadable + page.unreadable)
        # An empty page is the end, whatever was counted.
        count = page.count if more else past.read
        self._set_past(replace(past, rows=(*past.rows, *more), count=count))

    def _move(self, number: int | None) -> None:
        past = self._past
        if number != past.cursor:
            past = replace(past, cursor=number)
            self._set_past(past)
        if number is not None and past.detail is None:
            self._ask(self._details, partial(self._whole_of, (number,)), self._detailed)

    def _catch_up(self) -> None:
        """Be where the cursor is: a slow line delivers several keys at once."""
        if self._reader.history is not None:
            self._move(self._reader.history.number)

    def _detailed(self, entries: tuple[Entry, ...]) -> None:
        if entries:
            self._set_past(replace(self._past, entry=entries[0]))

    def _whole_of(self, numbers: tuple[int | None, ...]) -> tuple[Entry, ...]:
        history = self._opened()
        return tuple(history.entry(one) for one in numbers if one is not None)

    # Marking and comparing.

    def action_history_mark(self) -> None:
        """Mark the measurement under the cursor, or unmark it."""
        self._catch_up()
        past = self._past
        if past.cursor is None:
            return
        if past.cursor in past.marked:
            marked = tuple(one for one in past.marked if one != past.cursor)
        elif len(past.marked) == len(LABELS):
            self._reader.session.say(BOTH_MARKED)
            return
        else:
            marked = (*past.marked, past.cursor)
        self._mark(marked)

    def _mark(self, marked: tuple[int, ...]) -> None:
        kept = tuple(one for one in self._past.compared if one.id in marked)
        past = replace(self._past, marked=marked, compared=kept, comparison=None)
        self._set_past(past)
        if marked:
            question = partial(self._whole_of, marked)
            self._ask(self._pair, question, partial(self._compare, marked))

    def _compare(self, marked: tuple[int, ...], entries: tuple[Entry, ...]) -> None:
        if self._past.marked != marked:
            return
        sides = [
            side_of(entry, label) for label, entry in zip(LABELS, entries, strict=False)
        ]
        found = compare(*sides) if len(sides) == 2 else None
        self._set_past(replace(self._past, compared=entries, comparison=found))

    # Deleting.

    def action_history_delete(self) -> None:
        """Ask, and forget the measurement under the cursor."""
        self._catch_up()
        row = self._past.row
        if row is None:
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._reader.background(partial(self._delete, row.id))

        asked = Question(question(row), "deletes it for good", "keeps it")
        self._reader.push_screen(asked, answered)

    async def _delete(self, number: int) -> None:
        found = await in_thread(partial(_tried, partial(self._forget, number)))
        if isinstance(found, bool):
            self._forgotten(number)
        else:
            self._reader.session.say(str(found))

    def _forget(self, number: int) -> bool:
        return self._opened().delete_entry(number)

    def _forgotten(self, number: int) -> None:
        past = self._past
        index = next((i for i, row in enumerate(past.rows) if row.id == number), None)
        if number in past.marked:
            self._mark(tuple(one for one in past.marked if one != number))
        if index is not None:
            past = self._past
            rows = (*past.rows[:index], *past.rows[index + 1 :])
            count = len(rows) if past.count is None else past.count - 1
            cursor = rows[min(index, len(rows) - 1)].id if rows else None
            self._set_past(replace(past, rows=rows, count=count, cursor=cursor))
            self._move(cursor)
        self._reader.session.say("Deleted.")
        # What moved up may be on a page that was not read yet.
        self.look()

    # The other keys.

    def action_history_filter(self) -> None:
        """Go to the words."""
        if self._reader.history is not None:
            self._reader.history.to_filter()

    def action_history_back(self) -> None:
        """Leave the words, then take the marks away, then the words."""
        pane = self._reader.history
        if pane is None:
            return
        if pane.is_filtering:
            pane.take_focus()
        elif self._past.marked:
            self._mark(())
        elif self._past.text:
            pane.clear()

    def action_history_take(self) -> None:
        """Take the case under the cursor to the form."""
        case = self.past_case()
        if case is not None:
            from jaxtui.tui import form

            self._reader.to_form(form.of_case(case))

    def on_history_pane_taken(self) -> None:
        """The same by Enter in the table, or a click."""
        self._reader.perform("history_take")

    def past_case(self) -> Case | None:
        """The case of the measurement under the cursor."""
        self._catch_up()
        row, entry = self._past.row, self._past.detail
        if entry is not None:
            return entry.measurement.case
        if row is None:
            return None
        kept = {name: getattr(row, name) for name in _CASE}
        return Case(**kept)

    def copy_history(self) -> None:
        """Copy what is listed, and write it to a file."""
        self._reader.take_away(listing(self._past), "history.md")

    async def read_listed(self) -> Page:
        """All that the words mean, also what is not on the list yet.

        Raises:
            ExportError: The history cannot be read.
        """
        question = partial(self._page, self._past.text, EVERY, 0)
        found = await in_thread(partial(_tried, question))
        if isinstance(found, HistoryError):
            raise ExportError(str(found))
        return found

    # Asking.

    def _ask(
        self, asker: Latest, question: Callable[[], _T], answered: Callable[[_T], None]
    ) -> None:
        take = partial(self._take, answered)
        self._reader.background(partial(asker.ask, partial(_tried, question), take))

    def _take(self, answered: Callable[[_T], None], found: _T | HistoryError) -> None:
        if self._reader.leaving:
            return
        if isinstance(found, HistoryError):
            said = str(found)
            self._set_past(replace(self._past, trouble=said))
            self._reader.session.say(said)
            return
        answered(found)
        history = self._opened()
        if history.moved:
            self._reader.session.say(history.moved)
            history.moved = ""

    def _opened(self) -> History:
        self._archive = self._archive or History()
        return self._archive

    def _set_past(self, past: HistoryState) -> None:
        self._reader.session.update(history=past)


_CASE = ("op", "size", "dtype", "precision", "device", "mode", "inputs")
"""What a row knows of its case."""


def _tried(question: Callable[[], _T]) -> _T | HistoryError:
    """The answer, or why there is none."""
    try:
        return question()
    except HistoryError as error:
        return error
