"""The devices as a table, and beside it their map."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.geometry import Size

from jaxtui.core.model import Device, Remark
from jaxtui.features.bench import rates
from jaxtui.features.bench.choices import rates_shown
from jaxtui.features.devices import report as devices
from jaxtui.registry import part
from jaxtui.ui import chipmap, words
from jaxtui.ui.app.base import base
from jaxtui.ui.app.pane import bindings
from jaxtui.ui.app.state import State
from jaxtui.ui.report import Column, fitting, written
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.text import plain
from jaxtui.ui.widgets.chip_map import ChipMap
from jaxtui.ui.widgets.device_table import DeviceTable
from jaxtui.ui.widgets.panel import Panel, hint, hints_width

LOW = 14
"""Lines of the tab below which there is no room for the map."""

LEAST = 12
"""Lines below this: four for figures, six for calls, two of border; where there is less
room, it has none for calls."""

MOST = 20
"""Lines of this at most: a table of many devices scrolls."""


_KEYS = (
    ("l", "links", "Links", "Time the copies between all pairs of devices."),
    (
        "m",
        "colour",
        "Map",
        "Colour the map by FLOP/s, bytes/s or the deviation from the median.",
    ),
    ("space", "mark", "Mark", "Mark or unmark the device for the next run."),
)


class Hardware(Horizontal):
    """The devices and their map, as large as they need and the room allows."""

    HELP: ClassVar[str] = "On the devices and their map"

    BINDINGS: ClassVar[list[BindingType]] = bindings("hardware", _KEYS, ())

    DEFAULT_CSS = """
    Hardware {
        height: 4;
        #devices-panel { height: 100%; width: auto; }
        #map-panel { height: 100%; width: 1fr; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.table = DeviceTable()
        self._map = ChipMap()
        self._machine = Sheet(id="machine")
        self._drawn: tuple[object, ...] = ()
        self._source: tuple[object, ...] = ()
        self._columns: tuple[Column, ...] = ()
        """Made from the source."""
        self.is_single = False
        """True with one device without a place, and so no map: the machine stands below
        it, and there is room beside both."""

    def action_links(self) -> None:
        part("links", "screen").open_links(base(self))

    def action_colour(self) -> None:
        """Show the next rate on the map, or none after the last."""
        app = base(self)
        state = app.session.state
        choices = rates.choices(rates_shown(state))
        if not choices:
            app.say(
                "No rates of several devices yet: mark them (Space) and run a case."
            )
            return
        ring = (None, *choices)
        place = ring.index(state.heat) if state.heat in ring else 0
        app.session.update(heat=ring[(place + 1) % len(ring)])

    def action_mark(self) -> None:
        """Mark the selected device, or take its mark away."""
        session = base(self).session
        state = session.state
        if state.device is None:
            return
        name = state.device.name
        if not state.device.addressable:
            owner = state.device.process_index
            why = Remark("device-of-other-process", {"device": name, "process": owner})
            base(self).say(words.sentence(why))
            return
        marked = tuple(
            marked_name for marked_name in state.marked if marked_name != name
        )
        session.update(marked=marked if name in state.marked else (*marked, name))

    def compose(self) -> ComposeResult:
        with Panel("devices", id="devices-panel"):
            yield self.table
            yield self._machine
        with Panel("map", id="map-panel"):
            yield self._map

    def show(self, state: State, room: Size) -> None:
        """Draw what differs.

        Args:
            state: what is on screen.
            room: the size of the tab.
        """
        every, device = state.devices, state.device
        products, marked = devices.product_rates(state), state.chosen
        figures = rates_shown(state)
        drawn = (
            *(every, device, state.host, state.engine, products),
            *(figures, state.heat, marked, room),
        )
        if drawn == self._drawn:
            return
        self._drawn = drawn
        heat = None
        if state.heat:
            heat = rates.heat(figures, state.heat, every)
        mapped = len(every) > 1 or (device is not None and device.coords is not None)
        roomy = room.height >= LOW
        self.is_single = roomy and device is not None and not mapped
        self._machine.display = self.is_single
        beside = self.query_one("#map-panel", Panel)
        beside.display = roomy and mapped
        if device is None:
            head = "no engine" if state.engine == "failed" else "JAX is starting"
            self.table.show([Column(head, ())], ())
            self.styles.height = 3
            return
        hints = [
            hint(self, "check('quick')"),
            hint(self, "recorded", "recorded TPUs"),
            hint(self, "details"),
        ]
        title = f"devices · {devices.title(every)}"
        words = 6 + max(len(title), hints_width(hints))
        width = room.width
        if beside.display or self.is_single:
            beside_width = _width_beside(every) if mapped else 36
            width = max(words, width - beside_width)
        source = every, products, marked, width
        if source != self._source:
            columns = devices.columns(every, products, marked)
            fit = tuple(column for column, _ in fitting(columns, width - 6))
            self._source, self._columns = source, fit
        columns = self._columns
        names = tuple(device.name for device in every)
        self.table.show_devices(names, columns, device.name)
        panel = self.query_one("#devices-panel", Panel)
        panel.set_title(title, hints)
        wide = max(sum(column.width + 2 for column in columns) + 3, words)
        fitted = min(wide, width)
        alone = not beside.display and not self.is_single
        panel.styles.width = "1fr" if alone else fitted
        rows = len(every) + 1
        if self.is_single:
            summary = devices.host_summary(state.host) if state.host else ""
            self._machine.content = summary
            rows += len(written(summary, fitted - 4).splitlines())
        if mapped:
            inside = room.width - fitted - 4
            legend = heat.legend if heat else ()
            marks = heat.marks if heat else {}
            self._map.show(every, device.name, marks, legend, marked)
            keys = [hint(self, "links"), hint(self, "mark")] if len(every) > 1 else []
            if figures:
                keys.append(hint(self, "colour", "rates"))
            shown = f"map · {heat.title}" if heat else _map_title(every)
            beside.set_title(shown, keys)
            if beside.display and rows < MOST:
                chips = replace(chipmap.layout(every), marks=marks, legend=legend)
                drawing = chipmap.render(chips, inside, 4, device.name)
                rows = max(rows, min(len(drawing), 2 * rows))
        below = 6 if room.height < LOW else LEAST
        self.styles.height = max(4, min(rows + 2, room.height - below, MOST))


def _width_beside(devices: tuple[Device, ...]) -> int:
    """Cells for the panel beside the table, borders included."""
    most = 40 if len(devices) <= chipmap.CROWDED else 66
    drawn = chipmap.render(chipmap.layout(devices), most, 4)
    return max(26, *(len(plain(line)) + 5 for line in drawn))


def _map_title(devices: tuple[Device, ...]) -> str:
    several = len({device.process_index for device in devices}) > 1
    return "map · by process" if several else "map"
