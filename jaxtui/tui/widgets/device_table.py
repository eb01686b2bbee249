"""The devices as a table, or what a health check says of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.text import Text
from textual.message import Message
from textual.widgets import DataTable

from jaxtui.tui.widgets.paper import STYLES
from jaxtui.view.check import ROLES
from jaxtui.view.text import Column, Line, plain

_STYLES = {
    **STYLES,
    **{role: f"${role}" for role in ROLES.values()},
    **{f"{role}-selected": f"bold $background on ${role}" for role in ROLES.values()},
}


class DeviceTable(DataTable[Text]):
    """One row per device; the row under the cursor is the selected device."""

    DEFAULT_CSS = """
    DeviceTable {
        height: 1fr; background: transparent;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
        & > .datatable--header { background: transparent; color: $muted; }
        & > .datatable--cursor {
            background: $panel; color: $foreground; text-style: bold;
        }
        &:focus > .datatable--cursor { background: $primary 40%; }
    }
    """

    class Moved(Message):
        """The cursor went to another device."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Entered(Message):
        """Enter was pressed on a device."""

    class Paged(Message):
        """A key asked for another page of what is below the table."""

        def __init__(self, pages: int) -> None:
            super().__init__()
            self.pages = pages

    def __init__(self) -> None:
        super().__init__(
            cursor_type="row",
            cell_padding=0,
            cursor_foreground_priority="renderable",
        )
        self.pages_below = False
        """Whether PgUp and PgDn are for what is below."""
        self._names: tuple[str, ...] = ()
        self._gap = 0
        self._columns_drawn: tuple[Column, ...] = ()

    def show(
        self,
        names: Sequence[str],
        columns: Sequence[Column],
        selected: str | None,
        gap: int = 2,
    ) -> None:
        """Draw the devices; only cells that changed, where the columns are the same.

        Args:
            names: of the devices, one for each cell of a column.
            columns: all of which fit.
            selected: the device at the cursor.
            gap: blanks between columns.
        """
        self._gap = gap
        old, new = self._columns_drawn, tuple(columns)
        same = _shape(old) == _shape(new) and self._names == tuple(names)
        if not same:
            here = self._here()
            self._names = tuple(names)
            with self.app.batch_update():
                self.clear(columns=True)
                for one in new:
                    first = one is new[0]
                    head = " " * (0 if first else gap) + one.head
                    width = one.width + (0 if first else gap)
                    self.add_column(Text(head), key=one.key, width=width)
                for index, name in enumerate(names):
                    cells = (one.cells[index] for one in new)
                    painted = [
                        self._painted(cell, gap if place else 0)
                        for place, cell in enumerate(cells)
                    ]
                    self.add_row(*painted, key=name)
            selected = here if here in names else selected
        else:
            for before, after in zip(old, new, strict=True):
                changes = zip(names, before.cells, after.cells, strict=True)
                for name, was, now in changes:
                    if was != now:
                        first = after is new[0]
                        text = self._painted(now, 0 if first else gap)
                        self.update_cell(name, after.key, text)
        self._columns_drawn = new
        # Whoever moves the cursor of this table is ahead of the snapshot, which would
        # draw it back.
        if selected in self._names and not (same and self.has_focus):
            row = self._names.index(selected)
            if row != self.cursor_row:
                self.move_cursor(row=row)

    def repaint(self) -> None:
        """Draw all cells in the colours of another theme."""
        names, columns = self._names, self._columns_drawn
        here = names[self.cursor_row] if names else None
        self._columns_drawn = ()
        self.show(names, columns, here, self._gap)

    @property
    def text(self) -> str:
        """What is drawn, without its colours."""
        head = "  ".join(one.head for one in self._columns_drawn)
        rows = zip(*(one.cells for one in self._columns_drawn), strict=True)
        return "\n".join([head, *("  ".join(map(plain, row)) for row in rows)])

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Say which device the cursor is at."""
        event.stop()
        if event.cursor_row != self.cursor_row:
            return  # It has moved on: the next event says where to.
        if event.row_key.value is not None and self.has_focus:
            self.post_message(self.Moved(event.row_key.value))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Enter, or a click on the row of the cursor."""
        event.stop()
        self.post_message(self.Entered())

    def action_page_down(self) -> None:
        """The next page of what is below, or of the table."""
        self._page(1)

    def action_page_up(self) -> None:
        """The page before."""
        self._page(-1)

    def _page(self, pages: int) -> None:
        if self.pages_below:
            self.post_message(self.Paged(pages))
        elif pages > 0:
            super().action_page_down()
        else:
            super().action_page_up()

    def _here(self) -> str | None:
        """The device at the cursor, while the focus is here."""
        if self.has_focus and self.cursor_row < len(self._names):
            return self._names[self.cursor_row]
        return None

    def _painted(self, cell: Line, gap: int) -> Text:
        variables = self.app.theme_variables
        text = Text(" " * gap, no_wrap=True)
        for span in cell:
            style = _STYLES.get(span.role, "")
            style = re.sub(r"\$([\w-]+)", lambda name: variables[name[1]], style)
            text.append(span.text, style)
        return text


def _shape(columns: Sequence[Column]) -> list[tuple[str, int]]:
    return [(one.key, one.width) for one in columns]
