"""The health check below the devices: its verdict, figures and remarks."""

from __future__ import annotations

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from jaxtui.tui.widgets.panel import Hint, Panel, hint
from jaxtui.tui.widgets.paper import Paper
from jaxtui.view import check as view
from jaxtui.view.report import lines
from jaxtui.view.text import fold


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
        self._verdict = Paper(id="check-verdict")
        self._rest = Paper(id="check-list")
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
        self._verdict.show(lambda width: fold(report.verdict, width))
        # The figures stand last: what is wrong is in sight.
        remarks = replace(report, verdict=(), tables=())
        figures = replace(report, verdict=(), tables=report.tables[-1:], remarks=())
        parts = (
            (remarks, figures) if judged.word not in view.FINE else (figures, remarks)
        )
        self._rest.show(
            lambda width: [
                line
                for part in parts
                if (drawn := [*lines(part, width)])
                for line in ((), *drawn)
            ]
        )

    def page(self, pages: int) -> None:
        rows = pages * self._scroll.size.height
        self._scroll.scroll_relative(y=rows, animate=False)
