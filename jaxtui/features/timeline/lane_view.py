"""The widget of a loop's lanes: coloured, clicked, and redrawn where it changed."""

from __future__ import annotations

from functools import cache, partial
from itertools import groupby
from operator import attrgetter

from rich.style import Style
from textual import events
from textual.color import Color
from textual.message import Message
from textual.reactive import reactive

from jaxtui.features.timeline.lanes import (
    BLOCKS,
    GUTTER,
    SOLID,
    Row,
    Shot,
    Timeline,
    draw,
)
from jaxtui.ui.app.colors import few_colors
from jaxtui.ui.widgets.plot_view import Line, PlotView


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
        self._scheduled = False

    def watch_shot(self) -> None:
        """Draw once, after everything that changes now has changed."""
        if not self._scheduled:
            self._scheduled = True
            self.call_later(self._draw_shot)

    def _draw_shot(self) -> None:
        self._scheduled = False
        if self.is_attached:
            self.show(partial(self._lines_of, self.shot))

    def _lines_of(self, shot: Shot, width: int, height: int) -> list[Line]:
        is_plain = few_colors(self.app)
        self._rows = draw(shot, width, height, BLOCKS if is_plain else SOLID)
        look = cache(self._look)
        return [
            [
                ("".join([cell.text for cell in run]), None if is_plain else look(*of))
                for of, run in groupby(row, attrgetter("role", "under"))
            ]
            for row in self._rows
        ]

    def _look(self, role: str, under: str) -> Style:
        """The style of a role; a number is read on the colour of its bar."""
        look = self.app.console.get_style
        color = look(f"lane-{under}").color if under else None
        if color is None:
            return look(f"lane-{role}")
        front = Color.from_rich_color(color).get_contrast_text(1.0)
        return Style(color=front.rich_color, bgcolor=color)

    def on_click(self, event: events.Click) -> None:
        for x in (event.x, event.x - 1, event.x + 1):
            if 0 <= event.y < len(self._rows) and GUTTER <= x < self.size.width:
                call = self._rows[event.y][x].call
                if call is not None:
                    self.post_message(self.Picked(call))
                    return
