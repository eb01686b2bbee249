"""The clocks of the selected case as bars."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui.state import CaseState
from jaxtui.tui import phasebars
from jaxtui.tui.state import EMPTY, State
from jaxtui.view.text import Line

_STYLES = {
    "label": "$foreground 70%",
    "value": "bold",
    "muted": "$foreground 50%",
    "bar-ready": "$plot-1",
    "bar-dispatch": "$plot-2",
    "bar-pipelined": "$plot-1 60%",
    "bar-reused": "$plot-1 60%",
    "bar-fresh": "$plot-1 60%",
}
_COLD = "$plot-3"


class PhasePanel(Widget):
    """What the case has cost so far, clock by clock, and what is being done now."""

    DEFAULT_CSS = """
    PhasePanel { height: 100%; padding: 0 1; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: list[tuple[str, Line]] = []

    def watch_state(self, state: State) -> None:
        """Draw anew when a figure, as it is written, differs."""
        if self._lines(state) != self._shown:
            self.refresh()

    def render(self) -> Content:
        """The case, its bars, and the current phase."""
        self._shown = self._lines(self.state)
        return Content("\n").join(
            Content.styled(text, "bold")
            if not line
            else Content.assemble(
                *((span.text, _STYLES.get(span.role, _COLD)) for span in line)
            )
            for text, line in self._shown
        )

    def _lines(self, state: State) -> list[tuple[str, Line]]:
        case = state.case
        if case is None or not self.size.width:
            return []
        doing = (
            f"{case.doing.replace('_', ' ')}…"
            if case.status == "running" and case.doing
            else ""
        )
        lines: list[tuple[str, Line]] = [(_title(case, self.size.width), ())]
        lines += [("", line) for line in self._bars(case)]
        return [*lines, (doing, ())]

    def _bars(self, case: CaseState) -> list[Line]:
        measured = case.measurement
        return phasebars.bars(
            case.phases,
            measured.dispatch if measured else None,
            measured.ready if measured else None,
            measured.pipelined_seconds if measured else None,
            self.size.width,
            memory=measured.memory if measured else None,
            zero_copy="transfer" in case.zero_copy,
        )


def _title(case: CaseState, width: int) -> str:
    label = case.case.label
    return label if cell_len(label) <= width else label[: width - 1] + "…"
