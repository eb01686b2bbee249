"""The stages of a case in JAX and XLA: a summary, and the text of every stage."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Log, Static

from jaxtui.core.model import Inspected, Inspection
from jaxtui.features.bench.case_screen import CaseScreen
from jaxtui.features.program import report as program
from jaxtui.ui import words
from jaxtui.ui.app.modal import modal_keys
from jaxtui.ui.report import written
from jaxtui.ui.widgets.keys_line import KeysLine
from jaxtui.ui.widgets.panel import Panel

SECTIONS = ("Summary", "jaxpr", "StableHLO", "HLO")
"""The sections in the order of Tab."""

_FILES = ("summary.txt", "jaxpr.txt", "stablehlo.mlir", "optimised.hlo.txt")

_BESIDE = 12
"""Columns that stay in view on the left of what was searched for."""


class ProgramScreen(CaseScreen):
    """Shows one text at a time.

    Args:
        inspection: of which case.
    """

    WORK, PURPOSE = Inspection, "inspection"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back"),
        Binding("tab", "turn(1)", "Next text", priority=True),
        Binding("shift+tab", "turn(-1)", "Text before", show=False, priority=True),
        Binding("slash", "search", "Search", priority=True),
        Binding("n", "again", "Next", tooltip="Go to the next match."),
        Binding("y", "copy", "Copy"),
        *modal_keys("program", ()),
    ]

    DEFAULT_CSS = """
    ProgramScreen {
        #program-panel { height: 1fr; }
        Log {
            height: 1fr; background: $background; overflow: auto;
            scrollbar-size-horizontal: 1;
            &:focus { background-tint: transparent; }
        }
        Input { padding: 0 1; display: none; }
        #program-says { height: 1; padding: 0 1; color: $text-accent; }
    }
    """

    def __init__(self, inspection: Inspection) -> None:
        super().__init__(inspection)
        self._label = inspection.case.label
        self._texts: tuple[str, ...] = ("",) * len(SECTIONS)
        self._section = 0
        self._sought = ""
        self._found = -1

    def compose(self) -> ComposeResult:
        with Panel(id="program-panel"):
            yield Log(id="program-text", auto_scroll=False)
        yield Input(
            id="program-search", placeholder="Search, Enter finds", compact=True
        )
        yield Static(id="program-says", markup=False)
        yield KeysLine()

    def on_mount(self) -> None:
        self.query_one(Log).focus()
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    @property
    def _inspected(self) -> Inspected | None:
        result = self.job.result if self.job is not None else None
        return result if isinstance(result, Inspected) else None

    def draw(self) -> None:
        if (inspected := self._inspected) is not None:
            columns = min(100, max(40, self.size.width - 4))
            hlo = program.hlo(inspected.hlo)
            report = written(program.report(inspected), columns)
            summary = f"{report}\n\n{program.entry(hlo)}"
            self._texts = (summary, inspected.jaxpr, inspected.stablehlo, hlo)
        names = [
            (f" {name} ", "reverse" if number == self._section else "")
            for number, name in enumerate(SECTIONS)
        ]
        panel = self.query_one(Panel)
        panel.set_title("", [self._label])
        panel.border_title = Content.assemble(*names)
        text = self.query_one(Log)
        text.clear()
        # In one piece: ``write_lines`` leaves empty lines out.
        text.write(self._texts[self._section].rstrip() or self.waiting)
        text.scroll_to(0, 0, animate=False)
        self._found = -1
        self._say("")

    @property
    def waiting(self) -> str:
        if self._inspected is not None:
            return "This version of jax does not show it."
        if self.job is None or self.job.outcome is None:
            return f"Compiling {self._label} …"
        return super().waiting

    def _say(self, text: str) -> None:
        self.query_one("#program-says", Static).update(text)

    def action_back(self) -> None:
        if self.query_one(Input).display:
            self._close_search()
            return
        self.leave(self.PURPOSE)

    def action_turn(self, by: int) -> None:
        self._section = (self._section + by) % len(SECTIONS)
        self.draw()

    def action_copy(self) -> None:
        if self._inspected is None:
            self._say("No text yet.")
            return
        whole = self._texts[self._section]
        if SECTIONS[self._section] == "HLO":
            whole = self._inspected.hlo
        self.base.copy_to_file(whole, _FILES[self._section])
        self._say(words.to_text(self.base.session.state.message))

    def action_search(self) -> None:
        entry = self.query_one(Input)
        entry.display = True
        entry.focus()

    def action_again(self) -> None:
        if not self._sought:
            self._say("Search with / first.")
            return
        sought = self._sought.lower()
        lines = self._texts[self._section].lower().splitlines()
        matches = [number for number, line in enumerate(lines) if sought in line]
        if not matches:
            self._say(f'"{self._sought}" is not in this text.')
            return
        following = [number for number in matches if number > self._found]
        self._found = following[0] if following else matches[0]
        column = lines[self._found].index(sought)
        text = self.query_one(Log)
        visible = column + len(sought) < text.scrollable_content_region.width
        text.scroll_to(0 if visible else column - _BESIDE, self._found, animate=False)
        place = f"{matches.index(self._found) + 1} of {len(matches)}"
        self._say(
            f'"{self._sought}" in line {self._found + 1} of {len(lines)}: {place}'
            f"{'' if len(matches) == 1 else ', n finds the next'}"
        )

    @on(Input.Submitted)
    def _searched(self, event: Input.Submitted) -> None:
        event.stop()
        self._sought = event.value
        self._found = -1
        self._close_search()
        if self._sought:
            self.action_again()

    def _close_search(self) -> None:
        self.query_one(Input).display = False
        self.query_one(Log).focus()
