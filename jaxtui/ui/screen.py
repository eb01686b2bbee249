"""The shape of a screen that times something and shows what came of it."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult

from jaxtui.core.model import Work
from jaxtui.core.model.document import Document
from jaxtui.core.state import RUNNING, Purpose
from jaxtui.ui import words
from jaxtui.ui.app.export import ExportScreen
from jaxtui.ui.app.modal import Modal
from jaxtui.ui.app.pane import Key
from jaxtui.ui.app.state import State
from jaxtui.ui.app.status import MessageLine, StatusLine
from jaxtui.ui.export import file_stem
from jaxtui.ui.outcome import Outcome
from jaxtui.ui.report import text
from jaxtui.ui.widgets.keys_line import KeysLine


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
        self.base.copy_to_file(text(report), f"{self.PURPOSE}.txt")

    def action_export(self) -> None:
        state = self.base.session.state
        stem = file_stem(self.PURPOSE, state.host.hostname if state.host else "")
        files = self.OUTCOME.files(self.result, state)
        self.app.push_screen(ExportScreen(stem, files))

    def action_close(self) -> None:
        self.leave(self.PURPOSE)
