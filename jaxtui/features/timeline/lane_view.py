"""The widget of a loop's lanes: coloured, clicked, and redrawn where it changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import Color
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from jaxtui import plot
from jaxtui.features.timeline.lanes import (
    BLOCKS,
    GUTTER,
    SOLID,
    Row,
    Shades,
    Shot,
    Timeline,
    draw,
)
from jaxtui.plot import cells
from jaxtui.tui.colors import few_colors
from jaxtui.tui.themes import DEFAULT_VARIABLES
from jaxtui.tui.widgets.plot_view import PlotView

Palette = Mapping[str, "tuple[int, int, int]"]
"""Red, green and blue of each role; a role without one has the text's colour."""


class LaneView(PlotView, can_focus=True):
    """Host, device and queue on one time axis."""

    DEFAULT_CSS = """
    LaneView { height: 1fr; min-height: 4; }
    """

    shot: reactive[Shot] = reactive(Shot(Timeline(), complete=False), repaint=False)
    """The picture of the lanes."""

    class Picked(Message):
        """A call was clicked."""

        def __init__(self, call: int) -> None:
            super().__init__()
            self.call = call

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[Row] = []
        self._palette: Palette = {}
        self._scheduled = False

    def watch_shot(self) -> None:
        """Draw once, after everything that changes now has changed."""
        if not self._scheduled:
            self._scheduled = True
            self.call_later(self._draw_shot)

    def _draw_shot(self) -> None:
        self._scheduled = False
        if not self.is_attached:
            return
        is_plain = few_colors(self.app)
        palette = {} if is_plain else _palette(self.app.theme_variables)
        shades = BLOCKS if is_plain else SOLID
        self.show(partial(self._rows_of, self.shot, shades, palette))

    def _rows_of(
        self, shot: Shot, shades: Shades, palette: Palette, width: int, height: int
    ) -> list[plot.Row]:
        self._rows, self._palette = draw(shot, width, height, shades), palette
        return [
            cells.row([(cell.text, palette.get(cell.role)) for cell in row])
            for row in self._rows
        ]

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        row = self._rows[y] if y < len(self._rows) else []
        if not self._palette or not any(cell.under for cell in row):
            return strip
        segments = []
        for segment, cell in zip(_characters(strip), row, strict=False):
            style = segment.style or Style.null()
            if cell.under:
                back = self._palette[cell.under]
                front = Color(*back).get_contrast_text(1.0).rgb
                style += Style(
                    color=RichColor.from_rgb(*front), bgcolor=RichColor.from_rgb(*back)
                )
            segments.append(Segment(segment.text, style))
        return Strip(segments).simplify()

    def on_click(self, event: events.Click) -> None:
        for x in (event.x, event.x - 1, event.x + 1):
            if 0 <= event.y < len(self._rows) and GUTTER <= x < self.size.width:
                call = self._rows[event.y][x].call
                if call is not None:
                    self.post_message(self.Picked(call))
                    return


def _characters(strip: Strip) -> Iterator[Segment]:
    for text, style, _ in strip:
        for character in text:
            yield Segment(character, style)


def _palette(variables: Mapping[str, str]) -> Palette:
    """The theme's colours: dispatch and ready as in the plots, a lighter shade each."""

    def color(name: str) -> Color:
        return Color.parse(variables.get(name, DEFAULT_VARIABLES.get(name, "#808080")))

    text, back = color("foreground"), color("background")
    device, host, axis = color("lane-device"), color("lane-host"), color("plot-axis")
    return {
        "host-0": host.rgb,
        "host-1": host.blend(back, 0.45).rgb,
        "clock": host.rgb,
        "device-0": device.rgb,
        "device-1": device.blend(back, 0.45).rgb,
        # Of no lane and no mode: NumPy's green would say that NumPy computes it.
        "selected": text.rgb,
        "queue": device.blend(back, 0.3).rgb,
        "cursor": text.rgb,
        "wait": axis.rgb,
        "axis": axis.rgb,
        "number": text.rgb,
    }
