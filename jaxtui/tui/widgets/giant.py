"""Two giant numbers for an audience: what the stopwatch claims, and the truth."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui import format as fmt
from jaxtui.model import LoopMeasured
from jaxtui.tui import loop_words
from jaxtui.tui.bigtext import large

_WORDS = 6
"""Lines that are not digits: two names, two blanks, two sentences."""


class Giant(Widget):
    """The claimed figure, and the true one once it is revealed."""

    DEFAULT_CSS = """
    Giant { height: 1fr; padding: 0 1; }
    """

    measured: reactive[LoopMeasured | None] = reactive(None)
    """The loop; ``None`` until it has ended."""
    waiting: reactive[str] = reactive("")
    """Why there is no figure yet."""
    revealed: reactive[bool] = reactive(False)
    """Whether the truth is shown."""

    def render(self) -> Content:
        """Both figures, as large as they fit."""
        measured = self.measured
        claimed, true = "?", "?"
        if measured is not None:
            clock = measured.undisturbed
            claimed = fmt.seconds(clock.stopwatch_seconds)
            if self.revealed:
                true = fmt.seconds(clock.true_seconds)
        lines = [
            self._centred("The stopwatch says", "bold $plot-2"),
            *self._figure(claimed, "bold $plot-2"),
            Content(""),
            self._centred("The work really took", "bold $plot-1"),
            *self._figure(true, "bold $plot-1"),
            Content(""),
            *self._last(),
        ]
        return Content("\n").join(lines)

    def _figure(self, text: str, style: str) -> list[Content]:
        width, height = self.content_size
        lines = large(text, width, max(1, (height - _WORDS) // 2), "█")
        return [self._centred(line, style) for line in lines]

    def _centred(self, text: str, style: str = "bold") -> Content:
        # By hand: lines of one figure must not be centred each by its own ink.
        margin = max(0, self.content_size.width - len(text)) // 2
        return Content.assemble(" " * margin, (text, style))

    def _last(self) -> list[Content]:
        """What to predict, or what the figures mean."""
        measured = self.measured
        if measured is None:
            return [self._centred(line) for line in self.waiting.split("\n")]
        if not self.revealed:
            return [self._centred(loop_words.HIDDEN)]
        if not measured.impossible:
            return [self._centred(loop_words.rates(measured))]
        return [
            self._centred(loop_words.rates(measured)),
            self._centred(loop_words.IMPOSSIBLE, "bold $text-error"),
        ]
