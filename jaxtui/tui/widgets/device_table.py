"""The devices as a table."""

from __future__ import annotations

from typing import cast

from rich.text import Text
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import DataTable

from jaxtui import format as fmt
from jaxtui.model import CHECK_TESTS, CheckTest, Device
from jaxtui.tui.state import EMPTY, State
from jaxtui.view.check import ROLES, Report, overall_cell, test_cell

ABSENT = "—"
"""Stands for an attribute that a device does not have."""

_NARROW = ("id", "process", "coords", "core", "memory")
_WIDE = ("id", "kind", "process", "coords", "core", "slice", "memory")

_WIDE_COLUMNS, _TEST_COLUMNS = 100, 118
"""From so many columns of the terminal on there is room for all facts of a device, or
for every test of a health check beside the chip map."""

_OVERALL = "check"
"""The column of the worst verdict."""

_TEST = "test "
"""What the keys of the columns of the tests begin with: one is called memory."""

_Cell = tuple[str, str]
"""A text, and the variable of the theme that has its colour; empty for none."""


class DeviceTable(DataTable[Text]):
    """One row per device; the row under the cursor is the selected device.

    A health check has a column for the worst verdict of each device. While it is on
    screen and there is room for them, its nine tests have one each.
    """

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

    class Paged(Message):
        """A key asked for another page of what is below the table."""

        def __init__(self, pages: int) -> None:
            super().__init__()
            self.pages = pages

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cell_padding=1, zebra_stripes=False)
        self._names: tuple[str, ...] = ()
        self._width = 0
        self._report: Report | None = None
        self._drawn: tuple[str, ...] = ()
        self._cells: dict[str, tuple[_Cell, ...]] = {}

    def watch_state(self, state: State) -> None:
        """Update what changed; rebuild only for other devices or columns."""
        names = tuple(device.name for device in state.devices)
        if names != self._names or self._columns() != self._drawn:
            self._names = names
            self._rebuild()
            return
        self._write()
        # Whoever moves the cursor of this table is ahead of the snapshot, which would
        # draw it back.
        if not self.has_focus and state.device is not None:
            self._go_to(state.device.name)

    def set_width(self, width: int) -> None:
        """Show all columns, or those that matter most.

        Args:
            width: of the terminal.
        """
        self._width = width
        if self._columns() != self._drawn:
            self._rebuild()

    def check(self, report: Report) -> None:
        """Show what a health check says of the devices."""
        self._report = report
        if self._columns() == self._drawn:
            self._write()

    def repaint_verdicts(self) -> None:
        """Draw the verdicts in the colours of another theme."""
        if self._report is not None:
            self._rebuild()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Say which device the cursor is at."""
        event.stop()
        if event.cursor_row != self.cursor_row:
            return  # It has moved on: the next event says where to.
        if event.row_key.value is not None and self.has_focus:
            self.post_message(self.Moved(event.row_key.value))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Enter runs the first case."""
        event.stop()
        self.post_message(self.Entered())

    def action_page_down(self) -> None:
        """Page what a check has found, where there is a check; else the table."""
        if self.state.check.shown:
            self.post_message(self.Paged(1))
        else:
            super().action_page_down()

    def action_page_up(self) -> None:
        """The page before."""
        if self.state.check.shown:
            self.post_message(self.Paged(-1))
        else:
            super().action_page_up()

    def _columns(self) -> tuple[str, ...]:
        wide, check = self._width >= _WIDE_COLUMNS, self.state.check
        if check.exam is None:
            return _WIDE if wide else _NARROW
        if check.shown and self._width >= _TEST_COLUMNS:
            coords = any(device.coords for device in self.state.devices)
            facts = ("id", "coords") if coords else ("id",)
            return (*facts, *(_TEST + test for test in CHECK_TESTS))
        first, *others = _WIDE if wide else _NARROW
        return (first, _OVERALL, *others)

    def _rebuild(self) -> None:
        here = self._here()
        self._drawn = self._columns()
        self._cells = {}
        # Two blanks between columns are too many where there are eleven.
        tight = " " * (self._drawn[-1].startswith(_TEST))
        with self.app.batch_update():
            self.clear(columns=True)
            self.cell_padding = 0 if tight else 1
            for column in self._drawn:
                head = f"{tight}{column.removeprefix(_TEST)}{tight}"
                self.add_column(Text(head), key=column)
            for device in self.state.devices:
                cells = self._row(device)
                self._cells[device.name] = cells
                self.add_row(*(self._painted(cell) for cell in cells), key=device.name)
        if here is not None:
            self._go_to(here)

    def _write(self) -> None:
        """Write the cells that changed."""
        for device in self.state.devices:
            before, cells = self._cells[device.name], self._row(device)
            self._cells[device.name] = cells
            for column, old, new in zip(self._drawn, before, cells, strict=True):
                if old != new:
                    self.update_cell(
                        device.name, column, self._painted(new), update_width=True
                    )

    def _row(self, device: Device) -> tuple[_Cell, ...]:
        facts = _facts(device)
        return tuple(
            (facts[column], "") if column in facts else self._verdict(device, column)
            for column in self._drawn
        )

    def _verdict(self, device: Device, column: str) -> _Cell:
        """What stands in a column of the check, and the colour for it."""
        if self._report is None:
            return "", ""
        if column == _OVERALL:
            cell = overall_cell(self._report, device.name)
        else:
            test = cast("CheckTest", column.removeprefix(_TEST))
            cell = test_cell(self._report, device.name, test)
        return cell.text, ROLES[cell.word] if cell.word else ""

    def _painted(self, cell: _Cell) -> Text:
        text, color = cell
        tight = " " * (self.cell_padding == 0)
        style = self.app.theme_variables.get(color, "")
        if color in ("check-low", "check-fail"):
            style = f"bold {style}"
        return Text(f"{tight}{text}{tight}", style=style, no_wrap=True)

    def _here(self) -> str | None:
        """Name of the device that the cursor is at, or else of the selected one."""
        drawn, selected = list(self._cells), self.state.device
        if self.has_focus and self.cursor_row < len(drawn):
            name = drawn[self.cursor_row]
            if any(device.name == name for device in self.state.devices):
                return name
        return None if selected is None else selected.name

    def _go_to(self, name: str) -> None:
        row = self.get_row_index(name)
        if row != self.cursor_row:
            self.move_cursor(row=row)


def memory(device: Device) -> str:
    """Used and limit, as far as the device tells."""
    used, limit = device.memory_used_bytes, device.memory_limit_bytes
    if used is None:
        return ABSENT
    return fmt.bytes_used(used, limit)


def _facts(device: Device) -> dict[str, str]:
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
