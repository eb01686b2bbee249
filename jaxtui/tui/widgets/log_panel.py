"""What XLA, libtpu and Python have printed in the engine."""

from __future__ import annotations

from textual.reactive import reactive
from textual.widgets import RichLog

from jaxtui.state import MAXIMUM_LOG_LINES
from jaxtui.tui.state import EMPTY, State


class LogPanel(RichLog):
    """The engine's output, written only while it is in view."""

    DEFAULT_CSS = """
    LogPanel { height: 8; display: none; background: $surface; padding: 0 1; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    def __init__(self) -> None:
        super().__init__(max_lines=MAXIMUM_LOG_LINES, wrap=True)
        self._written: tuple[str, ...] = ()

    def watch_state(self) -> None:
        """Write what is new."""
        self.catch_up()

    def catch_up(self) -> None:
        """Write the lines that came while the panel was hidden."""
        log = self.state.log
        if not self.display or log is self._written:
            return
        if log[: len(self._written)] != self._written:
            # The oldest lines have gone: begin again.
            self.clear()
            self._written = ()
        for line in log[len(self._written) :] or ():
            self.write(line)
        if not log:
            self.clear()
            self.write("XLA has printed nothing so far.")
        self._written = log
