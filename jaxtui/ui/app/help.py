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

from jaxtui.registry import parts
from jaxtui.ui.app.export import ExportScreen
from jaxtui.ui.app.pane import WIDER, Pane
from jaxtui.ui.widgets.panel import Panel, hint
from jaxtui.ui.widgets.plot_view import PlotReader

Rows = list[tuple[str, str]]
"""A key or word, and what it means."""

EVERYWHERE = "On every tab"

PLACES: tuple[type[Pane] | type[Screen[Any]] | type[PlotReader], ...] = (
    *(
        kind
        for trade in ("screen", "hardware", "classroom", "recorded")
        for screen in parts(trade)
        for kind in vars(screen).values()
        if getattr(kind, "HELP", "") and kind.__module__ == screen.__name__
    ),
    PlotReader,
    ExportScreen,
)
"""Classes with keys of their own; ``HELP`` is the heading."""

GLOSSARY = {
    "id": "a device as JAX names it: platform and number",
    "process": "the process that the device belongs to (process_index)",
    "coords": "where the chip sits in the torus: x, y, z",
    "core": "which core of its chip the device is",
    "slice": "which slice of several the device belongs to",
    "memory": "used / total, in one unit",
    "op": "the computation; with size, dtype, device and mode it is a case",
    "size": "the op's size: n of n×n for matmul, the number of elements for selu",
    "dtype": "of the inputs, with the precision if it is not the default",
    "device": "where the case runs; NumPy runs on host",
    "mode": "numpy; eager: JAX op by op; jit: compiled by XLA",
    "when": "month, day and time of the measurement; the year if it is another",
    "host": "the machine that measured",
    "ready": "time per call until block_until_ready returns: the whole work",
    "interval": "95 % confidence interval of the median; of under 6 rounds, min–max",
    "dispatch": "time until the call returns: all that a naive stopwatch sees",
    "pipelined": "of calls in a burst that is awaited once: the throughput clock",
    "rate": "work per second: FLOP/s, or B/s for ops that only move bytes",
    "peak": "the rate as a share of the chip's published peak",
    "× NumPy": "how many times faster than NumPy",
    "error": "relative to the same computation in float64",
    "transfer": "inputs to the device, fresh arrays each time",
    "trace": "Python to jaxpr; once, like lower and compile",
    "lower": "jaxpr to StableHLO",
    "compile": "StableHLO to machine code, by XLA",
    "first run": "of the compiled program; the first call is all from trace to here",
    "fetch": "the result back to NumPy",
    "notes": "what to know before you trust this number",
    "▲ ✗": "a note that questions the number, or the failure: Enter has them in full",
    "~": "known to no better than a third; grey digits are less than known",
    "flops/byte": "arithmetic intensity: below the ridge, memory limits",
    "of roof": "the rate as a share of the roof at that intensity",
    "A, B": "the measurements marked first and second; the ratio is B's time ÷ A's",
    "not comparable": "another op or size: the times say nothing",
    "cannot tell": "two runs on one machine may differ this much by chance",
    "stopwatch": "the time that a clock around the loop reads",
    "work": "time until the device has finished the loop",
    "queue": "calls in flight: dispatched, not yet finished",
    "ahead": "how far the host is ahead of the device",
    "verdict": "pass, low, impossible, fail or skipped, with its reason",
    "simulated": "share the cores of this machine's CPU: their speed means nothing",
}
"""One word per thing, on every screen; the headings of tables are among them."""

_CASE = ("op", "size", "dtype", "device", "mode")

SAID = {
    "On the tab Devices": (
        *("id", "process", "coords", "core", "slice", "memory", "rate"),
        *("verdict", "simulated"),
    ),
    "On the tab Bench": (
        *(*_CASE, "ready", "interval", "dispatch", "pipelined", "rate", "peak"),
        *("× NumPy", "error", "transfer", "trace", "lower", "compile"),
        *("first run", "fetch", "notes", "▲ ✗", "~", "flops/byte", "of roof"),
    ),
    "On the tab Learn": ("ready", "dispatch", "interval", "compile", "verdict"),
    "On the tab History": (
        *("when", *_CASE, "ready", "interval", "rate", "host"),
        *("A, B", "not comparable", "cannot tell"),
    ),
    "In the timeline": ("stopwatch", "work", "queue", "ahead", "dispatch", "ready"),
}
"""The words that stand in a place."""


def sections(here: str, app: App[Any]) -> dict[str, Rows]:
    """Keys and what they do, by the place where they work.

    Args:
        here: the place that comes first: the ``HELP`` of a pane or screen.
        app: its keys work everywhere.
    """
    by_place: dict[str, dict[str, str]] = {here: {}, EVERYWHERE: {}}
    places = [(EVERYWHERE, app.BINDINGS), *((cls.HELP, cls.BINDINGS) for cls in PLACES)]
    for place, bindings in places:
        for binding in Binding.make_bindings(bindings):
            if binding.tooltip:
                keys = by_place.setdefault(place or EVERYWHERE, {})
                before = keys.get(binding.tooltip, "")
                name = app.get_key_display(binding)
                keys[binding.tooltip] = f"{before} {name}".strip()
    return {
        place: [(names, tooltip) for tooltip, names in keys.items()]
        for place, keys in by_place.items()
        if keys
    }


def words(here: str) -> dict[str, Rows]:
    """The words that stand here, then the others."""
    terms = SAID.get(here, ())
    return {
        "Words here": [(word, GLOSSARY[word]) for word in terms],
        "Words": [row for row in GLOSSARY.items() if row[0] not in terms],
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
        terms = list(words(self._here).items())
        wide = self.app.size.width >= WIDER
        columns = [keys, terms] if wide else [[keys[0], terms[0], *keys[1:], terms[1]]]
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
