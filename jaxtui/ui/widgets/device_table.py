"""The devices as a table."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from jaxtui.ui.text import Column, Table
from jaxtui.ui.widgets.grid import Grid


class DeviceMoved(Message):
    """Another device was selected, in the table or on the map."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class DeviceTable(Grid):
    """A row per device; the row under the cursor is the selected device."""

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
        # Whoever moves the cursor of this table is ahead of the snapshot, which would
        # draw it back.
        ahead = self.has_focus and self.key_here in names
        if columns is not self.drawn.columns or tuple(names) != self.keys:
            table = Table(tuple(columns), tuple(c.width for c in columns), gap)
            self.draw_table(table, names)
        if selected in self.keys and selected != self.key_here and not ahead:
            self.move_cursor(self.keys.index(selected))

    def moved(self, key: str) -> None:
        self.post_message(DeviceMoved(key))
