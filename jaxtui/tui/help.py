"""The meaning of keys and words: those of the current place come first."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, ClassVar

from rich.table import Table
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from jaxtui.tui.audit import AuditScreen
from jaxtui.tui.bench import BenchPane
from jaxtui.tui.classroom import Classroom
from jaxtui.tui.devices import WIDER, DevicesPane
from jaxtui.tui.export import ExportScreen
from jaxtui.tui.history import HistoryPane
from jaxtui.tui.learn import LearnPane
from jaxtui.tui.links import LinksScreen
from jaxtui.tui.pane import Pane
from jaxtui.tui.profile import ProfileScreen
from jaxtui.tui.recorded import RecordedScreen
from jaxtui.tui.timeline import TimelineScreen
from jaxtui.tui.widgets.hardware import Hardware
from jaxtui.tui.widgets.panel import Panel, hint
from jaxtui.tui.widgets.plot_view import PlotReader
from jaxtui.view.words.screens import GLOSSARY

Rows = list[tuple[str, str]]
"""A key or word, and what it means."""

EVERYWHERE = "On every tab"

PLACES: tuple[
    type[Pane] | type[Screen[Any]] | type[PlotReader] | type[Hardware], ...
] = (
    DevicesPane,
    Hardware,
    LinksScreen,
    BenchPane,
    PlotReader,
    RecordedScreen,
    LearnPane,
    HistoryPane,
    TimelineScreen,
    ProfileScreen,
    Classroom,
    AuditScreen,
    ExportScreen,
)
"""Classes with keys of their own; ``HELP`` is the heading."""

_CASE = ("op", "size", "dtype", "device", "mode")

SAID = {
    DevicesPane.HELP: (
        *("id", "process", "coords", "core", "slice", "memory", "rate"),
        *("verdict", "simulated"),
    ),
    BenchPane.HELP: (
        *(*_CASE, "ready", "interval", "dispatch", "pipelined", "rate", "peak"),
        *("× NumPy", "error", "transfer", "trace", "lower", "compile"),
        *("first run", "fetch", "notes", "flops/byte", "of roof"),
    ),
    LearnPane.HELP: ("ready", "dispatch", "interval", "compile", "verdict"),
    HistoryPane.HELP: (
        *("when", *_CASE, "ready", "interval", "rate", "host"),
        *("A, B", "not comparable", "cannot tell"),
    ),
    TimelineScreen.HELP: ("stopwatch", "work", "queue", "ahead", "dispatch", "ready"),
}
"""The words that stand in a place."""


def sections(here: str, app: App[Any]) -> dict[str, Rows]:
    """Keys and what they do, by the place where they work.

    Args:
        here: the place that comes first: the ``HELP`` of a pane or screen.
        app: its keys work everywhere.
    """
    found: dict[str, dict[str, str]] = {here: {}, EVERYWHERE: {}}
    places = [(EVERYWHERE, app.BINDINGS), *((one.HELP, one.BINDINGS) for one in PLACES)]
    for place, bindings in places:
        for binding in Binding.make_bindings(bindings):
            if binding.tooltip:
                keys = found.setdefault(place or EVERYWHERE, {})
                before = keys.get(binding.tooltip, "")
                name = app.get_key_display(binding)
                keys[binding.tooltip] = f"{before} {name}".strip()
    return {
        place: [(names, tooltip) for tooltip, names in keys.items()]
        for place, keys in found.items()
        if keys
    }


def words(here: str) -> dict[str, Rows]:
    """The words that stand here, then the others."""
    known = SAID.get(here, ())
    return {
        "Words here": [(word, GLOSSARY[word]) for word in known],
        "Words": [row for row in GLOSSARY.items() if row[0] not in known],
    }


class HelpScreen(ModalScreen[None]):
    """Keys at the left, words at the right; in a narrow terminal in one column.

    Args:
        here: the place whose keys and words come first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "Close")
    ]

    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        #help {
            width: 118; max-width: 100%; height: 100%; background: $background;
        }
        VerticalScroll { width: 1fr; height: 100%; }
    }
    """

    def __init__(self, here: str) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        keys = list(sections(self._here, self.app).items())
        said = list(words(self._here).items())
        wide = self.app.size.width >= WIDER
        columns = [keys, said] if wide else [[keys[0], said[0], *keys[1:], said[1]]]
        with Horizontal(id="help"):
            for column in columns:
                with VerticalScroll():
                    for title, rows in filter(itemgetter(1), column):
                        with Panel(
                            title,
                            [hint(self, "dismiss")] if rows is keys[0][1] else (),
                        ):
                            yield Static(_table(rows))

    def on_mount(self) -> None:
        self.query(VerticalScroll).first().focus()


def _table(rows: Rows) -> Table:
    """Two columns; what is too long is wrapped under its own beginning."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", width=max(len(name) for name, _ in rows))
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*row)
    return table
