"""One row per measurement of the past, read as the cursor comes near."""

from __future__ import annotations

from rich.text import Text
from textual.message import Message
from textual.widgets import DataTable

from jaxtui.history.store import Row
from jaxtui.tui import history_text
from jaxtui.tui.history_state import LABELS, NEAR, NO_HISTORY, HistoryState
from jaxtui.view.history import RIGHT

_MARK = "mark"

_LONGEST = {"op": 24, "host": 32}
"""Cells that a column takes at most."""

_SHORTEST = {"op": 15, "host": 24}
"""The same where there is little room."""


class HistoryTable(DataTable[Text]):
    """The measurements; the marked ones carry their letters."""

    DEFAULT_CSS = """
    HistoryTable {
        height: 1fr; min-height: 3;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1;
    }
    """

    class Moved(Message):
        """The cursor went to another measurement."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class RanOut(Message):
        """The last row that was read is near."""

    class Taken(Message):
        """Enter was pressed on a measurement."""

    def __init__(self) -> None:
        # One space between columns, not two: at 80 columns every one counts.
        super().__init__(cursor_type="row", cell_padding=0)
        self._past: HistoryState = NO_HISTORY
        self._wide = False
        self._widths: dict[str, int] = {}

    def show(self, past: HistoryState) -> None:
        """Show these rows; what is on screen already stays."""
        before, self._past = self._past, past
        if past.rows is not before.rows:
            count = len(before.rows)
            more = past.rows[count:]
            same = bool(count) and past.rows[:count] == before.rows
            if same and self._fits(more):
                self._add(more)
            else:
                self._rebuild()
        elif past.marked != before.marked:
            for number in {*before.marked, *past.marked}:
                if str(number) in self._row_locations:
                    self.update_cell(str(number), _MARK, _label(past, number))

    @property
    def number(self) -> int | None:
        """Id of the measurement under the cursor."""
        rows = self._past.rows
        return rows[self.cursor_row].id if self.cursor_row < len(rows) else None

    def set_wide(self, wide: bool) -> None:
        """Write moments in full, or in short."""
        if wide != self._wide:
            self._wide = wide
            self._rebuild()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Say which measurement the cursor is at."""
        event.stop()
        # The rebuilt table moves its cursor twice; only where it is now counts.
        if event.cursor_row != self.cursor_row or self.number is None:
            return
        self.post_message(self.Moved(self.number))
        self._look_ahead(self.cursor_row)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Take the measurement."""
        event.stop()
        self.post_message(self.Taken())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The wheel scrolls without the cursor."""
        super().watch_scroll_y(old_value, new_value)
        if new_value > old_value:
            self._look_ahead(int(new_value) + self.size.height)

    def _look_ahead(self, row: int) -> None:
        if self._past.has_more and row >= len(self._past.rows) - NEAR:
            self.post_message(self.RanOut())

    def _rebuild(self) -> None:
        rows = self._past.rows
        with self.app.batch_update():
            self.clear(columns=True)
            if not rows:
                return
            self._widths = self._needed(rows)
            self.add_column("", key=_MARK, width=2)
            for name, width in self._widths.items():
                self.add_column(_cell(name, name, width), key=name, width=width)
            self._add(rows)
            numbers = [row.id for row in rows]
            cursor = self._past.cursor
            if cursor in numbers:
                self.move_cursor(row=numbers.index(cursor))

    def _add(self, rows: tuple[Row, ...]) -> None:
        for row in rows:
            cells = history_text.row_cells(row, wide=self._wide)
            self.add_row(
                _label(self._past, row.id),
                *(
                    _cell(name, cells[name], each)
                    for name, each in self._widths.items()
                ),
                key=str(row.id),
            )

    def _fits(self, rows: tuple[Row, ...]) -> bool:
        needed = self._needed(rows)
        same = needed.keys() == self._widths.keys()
        return same and all(needed[name] <= self._widths[name] for name in needed)

    def _needed(self, rows: tuple[Row, ...]) -> dict[str, int]:
        """Cells per column, with the space before it."""
        texts = [history_text.row_cells(row, wide=self._wide) for row in rows]
        return {name: 1 + self._longest(name, texts) for name in self._columns()}

    def _columns(self) -> list[str]:
        """Where there is little room, a host that all rows share only costs some.

        It stands below the table with the rest of the measurement.
        """
        hosts = {row.hostname for row in self._past.rows}
        shared = not self._wide and len(hosts) == 1
        return [
            name for name in history_text.COLUMNS if not (shared and name == "host")
        ]

    def _longest(self, name: str, texts: list[dict[str, str]]) -> int:
        longest = max([len(name), *(len(one[name]) for one in texts)])
        return min(longest, (_LONGEST if self._wide else _SHORTEST).get(name, 99))


def _label(past: HistoryState, number: int) -> Text:
    """``A`` or ``B`` for a marked measurement."""
    if number not in past.marked:
        return Text("  ")
    return Text(f"{LABELS[past.marked.index(number)]} ", style="bold reverse")


def _cell(column: str, text: str, width: int) -> Text:
    room = width - 1
    if len(text) > room and column == "op":
        # A function of one's own: its name is at the end.
        text = "…" + text[1 - room :]
    elif len(text) > room:
        text = text[: room - 1] + "…"
    right = column in RIGHT
    return Text(f" {text}", justify="right" if right else "left", no_wrap=True)
