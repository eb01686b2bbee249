"""The audit of a program's timings: its source, with the findings in the margin."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.widgets import Log, OptionList

from jaxtui.core.model.remark import SelectionError
from jaxtui.core.text import visible
from jaxtui.features.audit import child as audits
from jaxtui.features.audit import report as view
from jaxtui.features.audit.judge import judge
from jaxtui.features.audit.messages import Audit, Place
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.line import LineScreen
from jaxtui.ui.app.modal import Modal, modal_keys
from jaxtui.ui.app.pane import WIDE_COLUMNS
from jaxtui.ui.app.status import MessageLine, StatusLine
from jaxtui.ui.report import Notes, gather, terminal
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.keys_line import KeysLine
from jaxtui.ui.widgets.panel import Panel, PanelList, hint

_KEYS = (
    ("escape,q", "back", "Back", "Leave; a running program is killed."),
    ("n", "next", "Next", "Go to the next line with a finding."),
    ("g", "view", "View", "Show another file of the program."),
    ("r,f5", "again", "Again", "Run the program again."),
    ("y", "copy", "Copy", "Copy the report, also to a file next to the history."),
)


class Lines(PanelList):
    """The program, with marks in the margin."""


DRAIN_SECONDS = 1.0
"""Seconds to read the output of a program that has ended; a process it started may hold
the pipe open."""


class AuditScreen(Modal):
    """An audit: its verdict on top, below it the source and what is wrong there.

    Args:
        program: what to run, as ``python`` takes it.
    """

    HELP: ClassVar[str] = "In an audit"

    BINDINGS: ClassVar[list[BindingType]] = modal_keys("audit", _KEYS)

    DEFAULT_CSS = """
    AuditScreen {
        #audit-verdict { height: auto; }
        #audit-parts { height: 1fr; layout: vertical; }
        #audit-source { height: 2fr; width: 1fr; }
        #audit-about { height: 1fr; width: 1fr; }
        Log { height: 1fr; background: $background; }
        OptionList {
            height: 1fr; background: $background;
            &:focus { background-tint: transparent; }
        }
        &.-wide {
            #audit-parts { layout: horizontal; }
            #audit-source, #audit-about { height: 1fr; }
            #audit-source { width: 3fr; }
            #audit-about { width: 2fr; }
        }
        &.-running #audit-parts { display: none; }
        #audit-output { height: 1fr; display: none; }
        &.-running #audit-output { display: block; }
    }
    """

    def __init__(self, program: Sequence[str]) -> None:
        super().__init__()
        self._program = tuple(program)
        self._audit: Audit | None = None
        self._status = 0
        self._file = ""

    def compose(self) -> ComposeResult:
        yield StatusLine(self.base.clock).data_bind(AuditScreen.state)
        with Panel(id="audit-verdict"):
            yield Sheet()
        with Panel("output", id="audit-output"):
            yield Log(max_lines=2000)
        with Container(id="audit-parts"):
            with Panel("source", id="audit-source"):
                yield Lines()
            with Panel(id="audit-about"):
                yield Sheet()
        yield MessageLine().data_bind(AuditScreen.state)
        yield KeysLine()

    def on_mount(self) -> None:
        self.query_one("#audit-verdict", Panel).set_title(shlex.join(self._program))
        self.action_again()

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE_COLUMNS, "-wide")
        self._draw()

    def action_again(self) -> None:
        self._audit = None
        self.add_class("-running")
        self.query_one(Log).clear()
        self.run_worker(self._watch(), exclusive=True)
        self._draw()

    async def _watch(self) -> None:
        log = self.query_one(Log)
        readers: list[asyncio.Task[None]] = []

        def started(process: asyncio.subprocess.Process) -> None:
            readers.append(asyncio.create_task(_copy(process.stdout, log)))

        try:
            status, witness = await audits.watch(
                self._program,
                started=started,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            for task in readers:
                await asyncio.wait({task}, timeout=DRAIN_SECONDS)
        finally:
            for task in readers:
                task.cancel()
        self._status = status
        first, *arguments = self._program
        name = arguments[0] if first == "-m" and arguments else first
        self._audit = judge(witness, name, status, view.source)
        files = view.files(self._audit)
        self._file = files[0] if files else ""
        # What it printed says why there is nothing to see.
        self.set_class(not self._file, "-running")
        self._fill()
        self._draw()

    # What is drawn.

    def _fill(self) -> None:
        rows = self.query_one(Lines)
        rows.clear_options()
        if self._audit is None or not self._file:
            return
        rows.fill(view.margin(self._audit, self._file))
        rows.highlighted = None
        rows.focus()
        self.action_next()
        if rows.highlighted is None and self._audit.sites:
            rows.highlighted = self._audit.sites[0].begin.line - 1

    def _draw(self) -> None:
        self.query_one("#audit-verdict", Panel).query_one(Sheet).content = self._head
        self.query_one("#audit-about", Panel).query_one(Sheet).content = self._about
        name = Path(self._file).name
        self.query_one("#audit-source", Panel).set_title(name, [hint(self, "next")])

    @property
    def _head(self) -> RenderableType:
        if self._audit is None:
            return "The program runs; jaxtui watches its clocks and the device …"
        parts: list[RenderableType] = [view.verdict(self._audit)]
        parts += filter(None, [view.overview(self._audit)])
        if self._status:
            ended = f"It ended with exit status {self._status}."
            parts.append(Text(ended, "warning"))
        if unjudged := gather((), self._audit.remarks):
            parts.append(Notes(unjudged))
        return Group(*parts)

    @property
    def _about(self) -> RenderableType:
        place = self._place
        if self._audit is None or place is None:
            return ""
        return Group(*view.about(self._audit, place))

    @property
    def _place(self) -> Place | None:
        """The line at the cursor."""
        row = self.query_one(Lines).highlighted
        return None if row is None else Place(self._file, row + 1)

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        place = self._place
        title = "" if place is None else f"line {place.line}"
        panel = self.query_one("#audit-about", Panel)
        panel.set_title(title)
        panel.query_one(Sheet).content = self._about

    # Keys.

    def why_not(self, action: str) -> str | None:
        if action in ("next", "view", "copy", "again") and self._audit is None:
            return "The program is still running."
        if action == "next" and self._audit and not self._audit.findings:
            return "The audit found no mistakes."
        if action == "view" and self._audit and len(view.files(self._audit)) < 2:
            return "All findings are in one file."
        return None

    def action_next(self) -> None:
        if self._audit is None:
            return
        places = [finding.place for finding in self._audit.findings]
        lines = sorted({place.line for place in places if place.file == self._file})
        rows = self.query_one(Lines)
        now = -1 if rows.highlighted is None else rows.highlighted + 1
        if lines:
            following = [line for line in lines if line > now]
            rows.highlighted = (following or lines)[0] - 1

    def action_view(self) -> None:
        if self._audit is not None:
            files = view.files(self._audit)
            self._file = files[(files.index(self._file) + 1) % len(files)]
            self._fill()
            self._draw()

    def action_copy(self) -> None:
        if self._audit is not None:
            report = terminal(view.report(self._audit), None)
            self.base.copy_to_file(f"{report}\n", "audit.txt")

    def action_back(self) -> None:
        self.workers.cancel_node(self)
        self.dismiss()


async def _copy(stream: asyncio.StreamReader | None, log: Log) -> None:
    """Copy the program's output; no character of it reaches the terminal as a code."""
    while stream is not None and (line := await stream.readline()):
        log.write_line(visible(line.decode(errors="replace").rstrip("\r\n")))


class OpenProgram(LineScreen):
    """Dismissed with a program and its arguments, as a shell would take them."""

    def __init__(self) -> None:
        example = "train.py --steps 10"
        super().__init__("a program to audit", "run", placeholder=example)

    async def take(self, typed: str) -> str:
        try:
            parts = shlex.split(typed)
        except ValueError as error:
            raise SelectionError(f"'{typed}' is not a command: {error}.") from error
        if not parts:
            raise SelectionError("Name a program, such as train.py.")
        if parts[0] != "-m" and not Path(parts[0]).expanduser().is_file():
            raise SelectionError(f"There is no file {parts[0]}.")
        return typed


def open_audit(app: BaseApp) -> None:
    """Ask for a program, run it, and show how it times itself."""

    def show(typed: str | None) -> None:
        if typed:
            first, *arguments = shlex.split(typed)
            program = (str(Path(first).expanduser()), *arguments)
            app.push_screen(AuditScreen(program))

    app.push_screen(OpenProgram(), show)
