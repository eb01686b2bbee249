"""The health check below the devices: verdict, tests, and the selected device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from jaxtui.analysis.check import SEVERITY, VerdictWord
from jaxtui.model import Device
from jaxtui.tui.widgets.paper import Paper
from jaxtui.view import check as view
from jaxtui.view.check import NO_REPORT, Report
from jaxtui.view.chipmap import Mark
from jaxtui.view.text import Line

TALL = 32
"""From this many lines of the terminal on there is room for all that is known."""

COLORS: dict[VerdictWord, str] = {
    "pass": "check-pass",
    "low": "check-low",
    "impossible": "check-fail",
    "fail": "check-fail",
    "skipped": "check-none",
}
"""Variables of the theme."""

_STYLES = {
    "muted": "dim",
    "title": "bold",
    "badge": "bold reverse",
    **{
        word: f"{'' if word in view.FINE else 'bold '}${color}"
        for word, color in COLORS.items()
    },
    **{f"badge-{word}": f"bold ${color} reverse" for word, color in COLORS.items()},
}
"""How the roles of spans are drawn."""


def content(lines: Iterable[Line]) -> Content:
    """Lines of a check with the styles of their roles."""
    return Content("\n").join(
        Content.assemble(*((span.text, _STYLES.get(span.role, "")) for span in line))
        for line in lines
    )


def marks(report: Report, devices: Sequence[Device]) -> dict[str, Mark]:
    """What the chip map says of each device, in the order of its legend.

    Args:
        report: the check.
        devices: all that are drawn, those that are not tested among them.
    """
    found = {}
    words = {one.name: report.word_of(one.name) for one in devices}
    for word in (*SEVERITY, None):
        label = view.WORDS[word] if word else "untested"
        mark = Mark(view.MARKS[word], label, COLORS[word or "skipped"])
        found.update({name: mark for name in words if words[name] == word})
    return found


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
