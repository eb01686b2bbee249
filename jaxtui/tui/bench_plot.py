"""The plot of the tab Bench, or why there is none, and beside it phases and spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.reactive import reactive

from jaxtui.model import Case, explanation
from jaxtui.model.own import brief_name
from jaxtui.plot import Color, Picture
from jaxtui.state import CaseState, Job
from jaxtui.tui.base import base
from jaxtui.tui.colors import drawing, series_colors
from jaxtui.tui.pane import WIDE_COLUMNS
from jaxtui.tui.state import EMPTY, State, view_of
from jaxtui.tui.widgets.panel import Panel
from jaxtui.tui.widgets.paper import Paper
from jaxtui.tui.widgets.plot_view import PlotReader, PlotView
from jaxtui.view import calls, curves, phases
from jaxtui.view.curves import case_at, clock_of, sizes
from jaxtui.view.roofline_screen import Roofline


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
        with Panel("", "b hide", id="phases-panel"):
            yield Paper(id="phases")
        with Panel(id="spread-panel"):
            yield PlotView(id="spread")

    def on_resize(self) -> None:
        self.set_class(self.size.height >= 20, "-tall")

    def draw(self, case: CaseState, colors: Sequence[Color]) -> None:
        measured = case.measurement
        title = f"phases of {short_label(case.case)} · log scale"
        self.query_one("#phases-panel", Panel).entitle(title)
        self.query_one("#phases", Paper).show(
            partial(
                phases.bars,
                case.phases,
                measured.dispatch if measured else None,
                measured.ready if measured else None,
                measured.pipelined_seconds if measured else None,
                memory=measured.memory if measured else None,
                zero_copy="transfer" in case.zero_copy,
            )
        )
        spread, title = calls.histogram(case, colors), "no calls yet"
        if spread is not None:
            title = spread.series[0].label + f", {spread.title}" * bool(spread.title)
            series = tuple(replace(one, label="") for one in spread.series)
            spread = replace(spread, left=None, title="", series=series)
        self.query_one("#spread-panel", Panel).entitle(title)
        self.query_one("#spread", PlotView).show(drawing(spread, self.app))


class Pictures(Horizontal):
    """The plot of the run, and beside it the phases of the selected case."""

    DEFAULT_CSS = """
    Pictures {
        height: 1fr;
        #plot-panel { width: 1fr; height: 100%; padding: 0; }
    }
    """

    phases: reactive[bool | None] = reactive(None, init=False)
    """Whether the phases are shown; ``None`` leaves it to the room there is."""

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
        """The picture with its title and legend, which the panel has on screen."""
        _, picture, _ = plot(state, series_colors(self.app.theme_variables))
        return picture and replace(picture, bare=False)

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
        colors = series_colors(self.app.theme_variables)
        title, picture, text = plot(state, colors)
        view = view_of(state)
        keys = "g view" + " · m metric · k clock" * (view == "sweep")
        self.query_one("#plot-panel", Panel).entitle(title, keys)
        subject = run.number, view, view != "sweep" and state.case_index
        self.query_one(PlotReader).show_picture(picture, text, subject)
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
        index = case_at(state.run, sizes(state.run)[event.place], state.case)
        if index is not None:
            base(self).session.update(picked=(state.run.number, index))


def short_label(case: Case) -> str:
    """A case in the lower border: ``matmul 1024 jit``."""
    size = f" {case.size}" if case.size else ""
    return f"{brief_name(case.op)}{size} {case.mode}"


def why_not_plot(action: str, state: State) -> str | None:
    """Why the picture cannot be changed like this now, or ``None``.

    Args:
        action: its name without arguments.
        state: what is on screen.
    """
    if action not in ("view", "metric", "clock", "phases"):
        return None
    if state.run is None:
        return "There is nothing to draw yet: run something first."
    if action in ("view", "phases"):
        return None
    if view_of(state) != "sweep":
        if len(sizes(state.run)) > 1:
            return f"The {action} is of the curves over size: g goes there."
        return f"The {action} is of curves over size, and there is only one size."
    if action == "clock" and clock_of(state.metric, state.clock) is None:
        return (
            "Rates have one clock, pipelined where it is known: time and × NumPy have "
            "others (m)."
        )
    return None


def plot(state: State, colors: Sequence[Color]) -> tuple[str, Picture | None, str]:
    """The view of the run that is wanted: its title, and a picture or a text.

    Args:
        state: what is on screen.
        colors: of the curves, in turn.
    """
    run, case = state.run, state.case
    if run is None or case is None:
        return "", None, ""
    label = short_label(case.case)
    match view_of(state):
        case "sweep":
            clock = state.clock
            drawn = curves.picture(
                run, state.metric, colors, clock=clock, selected=case
            )
            title = curves.title_of(state.metric, clock, run.cases)
            return title, _bare(drawn), _why_no_curves(state, run)
        case "histogram":
            return (
                f"how calls spread · {label}",
                calls.histogram(case, colors),
                _why_no_calls(case),
            )
        case "roofline":
            found = Roofline.of(state, state.case_index)
            assert found is not None
            title, drawn = f"roofline of {found.device}", found.picture(colors)
            return title, _bare(drawn), found.why_no_picture()
        case _:
            live = calls.live(case, colors)
            return f"seconds per call · {label}", _bare(live), _why_no_calls(case)


def _bare(picture: Picture | None) -> Picture | None:
    """With its curves named at their right ends; the panel has the title."""
    if picture is None:
        return None
    series = tuple(replace(one, named=True) for one in picture.series)
    return replace(picture, bare=True, series=series)


def _why_no_calls(case: CaseState) -> str:
    if case.failure is not None:
        return explanation(case.failure)
    doing = case.doing.replace("_", " ")
    return f"No call of {case.case.label} was timed yet{f': {doing}' * bool(doing)}."


def _why_no_curves(state: State, run: Job) -> str:
    """Why there is no curve of what is wanted."""
    timed = [case for case in run.cases if case.measurement and case.measurement.ready]
    if not timed:
        if run.outcome == "cancelled":
            return "It was stopped before any call was timed: r runs it again."
        if all(case.failure for case in run.cases):
            return "Every case failed: the table says why."
        return "No call was timed yet."
    match state.metric:
        case "numpy" if not any(case.case.mode == "numpy" for case in run.cases):
            return "There is no × NumPy without NumPy: run the mode numpy too."
        case "numpy":
            return "NumPy and JAX have not both been timed at one size yet."
        case "peak":
            return "No published peak of these devices: no share of it."
        case "flops" | "bytes":
            return (
                "No case has such a rate: it is not known, or the host hands calls "
                "over more slowly than they are computed (host-bound)."
            )
        case _:
            return f"No case was timed by the clock {clock_of('time', state.clock)}."
