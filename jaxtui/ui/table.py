"""Columns of a report as a table of Textual, with a cursor over its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.widgets import DataTable

from jaxtui.ui.report import AnyColumn, Rows, as_text


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
        super().__init__(cursor_type="row", cell_padding=0)
        self._columns: Sequence[AnyColumn] = ()
        self._keys: Sequence[str] = ()

    @property
    def key_here(self) -> str | None:
        """The key of the row under the cursor."""
        return self._keys[self.cursor_row] if self.row_count else None

    def show(self, columns: Sequence[AnyColumn], keys: Sequence[str]) -> None:
        """Show other rows; the cursor stays on its row if that is still there.

        Args:
            columns: those that go first where there is no room have the highest rank.
            keys: a name for each row.
        """
        here = self.key_here
        self._columns, self._keys = columns, keys
        self._lay_out(here)

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out(self.key_here)

    def _lay_out(self, here: str | None) -> None:
        room = self.size.width - self.styles.scrollbar_size_vertical
        shown = Rows(self._columns, gap=1).fitting(room)
        spare = room - sum(column.width + 1 for column in shown)
        self.clear(columns=True)
        cells = []
        for column in shown:
            width, texts = column.width, [*map(as_text, column.cells)]
            if column.grows:
                longest = max((text.cell_len for text in texts), default=0)
                more = min(spare, min(longest, column.most or longest) - width)
                width += max(0, more)
                spare -= max(0, more)
            head = as_text(column.head).copy()
            head.align("right" if column.right else "left", width)
            self.add_column(head, width=width + 1, key=column.head)
            cells.append([_cut(text, column, width) for text in texts])
        for key, row in zip(self._keys, zip(*cells, strict=True), strict=False):
            self.add_row(*row, key=key)
        if here in self._keys:
            self.move_cursor(row=self._keys.index(here), animate=False)

    def on_click(self, event: events.Click) -> None:
        """Take any cell in the row of the cursor for that of the cursor."""
        place = Coordinate(
            event.style.meta.get("row", -1), event.style.meta.get("column", 0)
        )
        if place.row == self.cursor_row:
            self.set_reactive(DataTable.cursor_coordinate, place)


def _cut(text: Text, column: AnyColumn, width: int) -> Text:
    """A cell as wide as its column."""
    text = text.copy()
    if text.cell_len > width and column.tail:
        text = Text("…").append_text(text[text.cell_len + 1 - width :])
    text.truncate(width, overflow="ellipsis")
    text.align("right" if column.right else "left", width)
    return text
