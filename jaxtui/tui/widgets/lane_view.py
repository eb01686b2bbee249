"""The two lanes of a loop: clicks and keys select a call, zoom and scroll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from textual import events
from textual.color import Color
from textual.message import Message
from textual.reactive import reactive

from jaxtui import plot
from jaxtui.model import LoopCall
from jaxtui.plot import cells
from jaxtui.tui.colors import few_colors
from jaxtui.tui.lane_drawing import (
    BLOCKS,
    GUTTER,
    SOLID,
    Glyphs,
    Row,
    Shot,
    draw,
)
from jaxtui.tui.lanes import Bar, Timeline, Window, timeline, whole
from jaxtui.tui.themes import DEFAULT_VARIABLES
from jaxtui.tui.widgets.plot_view import PlotView

ZOOM = 2.0
"""How much closer one key press goes."""

Palette = Mapping[str, "tuple[int, int, int]"]
"""Red, green and blue of each role; a role without one has the text's colour."""


class LaneView(PlotView):
    """Host above, device below, on one time axis."""

    DEFAULT_CSS = """
    LaneView { height: 1fr; min-height: 6; }
    """

    line: reactive[Timeline] = reactive(Timeline(), repaint=False)
    """The calls that are known."""
    window: reactive[Window | None] = reactive(None, repaint=False)
    """What is in view; ``None`` for the whole loop, also while it grows."""
    selected: reactive[int] = reactive(0, repaint=False)
    """Index of the call that is pointed out."""
    until: reactive[float | None] = reactive(None, repaint=False)
    """Where the playback is; ``None`` when all is shown."""
    count: reactive[int | None] = reactive(None, repaint=False)
    """How many calls are shown; ``None`` for all."""
    complete: reactive[bool] = reactive(False, repaint=False)
    """Whether the loop has ended."""
    inline: reactive[bool] = reactive(False, repaint=False)
    """Whether the calls computed before they returned."""

    class Picked(Message):
        """A call was clicked."""

        def __init__(self, call: int) -> None:
            super().__init__()
            self.call = call

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: list[Row] = []
        self._scheduled = False

    @property
    def in_view(self) -> Window:
        """The stretch of time that is drawn."""
        return self.window or whole(self.line.total)

    def take(self, calls: Sequence[LoopCall], *, complete: bool, inline: bool) -> None:
        """Show these calls; another selection or view is for the caller to make."""
        self.line = timeline(calls)
        self.complete = complete
        self.inline = inline
        self.selected = max(0, min(self.selected, self.line.calls - 1))

    def reset(self) -> None:
        """Forget what was selected and where the view was."""
        self.window = self.until = self.count = None
        self.selected = 0

    def select(self, call: int) -> None:
        """Point out a call, and scroll to it in the lane that was looked at."""
        if not self.line.calls:
            return
        before, self.selected = self.selected, max(0, min(call, self.line.calls - 1))
        if self.window is not None:
            bar = self._looked_at(before)[self.selected]
            self.window = self.window.showing(bar, whole(self.line.total))

    def zoom(self, closer: bool) -> None:
        """Go closer to the selected call, or further away."""
        if not self.line.calls:
            return
        everything = whole(self.line.total)
        anchor = self._looked_at(self.selected)[self.selected].start
        factor = ZOOM if closer else 1 / ZOOM
        window = self.in_view.zoomed(factor, anchor, everything)
        self.window = None if window == everything else window

    def play(self, time: float) -> None:
        """Show everything up to a time, and point out the call that is computed."""
        self.count, self.until = None, time
        self.selected = self.line.computing_at(time)
        if self.window is not None:
            self.window = self.window.following(time, whole(self.line.total))

    def _looked_at(self, call: int) -> Sequence[Bar]:
        """The lane on which a call is in view: of both, the device."""
        device = self.line.device
        if call >= len(device) or self.in_view.shows(device[call]):
            return device
        return self.line.host if self.in_view.shows(self.line.host[call]) else device

    # Drawing.

    def redraw(self) -> None:
        """Draw once, after everything that changes now has changed."""
        if not self._scheduled:
            self._scheduled = True
            self.call_later(self._draw_shot)

    watch_line = watch_window = watch_selected = watch_until = redraw
    watch_count = watch_complete = watch_inline = redraw

    def _draw_shot(self) -> None:
        self._scheduled = False
        if not self.is_attached:
            return
        shot = Shot(
            self.line,
            self.in_view,
            self.selected,
            self.until,
            self.count,
            self.complete,
            self.inline,
        )
        few = few_colors(self.app)
        glyphs = BLOCKS if few else SOLID
        palette = {} if few else _palette(self.app.theme_variables)
        self.show(partial(self._drawn, shot, glyphs, palette))

    def _drawn(
        self, shot: Shot, glyphs: Glyphs, palette: Palette, width: int, height: int
    ) -> list[plot.Row]:
        self._rows = draw(shot, width, height, glyphs)
        return [
            cells.row([(cell.text, palette.get(cell.role)) for cell in row])
            for row in self._rows
        ]

    def on_click(self, event: events.Click) -> None:
        """Select the call that is drawn there, or one close by."""
        for x in (event.x, event.x - 1, event.x + 1):
            if 0 <= event.y < len(self._rows) and GUTTER <= x < self.size.width:
                call = self._rows[event.y][x].call
                if call is not None:
                    self.post_message(self.Picked(call))
                    return


def _palette(variables: Mapping[str, str]) -> Palette:
    """The theme's colours: dispatch and ready as in the plots, a lighter shade each."""

    def color(name: str) -> Color:
        return Color.parse(variables.get(name, DEFAULT_VARIABLES.get(name, "#808080")))

    back = color("background")
    device, host, chosen = color("plot-1"), color("plot-2"), color("plot-3")
    axis = color("plot-axis")
    return {
        "host-0": host.rgb,
        "host-1": host.blend(back, 0.45).rgb,
        "clock": host.rgb,
        "device-0": device.rgb,
        "device-1": device.blend(back, 0.45).rgb,
        "work": device.rgb,
        "selected": chosen.rgb,
        "cursor": color("plot-4").rgb,
        "wait": axis.rgb,
        "axis": axis.rgb,
        "number": color("foreground").blend(back, 0.25).rgb,
    }
