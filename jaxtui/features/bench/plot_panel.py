"""The plot of the tab Bench, or why there is none, and beside it phases and spread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.reactive import reactive

from jaxtui.core.state import CaseState
from jaxtui.features.bench import calls, phases
from jaxtui.features.bench.choices import curves_of, next_picture, view_of
from jaxtui.features.bench.curves import case_at, sizes
from jaxtui.features.bench.views import plot, short_label
from jaxtui.ui.app.base import base
from jaxtui.ui.app.colors import series_colors
from jaxtui.ui.app.pane import WIDE_COLUMNS
from jaxtui.ui.app.state import EMPTY, State
from jaxtui.ui.plot import COLORS, Color, Picture
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.panel import Panel, hint
from jaxtui.ui.widgets.plot_view import PlotReader, PlotView

NAMES = {
    "live": "calls",
    "histogram": "spread",
    "roofline": "roofs",
    "time": "time",
    "flops": "FLOP/s",
    "peak": "% of peak",
    "numpy": "× NumPy",
    "busbw": "busbw",
}
"""The names of the views and, where curves over size are shown, of their metrics."""


def _next(state: State) -> str:
    """Return the name of the next picture."""
    view, metric = next_picture(state)
    return NAMES[metric if view == "sweep" else view]


class Side(Vertical):
    """The phases of the selected case over how its calls spread."""

    DEFAULT_CSS = """
    Side {
        width: 48; display: none;
        #spread-panel { height: 1fr; display: none; padding: 0; }
        &.-tall #spread-panel { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="side")

    def compose(self) -> ComposeResult:
        with Panel("", [hint(self, "details", "log")], id="phases-panel"):
            yield Sheet(id="phases")
        with Panel(id="spread-panel"):
            yield PlotView(id="spread")

    def on_resize(self) -> None:
        self.set_class(self.size.height >= 20, "-tall")

    def draw(self, case: CaseState, colors: Sequence[Color]) -> None:
        measured = case.measurement
        title = f"phases of {short_label(case.case)} · log scale"
        self.query_one("#phases-panel", Panel).set_title(title)
        self.query_one("#phases", Sheet).show(
            partial(
                phases.bars,
                case.phases,
                measured.dispatch if measured else None,
                measured.ready if measured else None,
                measured.pipelined_seconds if measured else None,
                zero_copy="transfer" in case.zero_copy,
            )
        )
        spread = calls.histogram(case, colors)
        title = spread.title if spread else "no calls yet"
        self.query_one("#spread-panel", Panel).set_title(title)
        drawn = replace(spread, title="").rows if spread else None
        self.query_one("#spread", PlotView).show(drawn)


class Pictures(Horizontal):
    """The plot of the run, and beside it the phases of the selected case."""

    DEFAULT_CSS = """
    Pictures {
        height: 1fr;
        #plot-panel { width: 1fr; height: 100%; padding: 0; }
    }
    """

    phases: reactive[bool | None] = reactive(None, init=False)
    """True or false as the phases are shown; ``None`` leaves it to the room
    there is."""

    def __init__(self) -> None:
        super().__init__()
        self._state = EMPTY
        self._wide = False

    def compose(self) -> ComposeResult:
        with Panel(id="plot-panel"):
            yield PlotReader(id="bench-plot")
        yield Side()

    @property
    def phases_shown(self) -> bool:
        return self._wide if self.phases is None else self.phases

    def on_paper(self, state: State) -> Picture | None:
        """The picture as a file shows it: with its title, on any background."""
        return plot(state, state.case_index, view_of(state), COLORS, state.metric)[1]

    def make_room(self, room: Size) -> None:
        """Show what there is room for in a tab of this size."""
        self._wide = room.width >= WIDE_COLUMNS
        self.watch_phases()

    def watch_phases(self) -> None:
        self.query_one(Side).display = self.phases_shown
        # What it showed before it was hidden may be another case's.
        self._draw_side()
        self.call_after_refresh(self.show, self._state)

    def show(self, state: State) -> None:
        self._state, run, case = state, state.run, state.case
        if run is None or case is None:
            return
        colors, view = series_colors(self.app.theme_variables), view_of(state)
        title, picture, text = plot(state, state.case_index, view, colors, state.metric)
        self.query_one("#plot-panel", Panel).set_title(
            title, [hint(self, "view", _next(state))]
        )
        subject = run.origin, view, view != "sweep" and state.case_index
        # The panel has the title.
        bare = picture and replace(picture, title="")
        self.query_one(PlotReader).show_picture(bare, text, subject)
        self._draw_side()

    def _draw_side(self) -> None:
        if self.phases_shown and self._state.case is not None:
            colors = series_colors(self.app.theme_variables)
            self.query_one(Side).draw(self._state.case, colors)

    @on(PlotReader.Picked)
    def _select_size(self, event: PlotReader.Picked) -> None:
        """Select the case of the size that is read off."""
        event.stop()
        state = self._state
        if state.run is None or view_of(state) != "sweep":
            return
        size = sizes(curves_of(state))[event.place]
        index = case_at(state.run, size, state.case)
        if index is not None:
            base(self).session.update(picked=(state.run.origin, index))
