"""The chips where they sit: arrows and clicks select."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from jaxtui.core.model import Device
from jaxtui.ui import chipmap
from jaxtui.ui.app.themes import SERIES_COLORS
from jaxtui.ui.chipmap import Mark
from jaxtui.ui.plot import HEAT, on_heat
from jaxtui.ui.text import Line, Span, device_at
from jaxtui.ui.widgets.device_table import DeviceMoved

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
"""The colours of a heat map: that of the text, and that of the tile."""

_WORDS = {
    **_COLORS,
    **{role: f"{text} on {tile}" for role, (text, tile) in _HEAT.items()},
    "simulated": "bold $text-warning",
}

SHORTEST = 3
"""Lines that a drawing has at least."""


class ChipMap(ScrollView, can_focus=True):
    """A drawing that can be walked through; only lines that changed are drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1, 0)", "Left", show=False),
        Binding("right", "step(1, 0)", "Right", show=False),
        Binding("up", "step(0, -1)", "Up", show=False),
        Binding("down", "step(0, 1)", "Down", show=False),
    ]

    # A bar that comes and goes would change the width, and with it the drawing.
    DEFAULT_CSS = """
    ChipMap { width: 1fr; height: 1fr; scrollbar-gutter: stable; overflow-x: hidden; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._map = chipmap.layout(())
        self._devices: tuple[Device, ...] = ()
        self._selected: str | None = None
        self._lines: list[Line] = []
        self._strips: dict[Line, Strip] = {}
        """The strips of lines drawn so far."""

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
        if devices is not self._devices and tuple(devices) != self._devices:
            self._devices = tuple(devices)
            self._map = chipmap.layout(self._devices)
        drawn = replace(self._map, marks=marks, legend=legend, chosen=frozenset(chosen))
        if (drawn, selected) != (self._map, self._selected) or not self._lines:
            self._map, self._selected = drawn, selected
            self._redraw()

    @property
    def text(self) -> str:
        """The text without its colours."""
        return "\n".join(self._strip(line).text.rstrip() for line in self._lines)

    def action_step(self, across: int, down: int) -> None:
        if self._selected is not None:
            name = chipmap.neighbour(self._lines, self._selected, across, down)
            self.post_message(DeviceMoved(name))

    def on_click(self, event: events.Click) -> None:
        x, y = event.x + self.scroll_offset.x, event.y + self.scroll_offset.y
        if (name := device_at(self._lines, x, y)) is not None:
            self.post_message(DeviceMoved(name))

    def on_resize(self) -> None:
        self._redraw()

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        place, width = y + self.scroll_offset.y, self.size.width
        if place < len(self._lines):
            return self._strip(self._lines[place])
        return Strip.blank(width, self.rich_style)

    def _redraw(self) -> None:
        width, height = self.scrollable_content_region.size
        if not width or not height:
            return
        room = max(height, SHORTEST)
        lines = chipmap.render(self._map, width, room, self._selected, roomy=True)
        before, self._lines = self._lines, lines
        self._strips = {
            line: self._strips[line] for line in lines if line in self._strips
        }
        self.virtual_size = Size(width, len(lines))
        if len(before) != len(lines):
            self.refresh()
            return
        for place, line in enumerate(lines):
            if line != before[place]:
                self.refresh_line(place)

    def _strip(self, line: Line) -> Strip:
        if line not in self._strips:
            drawn = Content.assemble(*(part for span in line for part in _tile(span)))
            (strip,) = Visual.to_strips(
                self, drawn, self.virtual_size.width, 1, self.visual_style
            )
            self._strips[line] = strip
        return self._strips[line]


def _tile(span: Span) -> list[tuple[str, str]]:
    """A device as a tile with round ends, the selected one without its colour."""
    if span.device is None:
        return [(span.text, _WORDS.get(span.role, ""))]
    text, role = span.text, span.role.removesuffix("-selected")
    plain = "$background", _COLORS.get(role, "$foreground")
    written, color = _HEAT.get(role, plain)
    chosen = span.role.endswith("selected")
    if text == chipmap.DOT:
        return [(text, "" if chosen else color)]
    inside = "bold reverse" if chosen else f"bold {written} on {color}"
    parts = []
    if text.startswith("["):
        parts.append(("▐", "" if chosen else color))
        text = text[1:]
    end = text.endswith("]")
    parts.append((text.removesuffix("]"), inside))
    if end:
        parts.append(("▌", "" if chosen else color))
    return parts
