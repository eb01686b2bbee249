"""The tab Bench: the form, the plot beside phases, and the results."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Button, Input, Static

from jaxtui.core import experiments, selection
from jaxtui.core.model import Case, Experiment
from jaxtui.core.model.own import brief_name, is_own
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.case_pane import CASE_KEYS, CasePane
from jaxtui.features.bench.choices import disturbed, next_picture
from jaxtui.features.bench.export import run_screen
from jaxtui.features.bench.form import CaseForm, Field
from jaxtui.features.bench.open_file import OpenFile
from jaxtui.features.bench.plot_panel import Pictures
from jaxtui.features.bench.results_table import LogPanel, Results, ResultsTable
from jaxtui.features.bench.values import Values, of_case, of_functions, why_no_sweep
from jaxtui.features.bench.views import short_label
from jaxtui.registry import part
from jaxtui.ui import words
from jaxtui.ui.app.dialogs import Question
from jaxtui.ui.app.pane import WIDE_COLUMNS, bindings
from jaxtui.ui.app.state import MOST, State
from jaxtui.ui.progress import extent_text
from jaxtui.ui.report import text
from jaxtui.ui.widgets.panel import hint
from jaxtui.ui.widgets.plot_view import PlotReader

SWEEP_STEPS = 5
"""Sizes in the sweep around a case: each twice the one before."""

PAUSE_SECONDS = 0.3
"""Seconds without typing before the engine is asked about the form."""

MOST_FORESEEN = 1000
"""Cases: the plan of many more is megabytes, and what is typed next needs another."""

BEFORE = """\
[b]timed many times, in turns[/b]
  [$lane-host]dispatch  ▍[/]                until the call returns
  [$lane-device]ready     ████████████[/]     until the result arrives
  [$lane-device 60%]pipelined ██████████▌[/]      per call of a burst
  [$numpy]NumPy     ████████████████████████████[/]

