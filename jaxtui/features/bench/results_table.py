"""The results of a run, and what XLA printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.console import Group
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.reactive import reactive
from textual.widgets import RichLog

from jaxtui.core.state import MAXIMUM_LOG_LINES
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.choices import curves_of, view_of
from jaxtui.features.bench.views import short_label
from jaxtui.registry import part
from jaxtui.ui import words
from jaxtui.ui.app.base import base
from jaxtui.ui.app.dialogs import NotesScreen
from jaxtui.ui.app.state import EMPTY, State
from jaxtui.ui.report import UNLIMITED, AnyNote, Notes, as_text, styled
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.table import Listing
from jaxtui.ui.widgets.panel import Hint, Panel, hint

_WIDE = 90
"""Columns from which on bars are long and columns are set apart."""


class LogPanel(Panel):
    """The engine's output, written only while it is in view."""

    DEFAULT_CSS = """
    LogPanel { height: 9; display: none; }
    LogPanel RichLog { height: 1fr; background: transparent; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)

    def __init__(self) -> None:
        super().__init__()
        self._written: tuple[str, ...] | None = None

    def compose(self) -> ComposeResult:
        self.set_title("what XLA printed", [hint(self, "details", "close")])
        yield RichLog(max_lines=MAXIMUM_LOG_LINES, wrap=True)

    def watch_state(self) -> None:
        self.catch_up()

    def catch_up(self) -> None:
        """Write the lines that came while the panel was hidden."""
        lines = self.state.log
        if not self.display or lines is self._written:
            return
        log, written = self.query_one(RichLog), self._written or ()
        if not written or lines[: len(written)] != written:
            # Nothing was known, or the oldest lines have gone: begin again.
            log.clear()
            written = ()
        for line in lines[len(written) :] or ("Nothing so far.",) * (not lines):
            log.write(line)
        self._written = lines


class Results(Panel):
    """A row for each case of the run, and what there is to say of the selected one."""

    state: reactive[State] = reactive(EMPTY, repaint=False)

    def __init__(self) -> None:
        super().__init__("results", id="results-panel")

    def compose(self) -> ComposeResult:
        yield ResultsTable().data_bind(Results.state)
        with VerticalScroll(id="notes-scroll", can_focus=False):
            yield Sheet(id="notes")

    def draw(self) -> None:
        self.query_one(ResultsTable).write()
        state = self.state
        view: Sequence[AnyNote] = ()
        if state.view == "roofline":
            view = part(state.view, "screen").statements(state, state.case_index)

        def write(width: int) -> Iterator[Text | Notes]:
            yield Notes(view)
            yield from _lines(state, width, full=False)

        self.query_one("#notes", Sheet).show(write)

    def tell_keys(self, hints: Sequence[Hint]) -> None:
        """Say what is true of the whole run, and what the keys do to which case.

        Args:
            hints: keys that act on the selected case beside Enter; may be empty.
        """
        run, case = self.state.run, self.state.case
        whole_run = bench.telling(bench.notes(run)) if run is not None else ()
        labels = map(words.label, whole_run)
        whole = "".join(f" · {label}" for label in labels)
        label = "" if case is None else short_label(case.case)
        table = self.query_one(ResultsTable)
        notes = hint(table, "select_cursor", about=label)
        self.set_title(f"results{whole}", [notes, *hints])

    @on(Listing.RowSelected)
    def _chosen(self, event: Listing.RowSelected) -> None:
        """Show all that there is to say of the selected case."""
        event.stop()
        state = base(self).session.state
        if (case := state.case) is not None:
            lines = list(_lines(state, UNLIMITED, full=True))
            self.app.push_screen(NotesScreen(case.case.label, Group(*lines)))


def _lines(state: State, width: int, *, full: bool) -> Iterator[Text | Notes]:
    """Yield the lines on the selected case; in full with what is usual."""
    case, run = state.case, state.run
    if case is not None and run is not None:
        yield Notes(bench.statements(case, run, full=full))
        yield from map(as_text, bench.figure_lines(case, width))
        if case.failure is not None and case.failure.remark.detail:
            original = case.failure.remark.detail.rstrip().splitlines()
            yield from (styled(line, "muted") for line in ("", *original))


class ResultsTable(Listing):
    """The run as a table; the row under the cursor is the selected case."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Notes", tooltip="All notes of the case.")
    ]

    DEFAULT_CSS = """
    ResultsTable { height: auto; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)

    def watch_state(self, old: State, state: State) -> None:
        self.write()
        # Any other snapshot may be older than the key that has just moved the cursor.
        if state.case_index != old.case_index:
            self._follow()

    def on_resize(self, event: events.Resize) -> None:
        self.write()

    def write(self) -> None:
        """Write the cells that changed, or all anew for another run, view or width."""
        run, width = self.state.run, self.region.width
        if run is None or not width:
            return
        view, selected = view_of(self.state), self.state.case_index
        if view == "roofline":
            columns_of = part(view, "screen").columns
            columns = columns_of(self.state, selected, wide=width >= _WIDE)
        else:
            # Longer bars would cut the flags of notes at 120 columns.
            room = 7 if width < _WIDE else 12
            swept = curves_of(self.state) if view == "sweep" else None
            columns = bench.result_columns(run, swept=swept, room=room)
        keys = [str(index) for index in range(len(run.cases))]
        if self.show(columns, keys, gap=1 if width < _WIDE else 2):
            self._follow()

    def moved(self, key: str) -> None:
        session = base(self).session
        if (run := session.state.run) is not None:
            session.update(picked=(run.origin, int(key)))

    def _follow(self) -> None:
        self.follow(str(self.state.case_index))
