"""Text of the view with styles, and text that is laid out for the width there is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Digits

from jaxtui.model import PHASES
from jaxtui.plot import HEAT, on_heat
from jaxtui.view.check import FINE, ROLES
from jaxtui.view.text import Line

STYLES = {
    **dict.fromkeys(("muted", "unknown"), "dim"),
    **dict.fromkeys(("title", "value", "strong", "hero", "info"), "bold"),
    "device": "bold $lane-device",
    "host": "bold $lane-host",
    "device-curve": "$lane-device 60%",
    "host-curve": "$lane-host 60%",
    "numpy": "bold $numpy",
    "eager": "bold $eager",
    "jit": "bold $jit",
    "danger": "bold $danger",
    "badge": "bold reverse",
    "error": "bold $text-error",
    "warning": "bold $text-warning",
    "head": "underline",
    "chosen": "bold $text-accent",
    "selected": "bold reverse",
    "code": "$text-secondary",
    "block": "$text-secondary",
    "a": "bold $plot-1",
    "b": "bold $plot-2",
    "mark-a": "bold reverse $plot-1",
    "mark-b": "bold reverse $plot-2",
    **{f"bar-{one.replace('_', '-')}": "$foreground 45%" for one in PHASES},
    "bar-dispatch": "$lane-host",
    **{f"bar-{one}": "$lane-device" for one in ("ready", "pipelined")},
    **{
        word: f"{'' if word in FINE else 'bold '}${color}"
        for word, color in ROLES.items()
    },
    **{f"badge-{word}": f"bold ${color} reverse" for word, color in ROLES.items()},
    **{
        f"heat-{level}": f"rgb{on_heat(level)} on rgb{color}"
        for level, color in enumerate(HEAT)
    },
}
"""The styles of the roles of spans, on every screen."""

Write = Callable[[int], Iterable[Line]]
"""Makes the lines for a width in cells."""


def content(lines: Iterable[Line]) -> Content:
    """Lines of spans with the styles of their roles."""
    return Content("\n").join(
        Content.assemble(*((span.text, STYLES.get(span.role, "")) for span in line))
        for line in lines
    )


class Figure(Digits):
    """A large figure; plain text where the terminal lacks the characters of one."""

    def render(self) -> RenderResult:
        encoding = getattr(sys.__stderr__, "encoding", None) or ""
        if encoding.lower().startswith("utf"):
            return super().render()
        return Content(self.value).stylize("bold")


class Paper(Widget):
    """A text, as high as its lines."""

    DEFAULT_CSS = """
    Paper { height: auto; width: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._write: Write = lambda _: ()
        self._shown: list[Content] = []
        self._width = 0

    @property
    def text(self) -> str:
        """The text without its styles."""
        return "\n".join(line.plain.rstrip() for line in self._shown)

    def show(self, write: Write) -> None:
        """Write something else; the screen is laid out anew only if that is longer."""
        self._write = write
        if not self._width:
            return
        before = self._shown
        self._lay_out(self._width)
        lines = len(self._shown)
        # Two texts are equal whatever their styles are.
        pairs = zip(self._shown, before, strict=False)
        if lines != len(before) or not all(new.is_same(old) for new, old in pairs):
            self.refresh(layout=lines != len(before))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self._width:
            self._lay_out(width)
        return len(self._shown)

    def render(self) -> Content:
        width = self.content_size.width
        if width != self._width:
            self._lay_out(width)
        return Content("\n").join(self._shown)

    def _lay_out(self, width: int) -> None:
        self._width = width
        text = content(self._write(width))
        # Code keeps its lines, so one may be wider than there is room.
        self._shown = list(text.wrap(width)) if text.plain and width else []
