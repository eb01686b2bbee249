"""The tab Devices: what there is, and the first minute."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.reactive import reactive

from jaxtui.model import Experiment
from jaxtui.tui.colors import drawing, series_colors
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.widgets.check_panel import CheckPanel
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.detail_pane import DetailPane
from jaxtui.tui.widgets.device_table import DeviceTable
from jaxtui.tui.widgets.plot_view import PlotView
from jaxtui.tui.widgets.readout_panel import OfferLine, ReadoutPanel
from jaxtui.view import calls
from jaxtui.view import check as view

# ``selection`` is imported where it is used, which is after the devices are known: the
# first frame comes sooner without it.


class DevicesPane(Vertical):
    """Table and chip map; below them what Enter does, and what it found."""

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""
    details: reactive[bool | None] = reactive(None)
    """Whether the detail pane is shown; ``None`` leaves it to the room there is."""

    class Moved(Message):
        """Another device was selected."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self) -> None:
        super().__init__()
        self.report: view.Report | None = None
        """The last health check with its verdicts."""
        self._panel: CheckPanel | None = None

    def compose(self) -> ComposeResult:
        """Top: table and map. Below: the offer. Then results beside details."""
        with Horizontal(id="hardware"):
            yield DeviceTable().data_bind(DevicesPane.state)
            yield ChipMap().data_bind(DevicesPane.state)
        yield OfferLine()
        with Horizontal(id="below"):
            with Vertical(id="first-minute"):
                yield ReadoutPanel().data_bind(DevicesPane.state)
                yield PlotView(id="first-plot")
            yield DetailPane().data_bind(DevicesPane.state)

    @property
    def offer(self) -> Experiment | None:
        """What Enter runs: the first case, on the selected device."""
        state, device = self.state, self.state.device
        if device is None or state.host is None or not state.ops:
            return None
        from jaxtui import selection

        ordered = (device, *(one for one in state.devices if one is not device))
        try:
            return selection.default_experiment(ordered, state.ops, state.host)
        except selection.SelectionError:
            return None

    def watch_state(self, old: State, state: State) -> None:
        """Update the offer, the plot and what is shown of them."""
        line = self.query_one(OfferLine)
        if _offered(old) != _offered(state):
            offer = self.offer
            line.offer = "" if offer is None else _words_of(offer)
        if _going(old) != _going(state):
            line.running = _words_of_what_runs(state)
        self.set_class(state.run is not None, "-ran")
        if old.check is not state.check or old.device != state.device:
            self._show_check(state)
        self.draw()

    def watch_details(self, details: bool | None) -> None:
        """Show or hide the detail pane where the size does not decide."""
        self.set_class(details is True, "-details")
        self.set_class(details is False, "-no-details")

    def draw(self) -> None:
        """Draw the samples of the selected case."""
        run, case = self.state.run, self.state.case
        if not self.size.area or run is None:
            return
        colors = series_colors(self.app.theme_variables)
        picture = None if case is None else calls.live(case, colors)
        self.query_one(PlotView).show(drawing(picture, self.app))

    def repaint_verdicts(self) -> None:
        """Draw the verdicts in the colours of another theme."""
        self.query_one(DeviceTable).repaint_verdicts()

    def _show_check(self, state: State) -> None:
        """Hand the health check to all that shows a part of it."""
        if state.check.exam is None:
            return
        check = state.check
        report = self.report = view.report(
            check.exam,
            last=self.report or view.NO_REPORT,
            stopping=check.stopping,
            elapsed_seconds=check.elapsed_seconds,
        )
        self.set_class(check.shown, "-checked")
        self.query_one(DeviceTable).check(report)
        self.query_one(DetailPane).report = report if check.shown else None
        shown = view.marks(report, state.devices) if check.shown else {}
        self.query_one(ChipMap).mark(shown)
        # The panel is made for the first check.
        if self._panel is None:
            self._panel = CheckPanel()
            self.query_one("#below").mount(self._panel, before=0)
        device = self.state.device
        self._panel.show(report, device.name if device else None)

    def toggle_details(self) -> None:
        """Show the detail pane, or hide it."""
        self.details = not self.query_one(DetailPane).display

    @on(DeviceTable.Paged)
    def _paged(self, event: DeviceTable.Paged) -> None:
        event.stop()
        if self._panel is not None:
            details = self.query_one(DetailPane)
            below = self._panel.tests if self._panel.display else details
            below.scroll_relative(y=event.pages * below.size.height, animate=False)

    @on(DeviceTable.Moved)
    @on(ChipMap.Moved)
    def _moved(self, event: DeviceTable.Moved | ChipMap.Moved) -> None:
        event.stop()
        self.post_message(self.Moved(event.name))


def _offered(state: State) -> tuple[object, ...]:
    """What the offer depends on."""
    return state.devices, state.device, state.host, state.ops


def _words_of(experiment: Experiment) -> str:
    from jaxtui import selection

    return selection.describe(experiment)


def _going(state: State) -> tuple[object, ...]:
    """What the words of the running experiment depend on."""
    run = state.run and state.run.number
    return state.running, state.purpose, run, state.check.going


def _words_of_what_runs(state: State) -> str:
    """What is being run, without the time, which the status line counts."""
    if state.check.going:
        return f"the health check, {state.check.level}"
    if not state.running:
        return ""
    if state.purpose != "bench":
        return "a loop" if state.purpose == "loop" else "a lesson"
    run = state.run
    if run is None or run.outcome is not None:
        return "what was asked for"
    experiment = Experiment(cases=tuple(case.case for case in run.cases))
    return _words_of(experiment).rpartition(", about")[0]
