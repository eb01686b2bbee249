"""The chips where they sit: arrows and clicks select."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui.model import Device
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.themes import SERIES_COLORS
from jaxtui.view import chipmap
from jaxtui.view.chipmap import Mark
from jaxtui.view.text import Line, device_at

_STYLES = {
    "chip": "bold",
    "selected": "bold reverse",
    "muted": "$foreground 60%",
    "label": "",
    "simulated": "bold $text-warning",
    **{
        f"{role}{chosen}": f"bold{' reverse' if chosen else ''} ${role}"
        for role in ("check-pass", "check-low", "check-fail", "check-none")
        for chosen in ("", "-selected")
    },
    **{
        chipmap.process_role(n): f"bold $plot-{n % SERIES_COLORS + 1}"
        for n in range(chipmap.PROCESS_ROLES)
    },
}


class ChipMap(VerticalScroll, can_focus=True):
    """A drawing that can be walked through."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1, 0)", "Left", show=False),
        Binding("right", "step(1, 0)", "Right", show=False),
        Binding("up", "step(0, -1)", "Up", show=False),
        Binding("down", "step(0, 1)", "Down", show=False),
    ]

    DEFAULT_CSS = """
    ChipMap {
        width: 1fr; height: auto; max-height: 100%; padding: 0 1;
        scrollbar-size-vertical: 1;
        &:focus { background: $surface; }
    }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    class Moved(Message):
        """Another device was selected."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def compose(self) -> ComposeResult:
        """The drawing scrolls where it is higher than the room."""
        yield _Drawing().data_bind(ChipMap.state)

    def mark(self, marks: Mapping[str, Mark]) -> None:
        """Draw what a health check says of the devices, or nothing."""
        self.query_one(_Drawing).mark(marks)

    def action_step(self, across: int, down: int) -> None:
        """Select the neighbour in a direction; without coords, the next by id."""
        device = self.state.device
        if device is not None:
            self.post_message(
                self.Moved(_neighbour(self.state.devices, device, across, down).name)
            )


class _Drawing(Widget):
    """The map itself."""

    DEFAULT_CSS = """
    _Drawing { height: auto; width: 1fr; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    def __init__(self) -> None:
        super().__init__()
        self._layout: chipmap.ChipMap | None = None
        self._marks: Mapping[str, Mark] = {}
        self._lines: list[Line] = []

    def watch_state(self, old: State, new: State) -> None:
        """Draw other devices, or another selection."""
        if new.devices != old.devices:
            self._layout = chipmap.layout(new.devices) if new.devices else None
            self.refresh(layout=True)
        elif new.device != old.device:
            self.refresh()

    def mark(self, marks: Mapping[str, Mark]) -> None:
        """Draw marks beside the numbers, in their colours."""
        if marks != self._marks:
            self._marks = marks
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the drawing takes."""
        if self._layout is None:
            return 1
        return len(self._drawn(width, viewport.height // 2))

    def render(self) -> Content:
        """The drawing in the theme's colours."""
        if self._layout is None:
            return Content("")
        self._lines = self._drawn(self.size.width, self.size.height)
        return Content("\n").join(
            Content.assemble(*((span.text, _STYLES[span.role]) for span in line))
            for line in self._lines
        )

    def on_click(self, event: events.Click) -> None:
        """Select the device that is drawn there."""
        name = device_at(self._lines, event.x, event.y)
        if name is not None:
            self.post_message(ChipMap.Moved(name))

    def _drawn(self, width: int, height: int) -> list[Line]:
        if self._layout is None:
            return []
        device = self.state.device
        return chipmap.render(
            replace(self._layout, marks=self._marks),
            width,
            height,
            None if device is None else device.name,
        )


def _neighbour(
    devices: tuple[Device, ...], device: Device, across: int, down: int
) -> Device:
    """The nearest device in a direction, within its slice and its z if it has one."""
    if device.coords is None or len(device.coords) < 2:
        index = (devices.index(device) + across + down) % len(devices)
        return devices[index]
    here = (*device.place[2:], device.slice_index)
    ahead = [
        (_distance(device, other, across, down), other.id, other)
        for other in devices
        if other.coords is not None
        and (*other.place[2:], other.slice_index) == here
        and _distance(device, other, across, down) > 0
    ]
    if ahead:
        return min(ahead)[2]
    # The end of a row or column: the next device by id keeps all within reach.
    index = (devices.index(device) + across + down) % len(devices)
    return devices[index]


def _distance(device: Device, other: Device, across: int, down: int) -> float:
    """How far ahead the other one is; not positive if it is not straight ahead.

    The cores of a chip lie side by side, half a chip apart.
    """
    x, y = _spot(device)
    there_x, there_y = _spot(other)
    if across:
        return (there_x - x) * across if there_y == y else 0
    return (there_y - y) * down if int(there_x) == int(x) else 0


def _spot(device: Device) -> tuple[float, int]:
    x, y, _ = device.place
    return x + (device.core_on_chip or 0) / 2, y
