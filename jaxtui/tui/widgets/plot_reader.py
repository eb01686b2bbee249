"""A plot from which values are read: by keys in the focus, or by the mouse."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from jaxtui.plot import Picture, Row
from jaxtui.tui import bindings
from jaxtui.tui.colors import drawing
from jaxtui.tui.plot_commands import READING_COMMANDS
from jaxtui.tui.widgets.plot_view import Draw, PlotView

_LATER = 0.1
"""Seconds until the terminal is asked again whether it has room for a redraw."""

_LARGE_STEPS = 10
"""Large steps from the first place to the last."""


class PlotReader(PlotView, can_focus=True):
    """Shows a picture, with a line at the place that is read off.

    Args:
        calm: whether the terminal has room for a redraw that only the mouse asked for.
        id: as of every widget.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings.bindings(READING_COMMANDS)]

    class Picked(Message):
        """Enter was pressed at a place."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    class Left(Message):
        """The plot shall lose the focus."""

    def __init__(
        self,
        calm: Callable[[], bool] = lambda: True,
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._calm = calm
        self._picture: Picture | None = None
        self._subject: object = None
        self._place: int | None = None
        self._waiting: events.MouseMove | None = None
        """Where the mouse was last, while the terminal has no room."""

    @property
    def place(self) -> int | None:
        """The place that is read off; ``None`` shows title and legend."""
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
        if picture is None or not picture.count:
            self._place = None
        elif self._place is None and self.has_focus:
            self._place = picture.begin
        elif self._place is not None:
            self._place = min(self._place, picture.count - 1)
        if picture is None:
            self.show(partial(_words, text) if text else None)
        else:
            self._update_plot()

    def read(self, place: int | None) -> None:
        """Read off at a place; one outside is the first or the last."""
        picture = self._picture
        if picture is None or not picture.count:
            return
        if place is not None:
            place = max(0, min(place, picture.count - 1))
        if place != self._place:
            self._place = place
            self._update_plot()

    def _update_plot(self) -> None:
        self.show(self._drawing())

    def _drawing(self) -> Draw | None:
        return drawing(self._picture, self.app, self._place)

    # Focus and mouse.

    def on_focus(self) -> None:
        """Show where reading begins."""
        if self._place is None and self._picture is not None:
            self.read(self._picture.begin)

    def on_blur(self) -> None:
        """Show title and legend again."""
        self.read(None)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Read off under the mouse."""
        if self._waiting is None and self._calm():
            self.read(self._under(event))
            return
        if self._waiting is None:
            self.set_timer(_LATER, self._read_later)
        self._waiting = event

    def _read_later(self) -> None:
        if not self._calm():
            self.set_timer(_LATER, self._read_later)
            return
        event, self._waiting = self._waiting, None
        if event is not None and self.is_mouse_over:
            self.read(self._under(event))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Read off under the mouse, and go on from there with the keys."""
        self.read(self._under(event))

    def on_leave(self) -> None:
        """Show title and legend again, unless the keys are in use."""
        if not self.has_focus and not self.is_mouse_over:
            self.read(None)

    def _under(self, event: events.MouseEvent) -> int | None:
        if self._picture is None:
            return None
        return self._picture.nearest(event.x, *self.size)

    # What the keys do.

    def action_previous(self) -> None:
        """The place before."""
        self._move(-1)

    def action_next(self) -> None:
        """The next place."""
        self._move(1)

    def action_back(self) -> None:
        """A tenth of the places back."""
        self._move(-self._large)

    def action_ahead(self) -> None:
        """A tenth of the places on."""
        self._move(self._large)

    def action_first(self) -> None:
        """The first place."""
        self.read(0)

    def action_last(self) -> None:
        """The last place."""
        if self._picture is not None:
            self.read(self._picture.count)

    def action_pick(self) -> None:
        """Say that this place was chosen."""
        if self._place is not None:
            self.post_message(self.Picked(self._place))

    def action_leave(self) -> None:
        """Ask for the focus to be elsewhere."""
        self.post_message(self.Left())

    @property
    def _large(self) -> int:
        places = self._picture.count if self._picture is not None else 0
        return max(1, places // _LARGE_STEPS)

    def _move(self, by: int) -> None:
        if self._place is not None:
            self.read(self._place + by)


def _words(text: str, width: int, height: int) -> list[Row]:
    """A text as a drawing: wrapped, with a blank line above it where there is room."""
    lines = [
        line
        for paragraph in text.split("\n")
        for line in textwrap.wrap(paragraph, max(1, width - 4)) or [""]
    ]
    above = [""] if len(lines) < height else []
    shown = [*above, *lines][:height]
    return [((f"  {line}"[:width].ljust(width), None),) for line in shown]
