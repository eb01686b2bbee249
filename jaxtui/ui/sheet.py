"""A renderable on a screen, as high as it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from rich.console import RenderableType
from rich.text import Text
from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Digits

from jaxtui.ui.report import Fitted
from jaxtui.ui.text import Line


class Figure(Digits):
    """A large figure; plain text where the terminal lacks the characters of one."""

    def render(self) -> RenderResult:
        encoding = getattr(sys.__stderr__, "encoding", None) or ""
        if encoding.lower().startswith("utf"):
            return super().render()
        return Content(self.value).stylize("bold")


class Sheet(Widget):
    """A renderable, as high as it is, in the colours of the app's theme."""

    DEFAULT_CSS = """
    Sheet { height: auto; width: 1fr; }
    """

    def __init__(
        self,
        content: RenderableType = "",
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._content = content
        self._lines: list[Content] = []
        self._width = 0

    @property
    def text(self) -> str:
        """The text without its styles."""
        return "\n".join(line.plain.rstrip() for line in self._lines)

    @property
    def content(self) -> RenderableType:
        return self._content

    @content.setter
    def content(self, content: RenderableType) -> None:
        """Show something else; the screen is laid out anew only if that is longer."""
        self._content = content
        if not self._width:
            return
        before = self._lines
        self._lay_out(self._width)
        # Two texts are equal whatever their styles are.
        pairs = zip(self._lines, before, strict=False)
        if len(self._lines) != len(before):
            self.refresh(layout=True)
        elif not all(new.is_same(old) for new, old in pairs):
            self.refresh()

    def show(self, write: Callable[[int], Iterable[RenderableType | Line]]) -> None:
        """Show what is made for the width there is."""
        self.content = Fitted(write)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._width:
            # What is written for a width may have become another text.
            before = len(self._lines)
            self._lay_out(self._width)
            self.refresh(layout=len(self._lines) != before)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self._width:
            self._lay_out(width)
        return len(self._lines)

    def render(self) -> Content:
        width = self.content_size.width
        if width != self._width:
            self._lay_out(width)
        return Content("\n").join(self._lines)

    def _lay_out(self, width: int) -> None:
        self._width, self._lines = width, []
        if not width or self._content == "":
            return
        console = self.app.console
        options = self.app.console_options.update(width=width, height=None)
        for line in console.render_lines(self._content, options, pad=False):
            parts = ((part.text, part.style or "") for part in line)
            text = Text.assemble(*parts, end="")
            self._lines.append(Content.from_rich_text(text, console=console))
