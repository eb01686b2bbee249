"""The tab Bench: form, live plot, phases, results, notes and log."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import RichLog, Static

from jaxtui.model.own import is_own
from jaxtui.state import MAXIMUM_LOG_LINES
from jaxtui.tui import bench_plot, roofline
from jaxtui.tui.colors import series_colors
from jaxtui.tui.state import EMPTY, State, view_of
from jaxtui.tui.widgets.case_form import CaseForm
from jaxtui.tui.widgets.phase_panel import PhasePanel
from jaxtui.tui.widgets.plot_reader import PlotReader
from jaxtui.tui.widgets.results_table import ResultsTable
from jaxtui.view import bench
from jaxtui.view.curves import case_at, sizes


class LogPanel(RichLog):
    """The engine's output, written only while it is in view."""

    DEFAULT_CSS = """
    LogPanel { height: 8; display: none; background: $surface; padding: 0 1; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    def __init__(self) -> None:
        super().__init__(max_lines=MAXIMUM_LOG_LINES, wrap=True)
        self._written: tuple[str, ...] = ()

    def watch_state(self) -> None:
        """Write what is new."""
        self.catch_up()

    def catch_up(self) -> None:
        """Write the lines that came while the panel was hidden."""
        log = self.state.log
        if not self.display or log is self._written:
            return
        if log[: len(self._written)] != self._written:
            # The oldest lines have gone: begin again.
            self.clear()
            self._written = ()
        for line in log[len(self._written) :] or ():
            self.write(line)
        if not log:
            self.clear()
            self.write("XLA has printed nothing so far.")
        self._written = log


class NotesPanel(VerticalScroll, can_focus=False):
    """What a number is worth, and why a case failed."""

    DEFAULT_CSS = """
    NotesPanel { height: 3; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[bench.Sentence, ...] = ()
        self._lines = 0

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(id="notes")

    def watch_state(self, state: State) -> None:
        """Write it anew when it differs."""
        found = _sentences(state)
        if found == self._shown:
            return
        self._shown = found
        text = Content("\n").join(
            Content.assemble(
                (f"{one.flag}: ", "bold $text-error" if one.bad else "bold"), one.text
            )
            for one in found
        )
        lines = len(text.wrap(max(1, self.content_size.width)))
        self.query_one("#notes", Static).update(text, layout=lines != self._lines)
        self._lines = lines


def _sentences(state: State) -> tuple[bench.Sentence, ...]:
    """About the selected case, what the plot shows first, and about the run."""
    case, run = state.case, state.run
    if case is None or run is None:
        return ()
    found = (*bench.sentences(case, run), *bench.run_sentences(run))
    if state.view != "roofline":
        return found
    return *roofline.sentences(state), *found


BEFORE = """\
[b]r[/b] or [b]F5[/b] runs what the form says; all of its cases take turns.

Here you will see each call as it happens: when it returned ([b]dispatch[/b]) and when \
its result was there ([b]ready[/b]). Several sizes make curves.

[b]f[/b] opens a Python file, to time functions of your own.

Below comes one row per case, and the sentences to read before quoting its number.

[b]Tab[/b] goes through the form, [b]Enter[/b] opens a choice, [b]?[/b] shows all keys.
"""
"""What stands in the tab until something was run."""


class BenchPane(Vertical):
    """Form on top; the plot beside the phases; results and notes below."""

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""
    phases: reactive[bool | None] = reactive(None)
    """Whether the phases are shown; ``None`` leaves it to the room there is."""

    class Picked(Message):
        """Another case was selected."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def compose(self) -> ComposeResult:
        """From what is asked to what is known."""
        yield CaseForm().data_bind(BenchPane.state)
        yield Static(BEFORE, id="before")
        with Horizontal(id="pictures"):
            yield PlotReader(self._calm, id="bench-plot")
            yield PhasePanel().data_bind(BenchPane.state)
        yield ResultsTable().data_bind(BenchPane.state)
        yield NotesPanel().data_bind(BenchPane.state)
        yield LogPanel().data_bind(BenchPane.state)

    def watch_state(self) -> None:
        """Draw what changed."""
        self.set_class(_is_told(self.state), "-told")
        self.set_class(self.state.run is not None, "-ran")
        self.set_class(self.state.view == "roofline", "-roofline")
        self.draw()

    def watch_phases(self, phases: bool | None) -> None:
        """Show or hide the phases where the size does not decide."""
        self.set_class(phases is True, "-phases")
        self.set_class(phases is False, "-no-phases")

    def draw(self) -> None:
        """Draw the view of the run that is asked for."""
        state = self.state
        if not self.size.area or state.run is None:
            return
        found = bench_plot.plot(state, series_colors(self.app.theme_variables))
        view = view_of(state)
        subject = state.run.number, view, view != "sweep" and state.case_index
        self.query_one(PlotReader).show_picture(found.picture, found.text, subject)

    def _calm(self) -> bool:
        """Whether the terminal has room for a redraw that only the mouse asks for."""
        pacer = getattr(self.app, "pacer", None)
        return pacer is None or bool(pacer.ready())

    def set_wide(self, wide: bool) -> None:
        """Show all columns of the results, or those that matter most."""
        self.query_one(ResultsTable).set_wide(wide)

    def toggle_phases(self) -> None:
        """Show the phases, or hide them."""
        self.phases = not self.query_one(PhasePanel).display

    def toggle_log(self) -> None:
        """Show what XLA printed, or hide it."""
        log = self.query_one(LogPanel)
        log.display = not log.display
        log.catch_up()

    @on(PlotReader.Picked)
    def _read(self, event: PlotReader.Picked) -> None:
        event.stop()
        run = self.state.run
        if run is None or view_of(self.state) != "sweep":
            return
        index = case_at(run, sizes(run)[event.place], self.state.case)
        if index is not None:
            self.post_message(self.Picked(index))

    @on(PlotReader.Left)
    def _leave_plot(self, event: PlotReader.Left) -> None:
        event.stop()
        self.query_one(ResultsTable).focus()

    @on(ResultsTable.Picked)
    def _picked(self, event: ResultsTable.Picked) -> None:
        event.stop()
        self.post_message(self.Picked(event.index))


def _is_told(state: State) -> bool:
    """Whether words take the place of the plot: a case of one's own has failed."""
    case = state.case
    if case is None or case.failure is None or not is_own(case.case.op):
        return False
    return bool(case.failure.detail) and not case.ready.points
