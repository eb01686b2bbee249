"""The health check below the devices: its verdict, figures and remarks."""

from __future__ import annotations

from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from jaxtui.tui.widgets.panel import Hint, Panel, hint
from jaxtui.ui.sheet import Sheet
from jaxtui.view import check as view


class CheckPanel(Panel):
    """The report of a check; its grid is the table of devices above it."""

    DEFAULT_CSS = """
    CheckPanel {
        height: 1fr;
        #check-rest { height: 1fr; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="check")
        self.judged = view.NO_JUDGEMENT
        # Here and not in ``compose``: there is something to show before that.
        self._verdict = Sheet(id="check-verdict")
        self._rest = Sheet(id="check-list")
        self._scroll = VerticalScroll(self._rest, id="check-rest", can_focus=False)

    def compose(self) -> ComposeResult:
        yield self._verdict
        yield self._scroll

    def show(self, judged: view.Judgement) -> None:
        """Draw what differs."""
        self.judged = judged
        report = view.build(judged)
        hints = [hint(self, "stop")]
        if not judged.running:
            hints = [
                Hint("Enter", "figures", "enter"),
                hint(self, "check('quick')", "again"),
                hint(self, "back", "hide"),
            ]
            if judged.devices:
                hints += [hint(self, "check('full')", "full"), hint(self, "copy")]
        self.set_title(report.title, hints)
        self._verdict.content = report.headline
        # The figures stand last: what is wrong is in sight.
        notes = replace(report, verdict="", tables=())
        figures = replace(report, verdict="", tables=report.tables[-1:], notes=())
        parts = (figures, notes) if judged.word in view.FINE else (notes, figures)
        self._rest.show(lambda _: [part for known in parts for part in ("", known)])

    def page(self, pages: int) -> None:
        rows = pages * self._scroll.size.height
        self._scroll.scroll_relative(y=rows, animate=False)
