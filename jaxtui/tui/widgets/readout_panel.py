"""The line that says what Enter does, and the four lines that matter."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui.state import Job
from jaxtui.tui.state import EMPTY, State
from jaxtui.view import bench

_LABEL = 16
_TIME = 10


class OfferLine(Widget):
    """What Enter will do, always in view."""

    DEFAULT_CSS = """
    OfferLine {
        height: 1; padding: 0 1; background: $panel; color: $foreground;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    offer: reactive[str] = reactive("")
    """The experiment in words; empty while there is none."""
    running: reactive[str] = reactive("")
    """The running experiment, in words; empty while there is none."""

    def render(self) -> Content:
        """The offer, or why there is none."""
        if self.running:
            return self._ended("RUNNING", self.running, "s stop")
        if not self.offer:
            return Content("ENTER will time a first case as soon as JAX is ready")
        return self._ended("ENTER:", self.offer, "e edit")

    def _ended(self, head: str, text: str, end: str) -> Content:
        """The text with a key at its right end, if there is room for both."""
        room = self.content_size.width - len(head) - len(text) - len(end) - 1
        end = " " * room + end if room >= 2 else ""
        return Content.assemble((head, "bold"), " ", text, end)


class ReadoutPanel(Widget):
    """The four lines of a run; impossible figures stand out."""

    DEFAULT_CSS = """
    ReadoutPanel { height: auto; padding: 0 1; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""
    lines: reactive[tuple[bench.Line, ...]] = reactive((), repaint=False)
    """What is shown."""

    def watch_state(self, state: State) -> None:
        """Read the lines out of the run."""
        run: Job | None = state.run
        self.lines = () if run is None else bench.lines(run)

    def watch_lines(
        self, old: tuple[bench.Line, ...], new: tuple[bench.Line, ...]
    ) -> None:
        """Lay out the screen anew only when the lines take more or less room."""
        width = self.content_size.width
        if not width:  # It is on the tab that is not in view, which is laid out later.
            self.refresh(layout=len(old) != len(new))
            return
        before, after = (len(_text(lines).wrap(width)) for lines in (old, new))
        self.refresh(layout=before != after)

    def render(self) -> Content:
        """A line each."""
        return _text(self.lines)


def _text(lines: tuple[bench.Line, ...]) -> Content:
    return Content("\n").join(_line(line) for line in lines)


def _line(line: bench.Line) -> Content:
    return Content.assemble(
        line.label.ljust(_LABEL),
        (line.time.rjust(_TIME), "bold"),
        "  ",
        (line.rest, "bold $text-error" if line.bad else ""),
    )
