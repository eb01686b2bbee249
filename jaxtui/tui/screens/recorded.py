"""A recorded TPU: its devices as a table, and its chips where they sit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Static

from jaxtui.machine import topologies
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.device_table import DeviceTable
from jaxtui.tui.widgets.keys_line import KeysLine
from jaxtui.view.devices import explain

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp


class RecordedScreen(ModalScreen[None]):
    """Nothing here is the machine's own, and nothing can be run on it.

    Modal, so that the keys of the tabs below it do nothing.

    Args:
        topology: what to begin with, one of ``topologies.names()``.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Back"),
        Binding("enter,o,ctrl+u", "choose", "Another"),
        Binding("n,right_square_bracket", "step(1)", "Next"),
        Binding("b,left_square_bracket", "step(-1)", "Before"),
        Binding("tab", "app.focus_next", "Table or map"),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]

    DEFAULT_CSS = """
    RecordedScreen {
        background: $background; overflow: hidden;
        #recorded-title { height: auto; padding: 0 1; }
        #recorded-hardware { height: 1fr; }
        #recorded-words { height: auto; padding: 0 1; }
    }
    """

    topology: reactive[str] = reactive("", repaint=False)
    """The name of what is shown."""
    state: reactive[State] = reactive(EMPTY, repaint=False)
    """Its devices, and which one is selected; nothing else."""

    def __init__(self, topology: str) -> None:
        super().__init__()
        self.set_reactive(RecordedScreen.topology, topology)
        self.set_reactive(RecordedScreen.state, _state(topology))

    def compose(self) -> ComposeResult:
        """What it is, table and map side by side, what it all means, keys."""
        yield Static(id="recorded-title")
        with Horizontal(id="recorded-hardware"):
            yield DeviceTable().data_bind(RecordedScreen.state)
            yield ChipMap().data_bind(RecordedScreen.state)
        yield Static(id="recorded-words", markup=False)
        yield KeysLine()

    def on_mount(self) -> None:
        """Arrows walk through the devices at once."""
        self._write()
        self.query_one(DeviceTable).focus()

    def on_resize(self, event: events.Resize) -> None:
        """All columns where there is room for them."""
        self.query_one(DeviceTable).set_width(event.size.width)

    def watch_topology(self, name: str) -> None:
        """Show another one."""
        if self.is_mounted:
            self.state = _state(name)
            self._write()

    @on(DeviceTable.Moved)
    @on(ChipMap.Moved)
    def _moved(self, event: DeviceTable.Moved | ChipMap.Moved) -> None:
        event.stop()
        self.state = replace(self.state, cursor=event.name)

    @on(DeviceTable.Entered)
    def _entered(self, event: DeviceTable.Entered) -> None:
        event.stop()
        self.action_choose()

    @on(DeviceTable.Paged)
    def _paged(self, event: DeviceTable.Paged) -> None:
        event.stop()

    def action_choose(self) -> None:
        """Ask for another one."""
        cast("JaxtuiApp", self.app).choose_recorded(self.topology)

    def action_step(self, by: int) -> None:
        """Show the next one of the list, or the one before."""
        names = topologies.names()
        self.topology = names[(names.index(self.topology) + by) % len(names)]

    def _write(self) -> None:
        self.query_one("#recorded-title", Static).update(
            Content.assemble(
                ("RECORDED", "bold reverse $text-warning"),
                (f" {self.topology}", "bold"),
                f", {self.state.devices[0].device_kind}, as JAX lists it there; "
                "not this machine.",
            )
        )
        words = explain(self.state.devices)
        self.query_one("#recorded-words", Static).update(words)


def _state(topology: str) -> State:
    return State(devices=topologies.devices(topology))
