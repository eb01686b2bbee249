"""Columns of a report as a table of Textual, with a cursor over its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.widgets import DataTable

from jaxtui.ui.report import Cell, Column, as_text, fitting


class Listing(DataTable[Text]):
    """As many columns as there is room for; those that grow take what is left."""

    DEFAULT_CSS = """
    Listing {
        height: 1fr; background: transparent; overflow-x: hidden;
        &:focus { background-tint: transparent; }
        & > .datatable--header, &:focus > .datatable--header {
            background: transparent; background-tint: transparent;
            color: $muted; text-style: bold;
        }
        & > .datatable--odd-row, & > .datatable--even-row { background: transparent; }
        & > .datatable--cursor { background: $panel; color: $foreground; }
        &:focus > .datatable--cursor {
            background: $primary 35%; color: $foreground; text-style: none;
        }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("home", "scroll_top", "First", show=False),
        Binding("end", "scroll_bottom", "Last", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(
            cursor_type="row", cell_padding=0, cursor_foreground_priority="renderable"
        )
        self._columns: Sequence[Column] = ()
        self._keys: tuple[str, ...] = ()
        self._gap = 1
        self._room = 0
        self._shown: list[tuple[Column, int]] = []
        """The columns that fit, and their widths."""
        self._following = False

    def moved(self, key: str) -> None:
        """A key or a click has moved the cursor to a row."""

    @property
    def key_here(self) -> str | None:
        """The key of the row under the cursor."""
        return self._keys[self.cursor_row] if self.row_count else None

    def show(
        self, columns: Sequence[Column], keys: Sequence[str], gap: int = 1
    ) -> bool:
        """Draw the cells that differ; the cursor stays on its row if that is there.

        Args:
            columns: those that go first where there is no room have the highest rank.
            keys: a name for each row.
            gap: blanks between columns.

        Returns:
            Whether everything is new.
        """
        room = self.size.width - self.styles.scrollbar_size_vertical
        given = tuple(keys), gap, room
        old = self._keys, self._gap, self._room
        if columns is self._columns and given == old:
            return False
        before, here = self._shown, self.key_here
        self._columns, (self._keys, self._gap, self._room) = columns, given
        self._shown = fitting(columns, room, gap)
        kept = len(old[0])
        with self._follow_only():
            if _look(before) == _look(self._shown) and self._keys[:kept] == old[0]:
                self._update(before)
                self._add_rows(kept)
                return False
            self.clear(columns=True)
            for place, (column, width) in enumerate(self._shown, start=1):
                head = _cut(column.head, column, width)
                self.add_column(head, width=width + gap * (place < len(self._shown)))
            self._add_rows(0)
        if here is not None:
            self.follow(here)
        return True

    def follow(self, key: str) -> None:
        """Move the cursor to a row, if that is there."""
        if key in self._keys and key != self.key_here:
            with self._follow_only():
                self.move_cursor(row=self._keys.index(key), animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """An empty table has nothing to select, and the key goes on to its pane."""
        if action == "select_cursor" and not self.row_count:
            return False
        return super().check_action(action, parameters)

    def on_resize(self, event: events.Resize) -> None:
        self.show(self._columns, self._keys, self._gap)

    def watch_cursor_coordinate(self, old: Coordinate, new: Coordinate) -> None:
        super().watch_cursor_coordinate(old, new)
        if not self._following and self.key_here is not None and old.row != new.row:
            self.moved(self.key_here)

    @contextmanager
    def _follow_only(self) -> Iterator[None]:
        """Take moves of the cursor for none of the user's."""
        self._following = True
        try:
            with self.prevent(DataTable.RowHighlighted):
                yield
        finally:
            self._following = False

    def _update(self, before: Sequence[tuple[Column, int]]) -> None:
        pairs = zip(self._shown, before, strict=True)
        for place, ((column, width), (old, _)) in enumerate(pairs):
            # Rows that were not there before are added.
            for row, cell in enumerate(column.cells[: len(old.cells)]):
                if not _same(cell, old.cells[row]):
                    text = _cut(cell, column, width)
                    self.update_cell_at(Coordinate(row, place), text)

    def _add_rows(self, first: int) -> None:
        for row in range(first, len(self._keys)):
            cells = (_cut(c.cells[row], c, width) for c, width in self._shown)
            self.add_row(*cells)

    def on_click(self, event: events.Click) -> None:
        """Take any cell in the row of the cursor for that of the cursor."""
        place = Coordinate(
            event.style.meta.get("row", -1), event.style.meta.get("column", 0)
        )
        if place.row == self.cursor_row:
            self.set_reactive(DataTable.cursor_coordinate, place)


def _look(columns: Sequence[tuple[Column, int]]) -> list[tuple[str, bool, int]]:
    """The parts that make a table another one."""
    return [(column.head, column.right, width) for column, width in columns]


def _same(cell: Cell, other: Cell) -> bool:
    """Texts are equal whatever their base style is."""
    if isinstance(cell, Text) and isinstance(other, Text):
        return cell == other and cell.style == other.style
    return cell == other


def _cut(cell: Cell, column: Column, width: int) -> Text:
    """A cell as wide as its column."""
    text = cell.copy() if isinstance(cell, Text) else as_text(cell)
    if text.cell_len > width and column.tail:
        text = Text("…").append_text(text[text.cell_len + 1 - width :])
    text.truncate(width, overflow="ellipsis")
    text.align("right" if column.right else "left", width)
    return text
