"""The shape of a screen that times something and shows what came of it."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from jaxtui.model import Work
from jaxtui.model.document import Document
from jaxtui.state import RUNNING, Purpose
from jaxtui.tui.export import ExportScreen
from jaxtui.tui.modal import Modal
from jaxtui.tui.pane import Key
from jaxtui.tui.state import State
from jaxtui.tui.status import MessageLine, StatusLine
from jaxtui.tui.widgets.keys_line import KeysLine
from jaxtui.ui.outcome import Outcome
from jaxtui.ui.report import terminal
from jaxtui.view import words
from jaxtui.view.export import file_stem


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


class ReportScreen(Modal):
    """Runs its work when it opens, unless the result is known, and shows the result."""

    PURPOSE: ClassVar[Purpose]
    OUTCOME: ClassVar[Outcome[Any]]

    VERTICAL_BREAKPOINTS = [(0, "-flat"), (32, "-tall")]  # noqa: RUF012

    KEYS: ClassVar[tuple[Key, ...]] = (
        ("escape,q", "close", "Back", "Back to the devices."),
        ("r,f5", "again", "Again", "Time it again."),
        ("y", "copy", "Copy", "Copy the report, also to a file next to the history."),
        ("u", "export", "Export", "Write the results to a file."),
    )

    def __init__(self) -> None:
        super().__init__()
        self._known: tuple[object, Document] | None = None
        self._stale = False

    def compose(self) -> ComposeResult:
        yield StatusLine(self.base.clock).data_bind(ReportScreen.state)
        yield from self.body()
        yield MessageLine().data_bind(ReportScreen.state)
        yield KeysLine()

    def body(self) -> ComposeResult:
        """Return the widgets between the status line and the keys."""
        raise NotImplementedError

    def draw(self) -> None:
        """Show the newest result."""
        raise NotImplementedError

    def work(self) -> Work:
        """Return the work to run."""
        raise NotImplementedError

    @property
    def result(self) -> Any:
        """The result of the last run; made anew only when that has gone on."""
        state = self.base.session.state
        job = state.jobs.get(self.PURPOSE)
        if self._known is None or self._known[0] is not job:
            complete = job is not None and job.outcome == "complete"
            self._known = job, self.OUTCOME.result(state, complete)
        return self._known[1]

    def on_mount(self) -> None:
        self.set_interval(1 / self.base.fps, self._catch_up)
        if self.PURPOSE not in self.base.session.state.jobs:
            self.call_after_refresh(self.perform, "again")

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.redraw)

    def follow(self, state: State) -> None:
        super().follow(state)
        self._stale = True
        if not state.busy:
            self._catch_up()

    def _catch_up(self) -> None:
        """Draw what has changed since; hundreds of cases begin and end in a second."""
        if self._stale:
            self.redraw()

    def redraw(self) -> None:
        """Show the newest result where there is room to show it."""
        if self.is_mounted and self.size.area:
            self._stale = False
            self.draw()

    def why_not(self, action: str) -> str | None:
        state = self.base.session.state
        if action == "again":
            if state.busy:
                return words.text(RUNNING)
            if not state.can_run:
                return state.no_jax
        if action in ("copy", "export") and not self.OUTCOME.count(self.result)[0]:
            return "No results yet: r times them."
        return None

    def action_again(self) -> None:
        self.base.start(self.work(), self.PURPOSE)

    def action_copy(self) -> None:
        report = self.OUTCOME.report(self.result, self.base.session.state)
        self.base.copy_to_file(f"{terminal(report, None)}\n", f"{self.PURPOSE}.txt")

    def action_export(self) -> None:
        state = self.base.session.state
        stem = file_stem(self.PURPOSE, state.host.hostname if state.host else "")
        files = self.OUTCOME.files(self.result, state)
        self.app.push_screen(ExportScreen(stem, files))

    def action_close(self) -> None:
        self.leave(self.PURPOSE)
