"""Plots that send the terminal only the cells that changed, and are read off."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import ClassVar

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from jaxtui.ui.app.base import base
from jaxtui.ui.app.pane import bindings
from jaxtui.ui.plot import Picture

Line = Sequence[tuple[str, "Style | tuple[int, int, int] | None"]]
"""Characters with their style, or their colour alone; ``None`` is the widget's own."""

Draw = Callable[[int, int], Sequence[Line]]
"""Draws for a width and a height: exactly that many lines."""

_GAP = 6
"""Unchanged cells between two changed ones that are cheaper sent than skipped."""

_LATER = 0.1
"""Seconds until the terminal is asked again whether it has room for a redraw."""

_LARGE_STEPS = 10
"""Large steps from the first place to the last."""


class PlotView(Widget):
    """Shows what a drawing function makes of the size that there is."""

    DEFAULT_CSS = """
    PlotView { height: 1fr; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._draw: Draw | None = None
        self._shown_rows: list[Line] = []
        self._strips: list[Strip] = []
        self._style = Style.null()

    @property
    def text(self) -> str:
        """The text without its colours."""
        return "\n".join(strip.text for strip in self._strips)

    def show(self, draw: Draw | None) -> None:
        """Draw something else, and refresh the cells in which it differs."""
        self._draw = draw
        self._redraw()

    def on_resize(self) -> None:
        self._shown_rows, self._strips = [], []
        self._redraw()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        # Once and not for each line, as it is made of the styles of all ancestors.
        self._style = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        if y < len(self._strips):
            return self._strips[y].apply_style(self._style)
        return Strip.blank(self.size.width, self._style)

    def _redraw(self) -> None:
        width, height = self.size
        if not width or not height:
            return
        rows: list[Line] = []
        if self._draw is not None:
            rows += self._draw(width, height)
        rows += [()] * (height - len(rows))
        old_rows, old_strips = self._shown_rows, self._strips
        self._shown_rows = rows = rows[:height]
        self._strips = [
            old_strips[y]
            if y < len(old_rows) and old_rows[y] == row
            else Strip(
                [Segment(text, _style(color)) for text, color in row]
            ).adjust_cell_length(width)
            for y, row in enumerate(rows)
        ]
        if len(old_strips) != len(rows):
            self.refresh()
        else:
            regions = _changed(old_strips, self._strips)
            if regions:
                self.refresh(*regions)


@lru_cache(maxsize=64)
def _style(color: Style | tuple[int, int, int] | None) -> Style:
    if isinstance(color, tuple):
        return Style(color=Color.from_rgb(*color))
    return color or Style.null()


def _changed(old: list[Strip], new: list[Strip]) -> list[Region]:
    """The runs of cells in which two drawings of one size differ."""
    return [
        Region(start, y, stop - start, 1)
        for y, (before, after) in enumerate(zip(old, new, strict=True))
        if before is not after
        for start, stop in _runs(_cells(before), _cells(after))
    ]


def _cells(strip: Strip) -> list[tuple[str, object]]:
    return [
        (character, segment.style) for segment in strip for character in segment.text
    ]


def _runs(
    old: list[tuple[str, object]], new: list[tuple[str, object]]
) -> Iterator[tuple[int, int]]:
    """Runs of differing places, joined across small gaps."""
    if len(old) != len(new):
        yield 0, max(len(old), len(new))
        return
    start = stop = -1
    for place, (before, after) in enumerate(zip(old, new, strict=True)):
        if before == after:
            continue
        if start >= 0 and place - stop > _GAP:
            yield start, stop
            start = -1
        if start < 0:
            start = place
        stop = place + 1
    if start >= 0:
        yield start, stop


class PlotReader(PlotView, can_focus=True):
    """A plot with a line at the place that is read off, by keys or under the mouse."""

    HELP = "On a plot in focus"

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "plot",
        (
            ("left", "move(-1)", "Left", "Read the previous point."),
            ("right", "move(1)", "Right", "Read the next point."),
            ("pageup", "leap(-1)", "Back", "Go back a tenth of the points."),
            ("pagedown", "leap(1)", "Ahead", "Go forward a tenth of the points."),
            ("home", "first", "First", "Read the first point."),
            ("end", "last", "Last", "Read the last point."),
            ("enter", "pick", "Select", "Select the case of this size."),
            ("escape", "leave", "Results", "Leave the plot for the results."),
        ),
        ("Select", "Results"),
    )

    class Picked(Message):
        """Enter was pressed at a place."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    class Left(Message):
        """Posted when the plot wants to give up the focus."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._picture: Picture | None = None
        self._subject: object = None
        self._place: int | None = None
        self._waiting: events.MouseMove | None = None
        """The last mouse move, while the terminal has no room."""

    @property
    def place(self) -> int | None:
        return self._place

    def show_picture(
        self, picture: Picture | None, text: str = "", subject: object = None
    ) -> None:
        """Show another picture, or a text.

        Args:
            picture: ``None`` for the text.
            text: what is said in its place.
            subject: of what it is; the place that is read off stays while this does.
        """
        if subject != self._subject:
            self._place = None
        self._picture, self._subject = picture, subject
        if picture is None or not picture.places:
            self._place = None
        elif self._place is None and self.has_focus:
            self._place = picture.start
        elif self._place is not None:
            self._place = min(self._place, len(picture.places) - 1)
        if picture is None:
            self.show(partial(_words, text) if text else None)
        else:
            self.show(partial(picture.rows, cursor=self._place))

    def read(self, place: int | None) -> None:
        """Read off at a place; one outside is the first or the last."""
        picture = self._picture
        if picture is None or not picture.places:
            return
        if place is not None:
            place = max(0, min(place, len(picture.places) - 1))
        if place != self._place:
            self._place = place
            self.show(partial(picture.rows, cursor=place))

    def on_focus(self) -> None:
        """Show where reading begins."""
        if self._place is None and self._picture is not None:
            self.read(self._picture.start)

    def on_blur(self) -> None:
        self.read(None)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._waiting is None and self._calm():
            self.read(self._under(event))
            return
        if self._waiting is None:
            self.set_timer(_LATER, self._read_later)
        self._waiting = event

    def _calm(self) -> bool:
        return bool(base(self).pacer.ready())

    def _read_later(self) -> None:
        if not self._calm():
            self.set_timer(_LATER, self._read_later)
            return
        event, self._waiting = self._waiting, None
        if event is not None and self.is_mouse_over:
            self.read(self._under(event))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Read off under the mouse; the keys go on from there."""
        self.read(self._under(event))

    def on_leave(self) -> None:
        if not self.has_focus and not self.is_mouse_over:
            self.read(None)

    def _under(self, event: events.MouseEvent) -> int | None:
        if self._picture is None:
            return None
        return self._picture.nearest(event.x, *self.size)

    def action_move(self, by: int) -> None:
        if self._place is not None:
            self.read(self._place + by)

    def action_leap(self, way: int) -> None:
        places = len(self._picture.places) if self._picture is not None else 0
        self.action_move(way * max(1, places // _LARGE_STEPS))

    def action_first(self) -> None:
        self.read(0)

    def action_last(self) -> None:
        if self._picture is not None:
            self.read(len(self._picture.places))

    def action_pick(self) -> None:
        if self._place is not None:
            self.post_message(self.Picked(self._place))

    def action_leave(self) -> None:
        self.post_message(self.Left())


def _words(text: str, width: int, height: int) -> list[Line]:
    """A text as a drawing: wrapped, with a blank line above it where there is room."""
    lines = [
        line
        for paragraph in text.split("\n")
        for line in textwrap.wrap(paragraph, max(1, width - 4)) or [""]
    ]
    above = [""] if len(lines) < height else []
    rows = [*above, *lines][:height]
    return [((f"  {line}"[:width].ljust(width), None),) for line in rows]
