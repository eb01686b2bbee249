"""The devices as a table."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from jaxtui.ui.report import Column
from jaxtui.ui.table import Listing


class DeviceMoved(Message):
    """Another device was selected, in the table or on the map."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class DeviceTable(Listing):
    """A row per device; the row under the cursor is the selected device."""

    def show_devices(
        self, names: Sequence[str], columns: Sequence[Column], selected: str
    ) -> None:
        """Draw the devices that differ.

        Args:
            names: of the devices, one for each cell of a column.
            columns: of the devices.
            selected: the device at the cursor.
        """
        # Whoever moves the cursor of this table is ahead of the snapshot, which would
        # draw it back.
        ahead = self.has_focus and self.key_here in names
        self.show(columns, names, gap=2)
        if not ahead:
            self.follow(selected)

    def moved(self, key: str) -> None:
        self.post_message(DeviceMoved(key))
