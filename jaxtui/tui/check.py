"""The health check below the devices: its verdict, and what did not pass."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from jaxtui.tui.widgets.panel import Panel
from jaxtui.tui.widgets.paper import Paper
from jaxtui.view import check_screen as view
from jaxtui.view.check import NO_REPORT, Report
from jaxtui.view.text import Line, Span


class CheckPanel(Panel):
    """A badge, and a line for each test that did not pass."""

    DEFAULT_CSS = """
    CheckPanel {
        height: 1fr;
        #check-tests { height: 1fr; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="check")
        self.report = NO_REPORT
        self._device: str | None = None
        # Here and not in ``compose``: there is something to show before that.
        self._verdict = Paper(id="check-verdict")
        self._tests = Paper(id="check-list")
        self._scroll = VerticalScroll(self._tests, id="check-tests", can_focus=False)

    def compose(self) -> ComposeResult:
        yield self._verdict
        yield self._scroll

    def show(self, report: Report, device: str | None) -> None:
        """Draw what differs.

        Args:
            report: the check.
            device: name of the selected device.
        """
        self.report, self._device = report, device
        keys = "s stop" if report.running else "Enter figures · c again · Esc hide"
        if not report.running:
            keys += " · C full · y copy" if report.devices else ""
        self.entitle(view.heading(report), keys)
        self._verdict.show(partial(view.summary, report))
        room = self._scroll.size.height
        self._tests.show(lambda width: _lines(report, device, width, room))

    def on_resize(self) -> None:
        """There may be room for more now."""
        self.call_after_refresh(self._again)

    def _again(self) -> None:
        self.show(self.report, self._device)

    def page(self, pages: int) -> None:
        rows = pages * self._scroll.size.height
        self._scroll.scroll_relative(y=rows, animate=False)


def _lines(report: Report, device: str | None, width: int, room: int) -> list[Line]:
    """What did not pass; then what a device has reached."""
    found = view.troubles(report, width, room - 1)
    reached = view.figures(report, device, width) if device else []
    if reached:
        title = (Span(f"figures of {device}", "muted"),)
        found += [*[()] * bool(found), title, *reached]
    return [(), *found] if found else []
