"""The first line of the screen, and the line above the footer."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui.tui import status
from jaxtui.tui.state import EMPTY, State


class StatusLine(Widget):
    """Machine at the left; progress and what is held at the right.

    Args:
        clock: monotonic seconds.
    """

    DEFAULT_CSS = """
    StatusLine {
        height: 1; background: $panel; color: $foreground; padding: 0 1;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._checking_since = self._since
        self._shown = ""

    def on_mount(self) -> None:
        self.set_interval(1.0, self._show)

    def watch_state(self, old: State, new: State) -> None:
        begins = new.job is not None and (
            old.job is None or old.job.number != new.job.number
        )
        if new.check.going and not old.check.going:
            self._checking_since = self._clock()
        if begins or (new.engine == "starting" and old.engine != "starting"):
            self._since = self._clock()
        self._show()

    def render(self) -> Content:
        state, now = self.state, self._clock()
        waited = now - self._since
        elapsed = now - self._checking_since if state.check.going else waited
        right = [status.engine(state, waited)]
        if status.simulated(state) and right != ["SIMULATED"]:
            right.insert(0, "SIMULATED")
        running = status.progress(state, elapsed)
        if running:
            right.insert(0, running)
        busy = status.busy(state)
        if busy:
            right.insert(0, "BUSY MACHINE")
        width = self.size.width
        for short in (False, True):
            settings = status.settings(state, short=short)
            end = "  ".join(filter(None, [settings, *right]))
            left = status.machine(state, width - len(end) - 2)
            if left != "jaxtui":
                break
        room = max(2, width - len(left) - len(end))
        bad = settings or busy or state.engine == "failed" or status.simulated(state)
        style = "bold $text-warning" if bad else "bold $text-accent"
        return Content.assemble((left[:6], "bold"), left[6:], " " * room, (end, style))

    def _show(self) -> None:
        text = self.render().plain
        if text != self._shown:
            self._shown = text
            self.refresh()


class MessageLine(Widget):
    """One sentence: what happened, what is wrong, or what is being done."""

    DEFAULT_CSS = """
    MessageLine {
        height: auto; min-height: 1; max-height: 2; padding: 0 1; color: $text-accent;
    }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""
    line: reactive[str] = reactive("", repaint=False)
    """The sentence."""

    def watch_state(self, state: State) -> None:
        self.line = status.message(state)

    def watch_line(self, old: str, new: str) -> None:
        """Lay out the screen anew only when the sentence takes another line."""
        width = max(1, self.content_size.width)
        before, after = (len(Content(line).wrap(width)) for line in (old, new))
        self.refresh(layout=before != after)

    def render(self) -> Content:
        """The sentence as it is: engine texts may contain brackets."""
        return Content(self.line)
