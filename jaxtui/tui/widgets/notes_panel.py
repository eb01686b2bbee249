"""Plain sentences about the selected case."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from jaxtui.tui import roofline
from jaxtui.tui.state import EMPTY, State
from jaxtui.view import bench


class NotesPanel(VerticalScroll, can_focus=False):
    """What a number is worth, and why a case failed."""

    DEFAULT_CSS = """
    NotesPanel { height: 3; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[bench.Sentence, ...] = ()
        self._lines = 0

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(id="notes")

    def watch_state(self, state: State) -> None:
        """Write it anew when it differs."""
        found = _sentences(state)
        if found == self._shown:
            return
        self._shown = found
        text = Content("\n").join(
            Content.assemble(
                (f"{one.flag}: ", "bold $text-error" if one.bad else "bold"), one.text
            )
            for one in found
        )
        lines = len(text.wrap(max(1, self.content_size.width)))
        self.query_one("#notes", Static).update(text, layout=lines != self._lines)
        self._lines = lines


def _sentences(state: State) -> tuple[bench.Sentence, ...]:
    """About the selected case, what the plot shows first, and about the run."""
    case, run = state.case, state.run
    if case is None or run is None:
        return ()
    found = (*bench.sentences(case, run), *bench.run_sentences(run))
    if state.view != "roofline":
        return found
    return *roofline.sentences(state), *found
