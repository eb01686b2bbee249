"""The devices as a table."""

from __future__ import annotations

from textual.message import Message
from textual.reactive import reactive
from textual.widgets import DataTable

from jaxtui import format as fmt
from jaxtui.model import Device
from jaxtui.tui.state import EMPTY, State

ABSENT = "—"
"""Stands for an attribute that a device does not have."""

_NARROW = ("id", "process", "coords", "core", "memory")
_WIDE = ("id", "kind", "process", "coords", "core", "slice", "memory")


class DeviceTable(DataTable[str]):
    """One row per device; the row under the cursor is the selected device."""

    DEFAULT_CSS = """
    DeviceTable { width: auto; height: auto; max-height: 100%; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    class Moved(Message):
        """The cursor went to another device."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Entered(Message):
        """Enter was pressed on a device."""

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cell_padding=1, zebra_stripes=False)
        self._names: tuple[str, ...] = ()
        self._wide = False

    def watch_state(self, state: State) -> None:
        """Update what changed; rebuild only when there are other devices."""
        names = tuple(device.name for device in state.devices)
        if names != self._names:
            self._names = names
            self._rebuild()
            return
        for device in state.devices:
            text = memory(device)
            if self.get_cell(device.name, "memory") != text:
                self.update_cell(device.name, "memory", text)
        self._follow()

    def set_wide(self, wide: bool) -> None:
        """Show all columns, or those that matter most."""
        if wide != self._wide:
            self._wide = wide
            self._rebuild()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Say which device the cursor is at."""
        event.stop()
        if event.row_key.value is not None and self.has_focus:
            self.post_message(self.Moved(event.row_key.value))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Enter runs the first case."""
        event.stop()
        self.post_message(self.Entered())

    def _rebuild(self) -> None:
        columns = _WIDE if self._wide else _NARROW
        with self.app.batch_update():
            self.clear(columns=True)
            for column in columns:
                self.add_column(column, key=column)
            for device in self.state.devices:
                cells = _cells(device)
                self.add_row(*(cells[column] for column in columns), key=device.name)
        self._follow()

    def _follow(self) -> None:
        selected = self.state.device
        if selected is None:
            return
        row = self.get_row_index(selected.name)
        if row != self.cursor_row:
            self.move_cursor(row=row)


def memory(device: Device) -> str:
    """Used and limit, as far as the device tells."""
    used, limit = device.memory_used_bytes, device.memory_limit_bytes
    if used is None:
        return ABSENT
    return fmt.bytes_used(used, limit)


def _cells(device: Device) -> dict[str, str]:
    process = str(device.process_index)
    return {
        "id": device.name,
        "kind": device.device_kind,
        "process": process if device.addressable else f"{process} (other)",
        "coords": ABSENT
        if device.coords is None
        else ",".join(map(str, device.coords)),
        "core": ABSENT if device.core_on_chip is None else str(device.core_on_chip),
        "slice": ABSENT if device.slice_index is None else str(device.slice_index),
        "memory": memory(device),
    }