[b]once per case[/b]  transfer · trace · lower · compile · first run · fetch
"""
"""The text of the tab until something was run: it explains the clocks."""


_KEYS = (
    ("r,f5", "run", "Run", "Run the cases of the form."),
    ("e", "edit", "Edit", "Open the form."),
    *CASE_KEYS,
    ("f", "open_file", "File", "Choose functions of a Python file, and time them."),
    (
        "z",
        "roofline",
        "Roofs",
        "Measure the roofline of the device and where each case sits.",
    ),
    (
        "i",
        "crossover",
        "Crossing",
        "Add sizes around the one at which the selected curve crosses NumPy's.",
    ),
    (
        "g",
        "view",
        "View",
        "Draw the calls, the curves over size as time, FLOP/s, % of peak and × NumPy,"
        " how calls spread, or the roofs.",
    ),
    (
        "d",
        "details",
        "Details",
        "Show the phases of the case, then the log, or neither.",
    ),
    ("escape", "back", "Back", "Close the log or the phases, then the form."),
    (
        "y",
        "copy",
        "Copy",
        "Copy the command of the open form, or else the results, also to a file next to"
        " the history.",
    ),
    (
        "u",
        "export",
        "Export",
        "Write the run to a file: .json, .csv, .md, .svg or .py.",
    ),
)
"""Keys, action, label, and what it does."""

_SHOWN = ("Run", "Edit", "Sizes", "Calls", "HLO", "Code")


class BenchPane(CasePane):
    """Form on top; the plot beside the phases; results and notes below."""

    HELP = "On the tab Bench"
    PURPOSES = ("bench", "roofs")

    BINDINGS: ClassVar[list[BindingType]] = bindings("bench", _KEYS, _SHOWN)

    DEFAULT_CSS = """
    BenchPane {
        height: 1fr;
        #before { height: 1fr; padding: 0 2; color: $foreground 70%; }
        Pictures { min-height: 8; }
        Results { max-height: 50%; }
        ResultsTable { max-height: 6; }
        #notes-scroll { height: 2; }
        Pictures, Results { display: none; }

        &.-ran #before { display: none; }
        &.-ran Pictures, &.-ran Results { display: block; }
        &.-tall {
            ResultsTable { max-height: 10; }
            #notes-scroll { height: 3; }
        }
        &.-tall #before { padding: 1 2; }
        &.-low {
            #lists { max-height: 4; }
            #command { max-height: 1; }
            Pictures { min-height: 5; }
            ResultsTable { max-height: 3; }
            #notes-scroll { display: none; }
        }
        /* While the form is open beside results, on a small screen. */
        &.-editing {
            Pictures { display: none; }
            ResultsTable { max-height: 5; }
            #notes-scroll { display: none; }
        }
        &.-tall.-editing Pictures { display: block; }
        &.-phases {
            #plot-panel, #notes-scroll { display: none; }
            Side { width: 1fr; }
            ResultsTable { max-height: 3; }
            /* One line of it stays, so that it keeps the focus. */
            &.-low Results { height: 1; border: none; }
        }
        /* There the log takes the place of the phases. */
        &.-phases.-log {
            Pictures { display: none; }
            LogPanel { height: 1fr; }
        }
        /* What limits a case is said below the table, and is long. */
        &.-tall.-roofline #notes-scroll { height: 6; }
        &.-told {
            Pictures { display: none; }
            Results { max-height: 100%; height: 1fr; }
            #notes-scroll { height: 1fr; display: block; }
        }
    }
    """

    def compose(self) -> ComposeResult:
        yield CaseForm().data_bind(BenchPane.state)
        yield Static(BEFORE, id="before")
        yield Pictures()
        yield Results()
        yield LogPanel().data_bind(BenchPane.state)

    @property
    def form(self) -> CaseForm:
        return self.query_one(CaseForm)

    @property
    def _pictures(self) -> Pictures:
        return self.query_one(Pictures)

    # What is on screen.

    def on_resize(self) -> None:
        self._pictures.make_room(self.size)
        self._arrange()
        self.call_after_refresh(self.draw)

    def watch_state(self, old: State, state: State) -> None:
        if not self.children:  # the app ended while they were being made
            return
        number = None if old.run is None else old.run.origin
        begun = state.run is not None and state.run.origin != number
        if begun:
            self.form.folded = True
        self.disturbed = disturbed(state)
        # Not bound: what is said of it below would come before it.
        self.query_one(Results).state = state
        self._arrange()
        if begun and self.form.has_focus_within:
            self.call_after_refresh(self.take_focus)
        self.draw()
        self.tell_keys()

    def _arrange(self) -> None:
        state, (width, height) = self.state, self.size
        ran, phases = state.run is not None, self._pictures.phases_shown
        if height:  # in view, or it was
            self.set_class(height >= 26, "-tall")
            self.set_class(height < 16, "-low")
        self.set_class(ran, "-ran")
        self.set_class(ran and not self.form.folded, "-editing")
        self.set_class(state.view == "roofline", "-roofline")
        self.set_class(_is_told(state), "-told")
        # On a small screen the phases take the place of the plot.
        self.set_class(width < WIDE_COLUMNS and phases, "-phases")
        self.set_class(bool(self.query_one(LogPanel).display), "-log")

    def draw(self) -> None:
        if self.size.area and self.state.case is not None:
            self._pictures.show(self.state)
            self.query_one(Results).draw()

    def tell_keys(self) -> None:
        target, edited = self.case, self.form.edited
        about = short_label(target) if target is not None else ""
        actions = ("timeline", "program", "code", "sweep")
        hints = [hint(self, action) for action in actions]
        self.query_one(Results).tell_keys([] if edited else hints)
        if self.state.run is not None and edited and target is not None:
            first, *more = hints
            self.form.set_title("what to time", [first._replace(about=about), *more])
        else:
            self.form.set_title("what to time", self.form.hints)

    def take_focus(self) -> None:
        if self.state.run is not None and self.form.folded:
            self.screen.set_focus(self.query_one(ResultsTable))
        else:
            self.screen.set_focus(self.query_one("#op"))

    # What the keys act on.

    @property
    def case(self) -> Case | None:
        """The case of the form if that was edited, or else the selected one."""
        case = self.state.case
        if case is not None and not self.form.edited:
            return case.case
        experiment = self.form.meaning.experiment
        cases = experiment.cases if experiment is not None else ()
        return next((case for case in cases if not case.on_host), (*cases, None)[0])

    @property
    def why_no_case(self) -> str:
        """The problem of the form."""
        return self.form.meaning.message or super().why_no_case

    def why_not(self, action: str) -> str | None:
        state = self.session.state
        match action:
            case "edit" if state.run is None:
                return "The form is open."
            case "run" if state.can_run and self.form.meaning.experiment is None:
                return self.form.meaning.message
            case "crossover" | "roofline" if why := part(action, "screen").why_not(
                state
            ):
                return str(why)
            case "copy" if not self.form.folded:
                return self.form.meaning.message if self.case is None else None
            case "copy" | "export" if state.run is None:
                return "No result yet."
            case "view" if state.run is None:
                return "Nothing to draw yet: run something first."
            case "back" if not self._opened:
                return "Nothing to close here."
            case _:
                return super().why_not(action)

    def action_run(self) -> None:
        """Start what the form says; ask before, if it is more than expected."""
        experiment = self.form.meaning.experiment
        if experiment is None:
            return
        extent = experiments.extent(experiment)
        before = self.state.run.cases if self.state.run is not None else ()
        measured = {case.case for case in before if case.measurement}
        replaced = measured - {*experiment.cases}

        def start(yes: bool | None = True) -> None:
            if yes:
                self.base.start(experiment, "bench", done)

        def done() -> None:
            if replaced and self.base.recording:
                self.base.say("Done. The tab History has the run before.")

        if extent.is_large:
            text = f"{extent_text(extent)}. Start it?"
            question = Question(text, "starts it", "back to the form")
            self.app.push_screen(question, start)
        else:
            start()

    def action_edit(self) -> None:
        self.form.folded = self.state.run is not None and not self.form.folded
        self._arrange()
        self.call_after_refresh(self.take_focus)

    def to_form(self, values: Values) -> None:
        self.form.fill(values)
        self.form.folded = False
        self._arrange()
        self.tell_keys()

    def sweep(self, case: Case) -> None:
        if why := why_no_sweep(case):
            self.base.say(why)
            return
        steps = selection.halves(max(case.size, 2**SWEEP_STEPS), SWEEP_STEPS)
        self.form.fill(replace(of_case(case), sizes=steps))
        self.perform("run")

    def action_open_file(self) -> None:
        opened = self.session.state.opened

        def take(op: str | None) -> None:
            if op is None:
                return
            more = tuple(name for name in opened if name != op)
            self.session.update(opened=(op, *more)[:MOST])
            self.to_form(of_functions(self.form.values, op))
            self.base.say(f"r times {brief_name(op, 60)}.")
            self.take_focus()

        self.app.push_screen(OpenFile(*opened[:1]), take)

    def action_roofline(self) -> None:
        part("roofline", "screen").begin(self.base)

    def action_crossover(self) -> None:
        part("crossover", "screen").begin(self.base)

    def action_view(self) -> None:
        view, metric = next_picture(self.session.state)
        self.session.update(view=view, metric=metric)

    def action_details(self) -> None:
        log = self.query_one(LogPanel)
        if log.display:
            log.display = self._pictures.phases = False
        elif self._pictures.phases_shown or self.state.run is None:
            log.display = True
            log.catch_up()
        else:
            self._pictures.phases = True
        self._arrange()

    @property
    def _opened(self) -> bool:
        """The log, phases or the form were opened over the results."""
        log, phases = self.query_one(LogPanel).display, self._pictures.phases
        return bool(log or phases or (self.state.run and not self.form.folded))

    def action_back(self) -> None:
        log = self.query_one(LogPanel)
        if log.display:
            log.display = False
        elif self._pictures.phases:
            self._pictures.phases = None
        else:
            self.form.folded = True
            self.call_after_refresh(self.take_focus)
        self._arrange()

    def action_copy(self) -> None:
        if not self.form.folded:
            self.base.copy_to_file(self.form.values.command, "command.txt")
        elif (run := self.session.state.run) is not None:
            self.base.copy_to_file(text(bench.report(run)), "results.txt")

    def action_export(self) -> None:
        state = self.session.state
        if state.run is None:
            return
        picture = self._pictures.on_paper(state)
        self.app.push_screen(run_screen(self.base, state.run, picture))

    # What happens in the parts.

    @on(events.DescendantFocus)
    def _focus_moved(self) -> None:
        self.tell_keys()

    @on(Input.Submitted)
    @on(Button.Pressed)
    def _submitted(self, event: Input.Submitted | Button.Pressed) -> None:
        event.stop()
        if self.session.state.running:
            self.base.background(self.session.stop)
        else:
            self.perform("run")

    @on(Field.Left)
    def _left_form(self, event: Field.Left) -> None:
        event.stop()
        self.form.folded = self.state.run is not None
        self._arrange()
        self.call_after_refresh(self.take_focus)

    @on(CaseForm.Changed)
    def _changed(self, event: CaseForm.Changed) -> None:
        event.stop()
        self.tell_keys()
        self.refresh_bindings()
        experiment = self.form.meaning.experiment
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
        if self.form.meaning.experiment == experiment:
            count = f" ({len(problems)} cases)" if len(problems) > 1 else ""
            self.form.say(f"{words.why(problems[0])}{count}", True)

    @on(PlotReader.Left)
    def _leave_plot(self, event: PlotReader.Left) -> None:
        event.stop()
        self.query_one(ResultsTable).focus()


def _is_told(state: State) -> bool:
    """Return whether words replace the plot: a function of a file has failed."""
    case = state.case
    if case is None or case.failure is None or not is_own(case.case.op):
        return False
    return bool(case.failure.remark.detail) and not case.ready.points
