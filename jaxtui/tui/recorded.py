"""A recorded TPU: its devices as a table, and its chips where they sit."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Offset
from textual.reactive import reactive
from textual.widgets import Static

from jaxtui.machine import topologies
from jaxtui.model import SelectionError
from jaxtui.tui.base import BaseApp
from jaxtui.tui.modal import Modal, modal_keys
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.choice import ChoicePopup, Entry
from jaxtui.tui.widgets.device_table import DeviceMoved, DeviceTable
from jaxtui.tui.widgets.keys_line import KeysLine
from jaxtui.tui.widgets.panel import Hint, Panel, hint, hints_width
from jaxtui.view import chipmap, devices, fleet
from jaxtui.view.text import fit
from jaxtui.view.words.machine import explain

_PLACE = Offset(1, 2)
"""Of the list: under the tabs."""


SHOWN = (*topologies.names(), *topologies.LARGE)
"""What can be chosen: recorded ones, and large ones that are worked out."""


class RecordedScreen(Modal):
    """Nothing here is the machine's own, and nothing can be run on it.

    Args:
        topology: what to begin with, one of ``SHOWN``.
    """

    HELP: ClassVar[str] = "On a recorded TPU"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back"),
        Binding("enter", "open", "Open", tooltip="Open a host, or choose another TPU."),
        Binding(
            "o",
            "choose",
            "Recorded",
            tooltip="Choose another recorded TPU.",
            priority=True,
        ),
        Binding("n,right_square_bracket", "step(1)", "Next"),
        Binding("b,left_square_bracket", "step(-1)", "Previous"),
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
        self._level = fleet.level(self._devices)
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
        self._show(())

    def watch_selected(self) -> None:
        self._draw()

    @on(DeviceMoved)
    def _select(self, event: DeviceMoved) -> None:
        event.stop()
        self.selected = event.name

    @on(DeviceTable.Chosen)
    def _enter(self, event: DeviceTable.Chosen) -> None:
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Open a slice or a host, or else choose another TPU."""
        if self.selected in self._level.members:
            self._show((*self._level.inside, self.selected))
        else:
            self.action_choose()

    def action_leave(self) -> None:
        """Back to all hosts, or to the tabs."""
        if self._level.inside:
            self._show(self._level.inside[:-1])
        else:
            self.dismiss()

    def _show(self, inside: tuple[str, ...]) -> None:
        """Show the devices, or what stands for several, of what was opened."""
        left = self._level.inside[len(inside) :]
        self._level = fleet.level(self._devices, inside)
        names = [tile.name for tile in self._level.tiles]
        self.selected = next((one for one in left if one in names), names[0])
        self._draw()

    def action_choose(self) -> None:
        choose(self.base, self.topology)

    def action_step(self, by: int) -> None:
        here = SHOWN.index(self.topology) if self.topology in SHOWN else -1
        self.topology = SHOWN[(here + by) % len(SHOWN)]

    def _draw(self) -> None:
        width = self.size.width
        if not self.is_mounted or not width:
            return
        found = self._level.tiles
        shown = fit(devices.columns(found), width // 2 - 2).columns
        self._table.show([one.name for one in found], shown, self.selected)
        self._map.show(found, self.selected, {})
        panel = self.query_one("#recorded-devices", Panel)
        named = devices.title(self._devices)
        title = " · ".join(("devices", named, *self._level.inside))
        actions = ("choose", "step(1)", "step(-1)")
        hints = [hint(self, action) for action in actions]
        if self._level.members:
            hints.insert(0, hint(self, "open"))
        panel.entitle(title, hints)
        natural = sum(one.width + 2 for one in shown) + 3
        panel.styles.width = min(
            max(natural, len(title) + 6, hints_width(hints) + 6), width - 24
        )
        self.query_one("#recorded-title", Static).update(
            Content.assemble(
                (
                    "RECORDED" if self.topology in topologies.names() else "COMPUTED",
                    "bold reverse $text-warning",
                ),
                (f" {self.topology}", "bold"),
                f" · {found[0].device_kind}, as JAX lists it there; not this machine",
            )
        )
        self.query_one("#recorded-words", Static).update(explain(self._devices))


def choose(app: BaseApp, shown: str | None) -> None:
    """Ask which topology to show.

    Args:
        app: shows it.
        shown: the one that is on screen, which gives way to the chosen one.
    """

    def show(chosen: tuple[str, ...] | None) -> None:
        if chosen is None:
            return
        if isinstance(app.screen, RecordedScreen):
            app.screen.topology = chosen[0]
        else:
            app.push_screen(RecordedScreen(chosen[0]))

    def entry(name: str) -> Entry:
        found = topologies.devices(name)
        return Entry(name, name, f"{devices.title(found)}: {chipmap.summary(found)}")

    def unlisted(typed: str) -> Entry | None:
        """Any other slice whose layout is known, such as ``v4-4096``."""
        try:
            return entry(typed)
        except SelectionError:
            return None

    popup = ChoicePopup(
        [*map(entry, SHOWN)],
        (shown or SHOWN[0],),
        _PLACE,
        multiple=False,
        unlisted=unlisted,
    )
    app.push_screen(popup, show)
