"""The health check below the devices: verdict, tests, and the selected device."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from jaxtui.tui.widgets.paper import Paper, content
from jaxtui.view import check_screen as view
from jaxtui.view.check import NO_REPORT, Report

TALL = 32
"""From this many lines of the terminal on there is room for all that is known."""


class CheckPanel(Vertical):
    """The verdict stays in view while the tests scroll."""

    DEFAULT_CSS = """
    CheckPanel {
        height: 1fr;
        #check-verdict { padding: 0 1; }
        #check-tests { height: 1fr; padding: 0 0 0 1; scrollbar-size-vertical: 1; }
        #check-list { padding: 0 1 0 0; }
        #check-tests:focus { background: $surface; }
        #check-device { padding: 0 1; background: $panel; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._report = NO_REPORT
        self._device: str | None = None
        # Here and not in ``compose``: there is something to show before that.
        self._verdict = Paper(id="check-verdict")
        self._tests = Paper(id="check-list")
        self._selected = Paper(id="check-device")

    def compose(self) -> ComposeResult:
        """Three texts; the middle one scrolls."""
        yield self._verdict
        with VerticalScroll(id="check-tests"):
            yield self._tests
        yield self._selected

    def on_resize(self) -> None:
        """There may be room for more now."""
        self._write()

    def show(self, report: Report, device: str | None) -> None:
        """Draw what differs.

        Args:
            report: the check.
            device: name of the selected device.
        """
        self._report, self._device = report, device
        self._write()

    @property
    def tests(self) -> VerticalScroll:
        """The part that scrolls."""
        return self.query_one("#check-tests", VerticalScroll)

    def _write(self) -> None:
        report, device = self._report, self._device
        tall = self.app.size.height >= TALL
        depth = view.LONG if tall else view.BRIEF
        self._verdict.show(lambda width: content(view.summary(report, width)))
        self._tests.show(lambda width: content(view.overview(report, width, depth)))
        if device is not None:
            self._selected.show(
                lambda width: content([view.in_a_line(report, device, width)])
            )
