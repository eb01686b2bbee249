"""What the commands do."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.widgets import TabbedContent

from jaxtui import selection
from jaxtui.export import ExportError, here, stamp, unused, write
from jaxtui.model import Case, Experiment, PlannedCase
from jaxtui.text import visible
from jaxtui.tui import bindings, themes
from jaxtui.tui.own_actions import why_no_sweep
from jaxtui.tui.widgets.device_table import DeviceTable
from jaxtui.tui.widgets.devices_pane import DevicesPane
from jaxtui.view import bench

if TYPE_CHECKING:
    from jaxtui.tui import form
    from jaxtui.tui.app import JaxtuiApp
    from jaxtui.tui.widgets.bench_pane import BenchPane
    from jaxtui.tui.widgets.case_form import CaseForm


# What the tab Bench and the other screens need is imported by the action that first
# uses it: all of it together would hold up the first frame.

TABS = ("devices", "bench", "learn", "history")
"""In the order in which the key goes round."""

SWEEP_STEPS = 5
"""Sizes in the sweep around a case: each twice the one before."""


class Actions:
    """The actions of the app; they act on its session and its panes."""

    @property
    def _app(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self)

    @property
    def tab(self) -> str:
        """The tab that is shown."""
        return self._app.screen_stack[0].query_one(TabbedContent).active or "devices"

    def why_not(self, action: str) -> str | None:
        """Why a command cannot be done now, or ``None``."""
        return bindings.why_not(action, self._app.session.state, self.tab)

    def perform(self, action: str) -> None:
        """Do a command, or say why not; for the palette and for buttons."""
        why = self.why_not(action.partition("(")[0])
        if why is not None:
            self._app.session.say(why)
            return
        self._app.call_later(self._app.run_action, action)

    # Runs.

    def action_first(self) -> None:
        """Time what the offer says."""
        offer = self._app.query_one(DevicesPane).offer
        if offer is not None:
            self._app.hide_check()
            self._start(offer)

    def action_run(self) -> None:
        """Start what the tab in view selects."""
        if self.tab == "devices":
            self.action_first()
            return
        if self.tab == "learn":
            self._app.run_step()
            return
        verdict = self._form.verdict
        if verdict.experiment is None:
            self._app.session.say(verdict.message)
            return
        self._start_if_meant(verdict.experiment)

    def action_stop(self) -> None:
        """End the run."""
        self._app.background(self._app.session.stop)

    def action_edit(self) -> None:
        """Take the offered case to the form."""
        offer = self._app.query_one(DevicesPane).offer
        if offer is not None:
            from jaxtui.tui import form

            self.to_form(form.of_case(offer.cases[0]))

    def action_sweep(self) -> None:
        """Time the selected case over sizes around its own."""
        case = self._case()
        if case is None:
            return
        if why := why_no_sweep(case, self._app.session.state):
            self._app.session.say(why)
            return
        from jaxtui.tui import form

        sizes = selection.halves(max(case.size, 2**SWEEP_STEPS), SWEEP_STEPS)
        self.to_form(form.with_sizes(form.of_case(case), sizes))
        self.action_run()

    def _start_if_meant(self, experiment: Experiment) -> None:
        """Start it; ask before, if it is more than anybody may expect."""
        extent = selection.extent(experiment)
        if not extent.is_large:
            self._start(experiment)
            return
        from jaxtui.tui.screens.question import Question

        def answered(yes: bool | None) -> None:
            if yes:
                self._start(experiment)

        question = Question(
            f"{extent.text}. Start it?", "starts it", "goes back to the form"
        )
        self._app.push_screen(question, answered)

    def _start(self, experiment: Experiment) -> None:
        self._app.start(experiment, "bench")

    def to_form(self, values: form.Values) -> None:
        """Show the form, filled with these values."""
        self.action_show_tab("bench")
        self._form.fill(values)

    @property
    def _bench(self) -> BenchPane:
        from jaxtui.tui.widgets.bench_pane import BenchPane

        return self._app.query_one(BenchPane)

    @property
    def _form(self) -> CaseForm:
        from jaxtui.tui.widgets.case_form import CaseForm

        return self._app.query_one(CaseForm)

    def _case(self) -> Case | None:
        """The case that is selected: of the run, or else of what would be run."""
        selected = self._app.session.state.case
        if selected is not None:
            return selected.case
        offer = self._app.query_one(DevicesPane).offer
        return offer.cases[0] if offer else None

    # Views.

    def action_show_tab(self, tab: str) -> None:
        """Show a tab, with the focus where keys make sense."""
        app = self._app
        app.query_one(TabbedContent).active = tab
        if tab == "devices":
            app.query_one(DeviceTable).focus()
        else:
            app.call_later(self._complete_and_focus, tab)

    async def _complete_and_focus(self, tab: str) -> None:
        app = self._app
        if tab == "bench":
            await app.complete()
            self._focus_in_bench()
            return
        if tab == "history":
            await app.complete_history()
            if app.history is not None:
                app.history.take_focus()
            return
        await app.complete_learn()
        if app.learn is not None:
            app.learn.take_focus()

    def _focus_in_bench(self) -> None:
        app = self._app
        if app.session.state.run is not None:
            app.query_one("ResultsTable").focus()
        else:
            app.query_one("#op").focus()

    def action_switch(self) -> None:
        """Show the next tab."""
        index = TABS.index(self.tab) + 1
        self.action_show_tab(TABS[index % len(TABS)])

    def action_details(self) -> None:
        """Show or hide the detail pane."""
        self._app.query_one(DevicesPane).toggle_details()

    def action_phases(self) -> None:
        """Show or hide the phases."""
        self._bench.toggle_phases()

    def action_log(self) -> None:
        """Show or hide what XLA printed."""
        self._bench.toggle_log()

    def action_code(self) -> None:
        """Show the code of the selected case, or of the step."""
        if self.tab == "learn":
            self._app.show_step_code()
            return
        past = self.tab == "history"
        case = self._app.past_case() if past else self._case()
        if case is not None:
            self._app.background(partial(self._show_code, case))

    async def _show_code(self, case: Case) -> None:
        plan = await self._app.session.plan(Experiment(cases=(case,)), recipes=True)
        from jaxtui.scripts import of_cases
        from jaxtui.tui.screens.code import CodeScreen

        planned = plan.cases[0]
        if not planned.recipe:
            self._app.session.say(_no_code(planned))
            return
        self._app.push_screen(CodeScreen(case.label, of_cases(plan.cases)))

    def action_copy(self) -> None:
        """Copy the results, and write them to a file."""
        if self.tab == "learn":
            self._app.copy_step()
            return
        if self.tab == "history":
            self._app.copy_history()
            return
        if self.tab == "devices" and self._app.session.state.check.shown:
            self._app.copy_check()
            return
        run = self._app.session.state.run
        if run is not None:
            self.take_away(bench.results_text(run), "results.txt")

    def take_away(self, text: str, name: str) -> None:
        """Copy a text as far as the terminal lets us, and write it to a file."""
        self._app.copy_to_clipboard(visible(text))
        self._app.session.say(_kept(text, name))

    # Engine.

    def action_release(self) -> None:
        """Give the accelerator back."""
        why = "Released: others can use the accelerator; the next run takes it again."
        self._app.background(partial(self._app.session.release, why))

    def action_retry(self) -> None:
        """Start the engine again."""
        self._app.background(self._app.session.retry)

    # App.

    def action_theme(self) -> None:
        """The next theme."""
        self._wear(themes.following(self._app.theme))

    def action_projector(self) -> None:
        """High contrast, and back."""
        on = self._app.theme == themes.PROJECTOR
        self._wear(themes.DARK if on else themes.PROJECTOR)

    def _wear(self, theme: str) -> None:
        self._app.theme = theme
        self._app.call_after_refresh(self._app.redraw)

    def action_help(self) -> None:
        """Show all keys, those of the tab or of the screen first."""
        from jaxtui.tui.screens.help import HelpScreen, on_tab

        here = getattr(self._app.screen, "PLACE", on_tab(self.tab))
        self._app.push_screen(HelpScreen(here))

    async def action_quit(self) -> None:
        """Leave."""
        self._app.exit()

    def action_interrupt(self) -> None:
        """Leave at once."""
        self._app.exit(return_code=130)


def _no_code(planned: PlannedCase) -> str:
    """Why a case has no code: it may have been measured on another machine."""
    problem = planned.problem
    why = f" {problem.error} {problem.hint}".rstrip() if problem else ""
    return f"{planned.case.label} cannot be written as code here.{why}"


def _kept(text: str, name: str) -> str:
    """Write a text to a new file, and say where.

    The clipboard escape is swallowed by many a terminal (tmux's default does), and
    nothing tells whether it arrived; so the file is written whatever happened to it.
    """
    for folder in (here(), Path(tempfile.gettempdir())):
        path = unused(folder / f"jaxtui-{stamp()}-{name}")
        try:
            write(path, text)
        except ExportError as error:
            trouble = error
        else:
            return f"Copied if the terminal allows it, and written to {path}"
    return f"Copied if the terminal allows it; no file: {trouble}"
