"""The chips where they sit: arrows and clicks select."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, NamedTuple

from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from jaxtui.model import Device
from jaxtui.plot import HEAT, on_heat
from jaxtui.tui.themes import SERIES_COLORS
from jaxtui.tui.widgets.device_table import DeviceMoved
from jaxtui.view import chipmap
from jaxtui.view.chipmap import Mark
from jaxtui.view.text import Line, Span, device_at

_COLORS = {
    "chip": "$lane-device",
    "muted": "$muted",
    "source": "$foreground",
    **{f"check-{word}": f"$check-{word}" for word in ("pass", "low", "fail", "none")},
    **{
        chipmap.process_role(n): f"$plot-{n % SERIES_COLORS + 1}"
        for n in range(chipmap.PROCESS_ROLES)
    },
}
_HEAT = {
    f"heat-{level}": (f"rgb{on_heat(level)}", f"rgb{color}")
    for level, color in enumerate(HEAT)
}
"""Of the colours of a heat map: that of the text, and that of the tile."""

_WORDS = {
    **_COLORS,
    **{role: f"{text} on {tile}" for role, (text, tile) in _HEAT.items()},
    "simulated": "bold $text-warning",
}

SHORTEST = 3
"""Lines that a drawing has at least."""


class ChipMap(VerticalScroll, can_focus=True):
    """A drawing that can be walked through."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1, 0)", "Left", show=False),
        Binding("right", "step(1, 0)", "Right", show=False),
        Binding("up", "step(0, -1)", "Up", show=False),
        Binding("down", "step(0, 1)", "Down", show=False),
    ]

    DEFAULT_CSS = """
    ChipMap { width: 1fr; height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._drawing = _Drawing()

    def compose(self) -> ComposeResult:
        yield self._drawing

    def show(
        self,
        devices: Sequence[Device],
        selected: str | None,
        marks: Mapping[str, Mark],
        legend: tuple[Line, ...] = (),
        chosen: Collection[str] = (),
    ) -> None:
        """Draw devices; only what differs from the last time.

        Args:
            devices: at least one.
            selected: name of one of them.
            marks: what is said of some of them; may be empty.
            legend: what the marks mean, where they have no words.
            chosen: devices that are marked for the next run.
        """
        said = ChipMarks(marks, legend, frozenset(chosen))
        self._drawing.show(tuple(devices), selected, said)

    @property
    def text(self) -> str:
        """What is drawn, without its colours."""
        return self._drawing.render().plain

    def action_step(self, across: int, down: int) -> None:
        name = self._drawing.neighbour(across, down)
        if name is not None:
            self.post_message(DeviceMoved(name))


class ChipMarks(NamedTuple):
    """What is said of the devices of a map."""

    marks: Mapping[str, Mark] = {}
    legend: tuple[Line, ...] = ()
    chosen: frozenset[str] = frozenset()


class _Drawing(Widget):
    DEFAULT_CSS = """
    _Drawing { height: auto; width: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._devices: tuple[Device, ...] = ()
        self._selected: str | None = None
        self._map = chipmap.layout(())
        self._said = ChipMarks()
        self._key: object = None
        self._drawn_lines: list[Line] = []

    def show(
        self,
        devices: tuple[Device, ...],
        selected: str | None,
        said: ChipMarks,
    ) -> None:
        others = devices is not self._devices and devices != self._devices
        anew = others or said != self._said
        if not anew and selected == self._selected:
            return
        if others:
            self._map = chipmap.layout(devices)
        self._map = replace(self._map, **said._asdict())
        self._said = said
        self._devices, self._selected = devices, selected
        self.refresh(layout=anew)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width, container.height))

    def render(self) -> Content:
        lines = self._lines(self.size.width, self._room)
        return Content("\n").join(map(self._drawn, lines))

    def neighbour(self, across: int, down: int) -> str | None:
        if self._selected is None:
            return None
        lines = self._lines(self.size.width, self._room)
        return chipmap.neighbour(lines, self._selected, across, down)

    def on_click(self, event: events.Click) -> None:
        lines = self._lines(self.size.width, self._room)
        name = device_at(lines, event.x, event.y)
        if name is not None:
            self.post_message(DeviceMoved(name))

    @property
    def _room(self) -> int:
        parent = self.parent
        return parent.size.height if isinstance(parent, Widget) else 0

    def _lines(self, width: int, height: int) -> list[Line]:
        """The drawing; of the last size and selection it is kept."""
        room = max(height, SHORTEST)
        key = id(self._map), width, room, self._selected
        if key != self._key:
            self._key = key
            self._drawn_lines = chipmap.render(
                self._map, width, room, self._selected, roomy=True
            )
        return self._drawn_lines

    def _drawn(self, line: Line) -> Content:
        return Content.assemble(*(part for span in line for part in self._tile(span)))

    def _tile(self, span: Span) -> list[tuple[str, str]]:
        """A device as a tile with round ends, the selected one without its colour."""
        if span.device is None:
            return [(span.text, _WORDS.get(span.role, ""))]
        text, role = span.text, span.role.removesuffix("-selected")
        plain = "$background", _COLORS.get(role, "$foreground")
        written, color = _HEAT.get(role, plain)
        chosen = span.device == self._selected
        inside = "bold reverse" if chosen else f"bold {written} on {color}"
        found = []
        if text.startswith("["):
            found.append(("▐", "" if chosen else color))
            text = text[1:]
        end = text.endswith("]")
        found.append((text.removesuffix("]"), inside))
        if end:
            found.append(("▌", "" if chosen else color))
        return found
