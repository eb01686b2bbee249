"""The tab Bench: the form, the plot beside phases, and the results."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import DataTable, Static

from jaxtui import selection
from jaxtui.model import Case, Experiment
from jaxtui.model.own import brief_name, is_own
from jaxtui.plot import Color
from jaxtui.state import RUNNING, CaseState, Job
from jaxtui.tui import export, form, roofline
from jaxtui.tui.bench_plot import plot, short_label, why_not_plot
from jaxtui.tui.colors import drawing, series_colors
from jaxtui.tui.dialogs import NotesScreen, Question, show_code
from jaxtui.tui.form import CaseForm, OpChoice, Values, why_no_sweep
from jaxtui.tui.open_file import OpenFile
from jaxtui.tui.pane import Pane
from jaxtui.tui.program import open_program
from jaxtui.tui.state import Picked, State, next_view, view_of
from jaxtui.tui.timeline import open_timeline
from jaxtui.tui.widgets.panel import Panel
from jaxtui.tui.widgets.plot_view import PlotReader, PlotView
from jaxtui.tui.widgets.results_table import LogPanel, ResultsTable
from jaxtui.view import bench, calls, phases
from jaxtui.view.curves import METRICS, case_at, next_clock, sizes

SWEEP_STEPS = 5
"""Sizes in the sweep around a case: each twice the one before."""

PAUSE_SECONDS = 0.3
"""How long typing must have paused before the engine is asked about it."""

MOST_FORESEEN = 1000
"""Cases: the plan of many more is megabytes, and what is typed next needs another."""

NO_RESULT = "There is no result yet."

BEFORE = """\
[b]once per case[/b]
  transfer · trace · lower · compile · first call · fetch

[b]many times, all cases in turns[/b]
  [$lane-host]dispatch  ▍[/]                the call has returned
  [$lane-device]ready     ████████████[/]     its result is there
  [$lane-device 60%]pipelined ██████████▌[/]      per call of a queue
  [$numpy]NumPy     ████████████████████████████[/]

