"""The devices as a table, and beside it their map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.geometry import Size

from jaxtui.model import Device
from jaxtui.tui.base import base
from jaxtui.tui.pane import WIDE_COLUMNS, bindings
from jaxtui.tui.state import State
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.device_table import DeviceTable
from jaxtui.tui.widgets.panel import Panel, hint, hints_width
from jaxtui.tui.widgets.paper import Paper
from jaxtui.view import check as check_view
from jaxtui.view import chipmap, devices, rates
from jaxtui.view.chipmap import Mark
from jaxtui.view.text import Column, fit, plain

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
    ("space", "mark", "Mark", "Mark the device for the next run, or take that back."),
)


NO_RATES = (
    "No rates of several devices yet: run a case on all of them, or c checks them."
)


class Hardware(Horizontal):
    """As high and as wide as the devices need, in the room that there is."""

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
        self._machine = Paper(id="machine")
        self._drawn: object = None
        self.is_single = False
        """Whether there is one device without a place, and so no map: the machine
        stands below it, and there is room beside both."""

    def action_links(self) -> None:
        from jaxtui.tui.links import open_links

        open_links(base(self))

    def action_colour(self) -> None:
        """What the map shows next: each rate that there is, and then none."""
        app = base(self)
        state = app.session.state
        shown = rates.choices(state.rates)
        if not shown:
            app.say(NO_RATES)
            return
        ring = (None, *shown)
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
            base(self).say(f"{name} belongs to another process.")
            return
        others = tuple(one for one in state.marked if one != name)
        session.update(marked=others if name in state.marked else (*others, name))

    def compose(self) -> ComposeResult:
        with Panel("devices", id="devices-panel"):
            yield self.table
            yield self._machine
        with Panel("map", id="map-panel"):
            yield self._map

    def show(self, state: State, judged: check_view.Judgement, room: Size) -> None:
        """Draw what differs.

        Args:
            state: what is on screen.
            judged: the last health check.
            room: the size of the tab.
        """
        found, device, checked = state.devices, state.device, state.check_shown
        products = devices.product_rates(state)
        heat = rates.heat(state.rates, state.heat, found) if state.heat else None
        marked = state.chosen
        drawn = (
            *(found, device, checked, judged, state.host, state.engine, products),
            *(heat, marked, room),
        )
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self.table.pages_below = checked
        mapped = len(found) > 1 or (device is not None and device.coords is not None)
        roomy = room.height >= LOW and (room.width >= WIDE_COLUMNS or not checked)
        self.is_single = roomy and device is not None and not mapped
        self._machine.display = self.is_single
        beside = self.query_one("#map-panel", Panel)
        beside.display = roomy and mapped
        if device is None:
            head = (
                "JAX did not start" if state.engine == "failed" else "JAX is starting"
            )
            self.table.show((), (Column("id", head, ()),), None)
            self.styles.height = 3
            return
        hints = [
            hint(self, "check('quick')"),
            hint(self, "recorded", "other TPUs"),
            hint(self, "details"),
        ]
        title = f"devices · {devices.title(found)}"
        words = 6 + max(len(title), hints_width(hints))
        width = room.width
        if beside.display or self.is_single:
            width = max(words, width - (_width_beside(found) if mapped else 36))
        if checked:
            grid = check_view.grid(judged, found)
            columns, gap = fit(grid, width - 4, 1).columns, 1
        else:
            badges = check_view.badges(judged, found) if judged.exam else None
            columns, gap = devices.columns(found, products, badges, marked), 2
            columns = fit(columns, width - 6).columns
        self.table.show([one.name for one in found], columns, device.name, gap)
        panel = self.query_one("#devices-panel", Panel)
        panel.entitle(title, hints)
        natural = sum(one.width + gap for one in columns) - gap + 5
        fitted = min(max(natural, words), width)
        alone = not beside.display and not self.is_single
        panel.styles.width = "1fr" if alone else fitted
        rows = len(found) + 1
        if self.is_single:
            summary = devices.host_summary(state.host, fitted - 4) if state.host else []
            self._machine.show(lambda _: summary)
            rows += len(summary)
        if mapped:
            inside = room.width - fitted - 4
            marks: Mapping[str, Mark] = {}
            if checked:
                marks = check_view.marks(judged, found)
            legend = heat.legend if heat else ()
            marks = heat.marks if heat else marks
            self._map.show(found, device.name, marks, legend, marked)
            keys = [hint(self, "links"), hint(self, "mark")] if len(found) > 1 else []
            if state.rates:
                keys.append(hint(self, "colour", "rates"))
            shown = f"map · {heat.title}" if heat else _map_title(found, checked)
            beside.entitle(shown, keys)
            if beside.display:
                chips = replace(chipmap.layout(found), marks=marks, legend=legend)
                drawing = chipmap.render(chips, inside, 4, device.name)
                rows = max(rows, min(len(drawing), 2 * rows))
        below = 7 if checked else 6 if room.height < LOW else LEAST
        self.styles.height = max(4, min(rows + 2, room.height - below, MOST))


def _width_beside(found: tuple[Device, ...]) -> int:
    """Cells for the panel beside the table, borders included."""
    drawn = chipmap.render(chipmap.layout(found), 40, 4)
    return max(26, *(len(plain(line)) + 5 for line in drawn))


def _map_title(found: tuple[Device, ...], checked: bool) -> str:
    if checked:
        return "map · by verdict"
    several = len({one.process_index for one in found}) > 1
    return "map · by process" if several else "map"
