"""A recorded TPU: its devices as a table, and its chips where they sit."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import SimpleCommand
from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from jaxtui.features.devices import report as devices
from jaxtui.machine import topologies
from jaxtui.ui import chipmap
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.modal import Modal, modal_keys
from jaxtui.ui.report import fitting
from jaxtui.ui.widgets.chip_map import ChipMap
from jaxtui.ui.widgets.device_table import DeviceMoved, DeviceTable
from jaxtui.ui.widgets.keys_line import KeysLine
from jaxtui.ui.widgets.panel import Hint, Panel, hint, hints_width


class RecordedScreen(Modal):
    """A recorded TPU: not the machine's own, so nothing can run on it.

    Args:
        topology: what to begin with, one of ``topologies.names()``.
    """

    HELP: ClassVar[str] = "On a recorded TPU"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Back"),
        Binding(
            "o,enter",
            "choose",
            "Recorded",
            tooltip="Choose another recorded TPU.",
            priority=True,
        ),
        Binding("tab", "app.focus_next", "Table or map"),
        *modal_keys("recorded", ()),
    ]

    DEFAULT_CSS = """
    RecordedScreen {
        #recorded-title { height: auto; padding: 0 1; }
        #recorded-hardware { height: 1fr; }
        #recorded-devices { height: 100%; width: auto; }
        #recorded-map { height: 100%; width: 1fr; }
        #recorded-words { height: auto; padding: 0 1; }
    }
    """

    topology: reactive[str] = reactive("", init=False, repaint=False)
    """The name of what is shown."""
    selected: reactive[str] = reactive("", init=False, repaint=False)
    """The name of the device at the cursor."""

    def __init__(self, topology: str) -> None:
        super().__init__()
        self.set_reactive(RecordedScreen.topology, topology)
        self._devices = topologies.devices(topology)
        self.set_reactive(RecordedScreen.selected, self._devices[0].name)
        self._table = DeviceTable()
        self._map = ChipMap()

    def compose(self) -> ComposeResult:
        yield Static(id="recorded-title")
        with Horizontal(id="recorded-hardware"):
            with Panel(id="recorded-devices"):
                yield self._table
            with Panel("map", [Hint("arrows", "select")], id="recorded-map"):
                yield self._map
        yield Static(id="recorded-words", markup=False)
        yield KeysLine()

    def on_mount(self) -> None:
        self._table.focus()

    def on_resize(self, event: events.Resize) -> None:
        """All columns where there is room for them."""
        self._draw()

    def watch_topology(self, name: str) -> None:
        self._devices = topologies.devices(name)
        self.selected = self._devices[0].name
        self._draw()

    def watch_selected(self) -> None:
        self._draw()

    @on(DeviceMoved)
    def _select(self, event: DeviceMoved) -> None:
        event.stop()
        self.selected = event.name

    def action_choose(self) -> None:
        choose(self.base)

    def _draw(self) -> None:
        width = self.size.width
        if not self.is_mounted or not width:
            return
        room = width // 2 - 2
        columns = [c for c, _ in fitting(devices.columns(self._devices), room)]
        names = [item.name for item in self._devices]
        self._table.show_devices(names, columns, self.selected)
        self._map.show(self._devices, self.selected, {})
        panel = self.query_one("#recorded-devices", Panel)
        title = f"devices · {devices.title(self._devices)}"
        hints = [hint(self, "choose")]
        panel.set_title(title, hints)
        natural = sum(item.width + 2 for item in columns) + 3
        panel.styles.width = min(
            max(natural, len(title) + 6, hints_width(hints) + 6), width - 24
        )
        self.query_one("#recorded-title", Static).update(
            Content.assemble(
                ("RECORDED", "bold reverse $text-warning"),
                (f" {self.topology}", "bold"),
                f" · {self._devices[0].device_kind}, as JAX lists it there;"
                " not this machine",
            )
        )
        self.query_one("#recorded-words", Static).update(devices.explain(self._devices))


def choose(app: BaseApp) -> None:
    """Ask which topology to show; it takes the place of the one that is on screen."""

    def show(name: str) -> None:
        if isinstance(app.screen, RecordedScreen):
            app.screen.topology = name
        else:
            app.push_screen(RecordedScreen(name))

    def command(name: str) -> SimpleCommand:
        listed = topologies.devices(name)
        about = f"{devices.title(listed)}: {chipmap.summary(listed)}"
        return SimpleCommand(name, partial(show, name), about)

    app.search_commands([*map(command, topologies.names())], "Find a recorded TPU")
