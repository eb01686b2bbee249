"""One row per case, updated in place."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import DataTable

from jaxtui.state import CaseState, Job
from jaxtui.tui import roofline
from jaxtui.tui.state import EMPTY, State
from jaxtui.view import bench

_ROOM = {
    "ready": 8,
    "dispatch": 8,
    "rate": 12,
    "peak": 6,
    "error": 7,
    "× numpy": 7,
    "notes": 5,
    "flops/byte": 10,
    "of roof": 7,
    "limited by": 14,
}
"""Cells that a column keeps for figures yet to come.

A column that grows during a run makes the whole screen be laid out again.
"""

_DTYPE_ROOM = len("bfloat16")
"""The same for dtypes of the user's functions, which are known after a run."""

_NOTES_ROOM = 26
"""The same for notes where they are written out."""

_RIGHT = (
    "size",
    "ready",
    "dispatch",
    "rate",
    "peak",
    "error",
    "× numpy",
    "flops/byte",
    "of roof",
)


class ResultsTable(DataTable[Text]):
    """The run as a table; the row under the cursor is the selected case."""

    DEFAULT_CSS = """
    ResultsTable {
        height: 1fr; min-height: 3;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1;
    }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    class Picked(Message):
        """The cursor went to another case."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class Asked(Message):
        """All is to be said about the selected case."""

    def __init__(self) -> None:
        # One space between columns, not two: at 80 columns every one counts.
        super().__init__(cursor_type="row", cell_padding=0)
        self._run: int | None = None
        self._wide = False
        self._roofline = False
        self._cells: dict[tuple[int, str], str] = {}

    @property
    def _columns_shown(self) -> tuple[str, ...]:
        if self._roofline:
            return roofline.WIDE if self._wide else roofline.NARROW
        return bench.WIDE if self._wide else bench.NARROW

    def watch_state(self, old: State, state: State) -> None:
        """Write the cells that changed; rebuild for another run or view."""
        run = state.run
        if run is None:
            return
        under_roofs = state.view == "roofline"
        if run.number != self._run or under_roofs != self._roofline:
            self._roofline = under_roofs
            self._rebuild(run)
            return
        for index, cells in enumerate(self._rows(run)):
            for column in self._columns_shown:
                if self._cells.get((index, column)) != cells[column]:
                    self._cells[index, column] = cells[column]
                    self.update_cell(str(index), column, _cell(column, cells[column]))
        # Any other snapshot may be older than the key that has just moved the cursor.
        if state.case_index != old.case_index:
            self._follow()

    def set_wide(self, wide: bool) -> None:
        """Show all columns, or those that matter most."""
        if wide != self._wide:
            self._wide = wide
            if self.state.run is not None:
                self._rebuild(self.state.run)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Say which case the cursor is at."""
        event.stop()
        # One that the cursor has left again is of no interest: answering it would move
        # the cursor back, and so on for ever.
        if event.cursor_row != self.cursor_row:
            return
        if event.row_key.value is not None and self.has_focus:
            self.post_message(self.Picked(int(event.row_key.value)))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Enter, or a click on the row that is selected, asks for all about it."""
        event.stop()
        self.post_message(self.Asked())

    def _room(self, column: str) -> int:
        if column == "notes" and self._wide:
            return _NOTES_ROOM
        run = self.state.run
        if column == "dtype" and run and not all(one.case.dtype for one in run.cases):
            return _DTYPE_ROOM
        return _ROOM.get(column, 0)

    def _rows(self, run: Job) -> Sequence[dict[str, str]]:
        if self._roofline:
            return roofline.rows(self.state)
        return [self._row(case, run) for case in run.cases]

    def _row(self, case: CaseState, run: Job) -> dict[str, str]:
        """Cells of a case; where there is no room, notes are only counted."""
        cells = bench.row(case, run)
        if self._wide:
            return cells
        notes = len(bench.own_notes(case, run))
        return cells | {"notes": str(notes) if notes else ""}

    def _rebuild(self, run: Job) -> None:
        self._run = run.number
        self._cells = {}
        with self.app.batch_update():
            self.clear(columns=True)
            rows = self._rows(run)
            for column in self._columns_shown:
                longest = max(len(cells[column]) for cells in rows)
                width = 1 + max(longest, len(column), self._room(column))
                self.add_column(_cell(column, column), key=column, width=width)
            for index, cells in enumerate(rows):
                shown = [(column, cells[column]) for column in self._columns_shown]
                self._cells |= {(index, column): text for column, text in shown}
                self.add_row(*(_cell(*pair) for pair in shown), key=str(index))
        self._follow()

    def _follow(self) -> None:
        if self.cursor_row != self.state.case_index:
            self.move_cursor(row=self.state.case_index)


def _cell(column: str, text: str) -> Text:
    right = column in _RIGHT
    return Text(f" {text}", justify="right" if right else "left", no_wrap=True)