[b]r[/b] run   [b]Tab[/b] through the form   [b]f[/b] functions of a file   \
[b]?[/b] all keys
"""
"""What stands in the tab until something was run: what will be timed."""


class Side(Vertical):
    """The phases of the selected case over how its calls spread."""

    DEFAULT_CSS = """
    Side {
        width: 48; display: none;
        #spread-panel { height: 1fr; min-height: 8; display: none; padding: 0; }
        &.-tall #spread-panel { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="side")
        self._shown: object = None

    def compose(self) -> ComposeResult:
        """Bars over bars."""
        with Panel("phases · log scale", "b hide", id="phases-panel"):
            yield Static(id="phases", markup=False)
        with Panel(id="spread-panel"):
            yield PlotView(id="spread")

    def draw(self, case: CaseState, colors: Sequence[Color]) -> None:
        """Draw what differs from what is shown."""
        room = self.query_one("#phases", Static)
        measured = case.measurement
        found = phases.bars(
            case.phases,
            measured.dispatch if measured else None,
            measured.ready if measured else None,
            measured.pipelined_seconds if measured else None,
            room.size.width,
            memory=measured.memory if measured else None,
            zero_copy="transfer" in case.zero_copy,
        )
        if (case.case, found) != self._shown:
            self._shown = case.case, found
            lines = [
                Content.assemble(
                    *((span.text, _STYLES.get(span.role, "$plot-5")) for span in line)
                )
                for line in found
            ]
            room.update(Content("\n").join(lines))
        spread = calls.histogram(case, colors)
        if spread is not None:
            panel = self.query_one("#spread-panel", Panel)
            title = spread.series[0].label + f", {spread.title}" * bool(spread.title)
            if panel.border_title != Content(title).markup:
                panel.entitle(title)
            series = tuple(replace(one, label="") for one in spread.series)
            spread = replace(spread, left=None, title="", series=series)
        self.query_one("#spread", PlotView).show(drawing(spread, self.app))


_STYLES = {
    "label": "$foreground 70%",
    "value": "bold",
    "muted": "$foreground 50%",
    "bar-ready": "$lane-device",
    "bar-dispatch": "$lane-host",
    "bar-pipelined": "$lane-device 60%",
    "bar-reused": "$lane-device 60%",
    "bar-fresh": "$lane-device 60%",
}
"""Of the clocks; the others are phases."""


_KEYS = (
    ("r,f5", "run", "Run", "Run what the form says.", True),
    ("e", "edit", "Edit", "Open the form.", True),
    (
        "w",
        "sweep",
        "Sizes",
        "Time the edited or selected case over many sizes.",
        True,
    ),
    (
        "f",
        "open_file",
        "File",
        "Choose functions of a Python file, and time them.",
        False,
    ),
    (
        "a",
        "timeline",
        "Calls",
        "Show the calls of the edited or selected case, one by one.",
        True,
    ),
    (
        "h",
        "program",
        "HLO",
        "Show jaxpr, StableHLO and HLO of the edited or selected case.",
        True,
    ),
    (
        "v",
        "code",
        "Code",
        "Show plain JAX code of the edited or selected case.",
        True,
    ),
    (
        "z",
        "roofs",
        "Roofs",
        "Measure how fast the device is at best, and how near cases come.",
        False,
    ),
    (
        "g",
        "view",
        "View",
        "Draw the calls, the curves over size, how calls spread, or the roofs.",
        False,
    ),
    (
        "m",
        "metric",
        "Metric",
        "Draw time, FLOP/s, bytes/s, % of peak or × NumPy.",
        False,
    ),
    (
        "k",
        "clock",
        "Clock",
        "Draw the curves by another clock: ready, dispatch or pipelined.",
        False,
    ),
    ("b", "phases", "Phases", "Show or hide the phases of the case.", False),
    ("l", "log", "Log", "Show or hide what XLA has printed.", False),
    ("y", "copy", "Copy", "Copy the results, and write them to a file.", False),
    (
        "u",
        "export",
        "Export",
        "Write the run to a file: JSON, CSV, Markdown, SVG, text or a script.",
        False,
    ),
)
"""Keys, action, label, sentence, and whether the footer shows it."""


class BenchPane(Pane):
    """Form on top; the plot beside the phases; results and notes below."""

    HELP = "On the tab Bench"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys, action, label, tooltip=tooltip, id=f"bench-{action}", show=shown)
        for keys, action, label, tooltip, shown in _KEYS
    ]

    DEFAULT_CSS = """
    BenchPane {
        height: 1fr;
        #before { height: 1fr; padding: 1 2; color: $foreground 70%; }
        #pictures { height: 1fr; min-height: 8; }
        #plot-panel { width: 1fr; height: 100%; padding: 0; }
        #results-panel { max-height: 50%; }
        ResultsTable { max-height: 6; }
        #notes-scroll { height: 2; scrollbar-size-vertical: 1; }
        #pictures, #results-panel { display: none; }

        &.-ran #before { display: none; }
        &.-ran #pictures, &.-ran #results-panel { display: block; }
        &.-tall {
            ResultsTable { max-height: 10; }
            #notes-scroll { height: 3; }
        }
        &.-low {
            #pictures { min-height: 5; }
            ResultsTable { max-height: 3; }
            #notes-scroll { display: none; }
        }
        /* While the form is open beside results, on a small screen. */
        &.-editing {
            ResultsTable { max-height: 3; }
            #notes-scroll { display: none; }
        }
        &.-tall.-editing {
            ResultsTable { max-height: 10; }
            #notes-scroll { display: block; }
        }
        &.-wide #side, &.-phases #side { display: block; }
        &.-no-phases #side { display: none; }
        /* What limits a case is said below the table, and is long. */
        &.-tall.-roofline #notes-scroll { height: 6; }
        &.-told {
            #pictures { display: none; }
            #results-panel { max-height: 100%; height: 1fr; }
            #notes-scroll { height: 1fr; display: block; }
        }
    }
    """

    phases: reactive[bool | None] = reactive(None)
    """Whether the phases are shown; ``None`` leaves it to the room there is."""

    def __init__(self) -> None:
        super().__init__()
        self._notes: tuple[bench.Sentence, ...] = ()
        self._able: tuple[bool, ...] = ()

    def compose(self) -> ComposeResult:
        """From what is to be timed to what is known."""
        yield CaseForm().data_bind(BenchPane.state)
        yield Static(BEFORE, id="before")
        with Horizontal(id="pictures"):
            with Panel(keys="g view · m metric · k clock", id="plot-panel"):
                yield PlotReader(id="bench-plot")
            yield Side()
        with Panel("results", id="results-panel"):
            yield ResultsTable().data_bind(BenchPane.state)
            with VerticalScroll(id="notes-scroll", can_focus=False):
                yield Static(id="notes", markup=False)
        yield LogPanel().data_bind(BenchPane.state)

    @property
    def form(self) -> CaseForm:
        """What to time."""
        return self.query_one(CaseForm)

    # What is on screen.

    def on_resize(self) -> None:
        """Show what there is room for."""
        self.set_class(self.size.width >= 98, "-wide")
        self.set_class(self.size.height >= 26, "-tall")
        self.query_one(Side).set_class(self.size.height >= 26, "-tall")
        self.set_class(self.size.height < 16, "-low")
        self.call_after_refresh(self.draw)

    def watch_state(self, old: State, state: State) -> None:
        """Draw what changed."""
        if not self.children:  # the app ended while they were being made
            return
        if old.run is None and state.run is not None:
            self.form.folded = True
        self.set_class(_is_told(state), "-told")
        self.set_class(state.run is not None, "-ran")
        self._fit_form()
        self.set_class(state.view == "roofline", "-roofline")
        if old.run is None and state.run is not None and self._has_focus_in(self.form):
            self.call_after_refresh(self.take_focus)
        self.draw()
        self.tell_keys()

    def _fit_form(self) -> None:
        """Give the open form room beside results."""
        self.set_class(self.state.run is not None and not self.form.folded, "-editing")

    def watch_phases(self, shown: bool | None) -> None:
        """Show or hide the phases where the size does not decide."""
        self.set_class(shown is True, "-phases")
        self.set_class(shown is False, "-no-phases")
        self.call_after_refresh(self.draw)

    def _has_focus_in(self, part: Panel) -> bool:
        focused = self.screen.focused
        return focused is not None and part in focused.ancestors_with_self

    def draw(self) -> None:
        """Draw the plots, the phases and what is said of the selected case."""
        state, run, case = self.state, self.state.run, self.state.case
        if not self.size.area or run is None or case is None:
            return
        colors = series_colors(self.app.theme_variables)
        title, picture, text = plot(state, colors)
        view = view_of(state)
        panel = self.query_one("#plot-panel", Panel)
        if panel.border_title != Content(title).markup:
            panel.entitle(title)
        subject = run.number, view, view != "sweep" and state.case_index
        self.query_one(PlotReader).show_picture(picture, text, subject)
        if (side := self.query_one(Side)).display:
            side.draw(case, colors)
        self.query_one(ResultsTable).write()
        self._write_notes(state, case, run)

    def _write_notes(self, state: State, case: CaseState, run: Job) -> None:
        found = (*bench.sentences(case, run), *bench.run_sentences(run))
        if state.view == "roofline":
            found = (*roofline.sentences(state), *found)
        if found == self._notes:
            return
        self._notes = found
        text = Content("\n").join(
            Content.assemble(
                (f"{one.flag}: ", "bold $text-error" if one.bad else "bold"), one.text
            )
            for one in found
        )
        self.query_one("#notes", Static).update(text)

    def tell_keys(self) -> None:
        """Say what the keys act on, and which of them do anything now."""
        panel = self.query_one("#results-panel", Panel)
        keys = "a calls · h HLO · v code · w sizes"
        target, mine = self.target, self.form.edited
        case = self.state.case
        label = "" if case is None else short_label(case.case)
        words = f"{label}: Enter notes" + ("" if mine else f" · {keys}")
        if panel.border_subtitle != Content(words).markup:
            panel.entitle(self._title(), words)
        words = "Enter opens a list · Esc leaves an input"
        if self.state.run is not None and mine and target is not None:
            words = f"{short_label(target)}: {keys}"
        if self.form.border_subtitle != Content(words).markup:
            self.form.entitle("what to time", words)
        able = tuple(self.why_not(name) is None for name in _ACTIONS)
        if able != self._able:
            self._able = able
            self.refresh_bindings()

    def _title(self) -> str:
        run = self.state.run
        flags = [note.flag for note in bench.notes(run)] if run is not None else []
        return f"results · whole run: {', '.join(flags)}" if flags else "results"

    def take_focus(self) -> None:
        """The results, or the form while there are none."""
        if self.state.run is not None and self.form.folded:
            self.query_one(ResultsTable).focus()
        else:
            self.query_one("#op").focus()

    # What the keys act on.

    @property
    def target(self) -> Case | None:
        """The case of the form if that was edited, or else the selected one."""
        case = self.state.case
        if case is not None and not self.form.edited:
            return case.case
        experiment = self.form.verdict.experiment
        cases = experiment.cases if experiment is not None else ()
        return next((one for one in cases if not one.on_host), (*cases, None)[0])

    def why_not(self, action: str) -> str | None:
        """Why an action cannot be done now, or ``None``."""
        state = self.session.state
        if action in ("run", "sweep", "roofs", "program"):
            if state.busy:
                return RUNNING
            if not state.can_run:
                failed = state.engine == "failed"
                return (
                    f"{'There is no engine: R tries again.' if failed else NOT_READY}"
                )
        match action:
            case "run" if self.form.verdict.experiment is None:
                return self.form.verdict.message
            case "sweep" | "timeline" | "program" | "code" if self.target is None:
                return self.form.verdict.message or NOT_READY
            case "timeline" | "code" if not state.devices:
                return NOT_READY
            case "code" if state.engine not in ("ready", "running"):
                return NOT_READY
            case "roofs" if state.run is None:
                return (
                    "Run something first: its device is the one whose roofs are "
                    "measured."
                )
            case "copy" | "notes" | "export" if state.run is None:
                return NO_RESULT
            case _:
                return why_not_plot(action, state)

    def action_run(self) -> None:
        """Start what the form says; ask before, if it is more than expected."""
        if (why := self.why_not("run")) is not None:
            self.base.say(why)
            return
        experiment = self.form.verdict.experiment
        assert experiment is not None
        extent = selection.extent(experiment)

        def start(yes: bool | None = True) -> None:
            if yes:
                self.base.start(experiment, "bench")

        if extent.is_large:
            text = f"{extent.text}. Start it?"
            question = Question(text, "starts it", "goes back to the form")
            self.app.push_screen(question, start)
        else:
            start()

    def action_edit(self) -> None:
        """Open the form, or fold it."""
        self.form.folded = self.state.run is not None and not self.form.folded
        self._fit_form()
        self.call_after_refresh(self.take_focus)

    def to_form(self, values: Values) -> None:
        """Fill the form and open it."""
        self.form.fill(values)
        self.form.folded = False
        self._fit_form()
        self.tell_keys()

    def action_sweep(self) -> None:
        """Time the case over sizes around its own."""
        if (case := self.target) is not None:
            self.sweep(case)

    def sweep(self, case: Case) -> None:
        """Time a case over sizes around its own."""
        if why := why_no_sweep(case, self.session.state):
            self.base.say(why)
            return
        steps = selection.halves(max(case.size, 2**SWEEP_STEPS), SWEEP_STEPS)
        self.form.fill(replace(form.of_case(case), sizes=steps))
        self.action_run()

    def action_open_file(self) -> None:
        """Choose functions of a file, and take them to the form."""

        def noted(path: str) -> None:
            opened = self.session.state.opened.with_file(path)
            self.session.update(opened=opened)

        def take(pick: Picked | None) -> None:
            if pick is None:
                return
            self.session.update(opened=self.session.state.opened.with_pick(pick))
            self.to_form(form.with_pick(self.form.values, pick))
            self.base.say(f"r times {brief_name(pick.op, 60)}.")
            self.take_focus()

        self.app.push_screen(OpenFile(self.session.state.opened, noted), take)

    def action_timeline(self) -> None:
        """Show the calls of the case, one by one."""
        if (case := self.target) is not None:
            open_timeline(self.base, case)

    def action_program(self) -> None:
        """Compile the case, and show what became of it."""
        open_program(self.base, self.target)

    def action_code(self) -> None:
        """Show plain code of the case."""
        if (case := self.target) is not None:
            show_code(self.base, case)

    def action_roofs(self) -> None:
        """Measure the roofs that limit the cases, and show these under them."""
        if (why := self.why_not("roofs")) is not None:
            self.base.say(why)
            return
        state = self.session.state
        cases = [one.case for one in state.run.cases] if state.run else []
        device = roofline.device_of(cases, state.case_index)
        if device is not None:
            self.session.update(view="roofline")
            work = roofline.work_for(state.roofs, cases, device, state.ops)
            self.base.start(work, "roofs")

    def action_view(self) -> None:
        """The next view of the run."""
        self.session.update(view=next_view(self.session.state))

    def action_metric(self) -> None:
        """The next metric over size."""
        index = METRICS.index(self.session.state.metric) + 1
        self.session.update(metric=METRICS[index % len(METRICS)])

    def action_clock(self) -> None:
        """The next clock that the metric has."""
        latest = self.session.state
        self.session.update(clock=next_clock(latest.metric, latest.clock))

    def action_phases(self) -> None:
        """Show or hide the phases."""
        self.phases = not self.query_one(Side).display

    def action_log(self) -> None:
        """Show or hide what XLA printed."""
        log = self.query_one(LogPanel)
        log.display = not log.display
        log.catch_up()

    def action_copy(self) -> None:
        """Copy the results, and write them to a file."""
        if (run := self.session.state.run) is not None:
            self.base.take_away(bench.results_text(run), "results.txt")

    def action_export(self) -> None:
        """Ask what to write, and where."""
        state = self.session.state
        if state.run is None:
            return
        colors = series_colors(self.app.theme_variables)
        _, picture, _ = plot(state, colors)
        if picture is not None:  # on paper it needs its title and legend
            picture = replace(picture, bare=False)
        look, plan = export.look_of(self.base), export.planner(self.base)
        offer = export.of_run(state, state.run, picture, look, plan)
        self.app.push_screen(export.ExportScreen(offer))

    def action_notes(self) -> None:
        """Show all that there is to say of the selected case."""
        case, run = self.session.state.case, self.session.state.run
        if case is not None and run is not None:
            every = (*bench.sentences(case, run), *bench.run_sentences(run))
            told = [one for one in every if one.flag != bench.TRACEBACK]
            detail = case.failure.detail if case.failure else ""
            self.app.push_screen(NotesScreen(case.case.label, told, detail))

    # What happens in the parts.

    @on(CaseForm.Submitted)
    def _submitted(self, event: CaseForm.Submitted) -> None:
        event.stop()
        if self.session.state.running:
            self.base.background(self.session.stop)
        else:
            self.action_run()

    @on(CaseForm.Left)
    def _left_form(self, event: CaseForm.Left) -> None:
        event.stop()
        self.form.folded = self.state.run is not None
        self._fit_form()
        self.call_after_refresh(self.take_focus)

    @on(CaseForm.EditWanted)
    def _edit(self, event: CaseForm.EditWanted) -> None:
        event.stop()
        self.action_edit()

    @on(CaseForm.Changed)
    def _changed(self, event: CaseForm.Changed) -> None:
        event.stop()
        self.tell_keys()
        experiment = event.experiment
        if experiment is not None and len(experiment.cases) <= MOST_FORESEEN:
            foresee = partial(self._foresee, experiment)
            self.base.background(foresee, "plan", exclusive=True)

    async def _foresee(self, experiment: Experiment) -> None:
        """Ask the engine, when typing has paused, what would not work."""
        await asyncio.sleep(PAUSE_SECONDS)
        if self.session.state.engine != "ready":
            return
        plan = await self.session.plan(experiment)
        problems = [case.problem for case in plan.cases if case.problem is not None]
        if not problems or not self.is_attached:  # the app has closed meanwhile
            return
        if self.form.verdict.experiment == experiment:
            count = f" ({len(problems)} cases)" if len(problems) > 1 else ""
            self.form.say(f"{problems[0].error} {problems[0].hint}{count}", True)

    @on(OpChoice.OpenWanted)
    def _open_wanted(self, event: OpChoice.OpenWanted) -> None:
        event.stop()
        self.action_open_file()

    @on(PlotReader.Picked)
    def _read(self, event: PlotReader.Picked) -> None:
        event.stop()
        run = self.state.run
        if run is None or view_of(self.state) != "sweep":
            return
        index = case_at(run, sizes(run)[event.place], self.state.case)
        if index is not None:
            self._pick(index)

    @on(PlotReader.Left)
    def _leave_plot(self, event: PlotReader.Left) -> None:
        event.stop()
        self.query_one(ResultsTable).focus()

    @on(ResultsTable.Picked)
    def _picked(self, event: ResultsTable.Picked) -> None:
        event.stop()
        self._pick(event.index)

    def _pick(self, index: int) -> None:
        if (run := self.session.state.run) is not None:
            self.session.update(picked=(run.number, index))

    @on(DataTable.RowSelected)
    def _selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        self.action_notes()


_ACTIONS = ("run", "sweep", "timeline", "program", "code", "roofs", "view", "metric")
"""Those that are greyed out at times."""

NOT_READY = "JAX is not ready yet."


def _is_told(state: State) -> bool:
    """Whether words take the place of the plot: a function of a file has failed."""
    case = state.case
    if case is None or case.failure is None or not is_own(case.case.op):
        return False
    return bool(case.failure.detail) and not case.ready.points
