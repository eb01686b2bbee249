"""The keys that act on a case, shared by the tabs that have one."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from jaxtui.core.model import Case, Experiment
from jaxtui.core.state import RUNNING
from jaxtui.registry import part
from jaxtui.ui import words
from jaxtui.ui.app.pane import Pane

CASE_KEYS = (
    ("w", "sweep", "Sizes", "Time the case over a range of sizes."),
    ("a", "timeline", "Calls", "Show the calls one by one: host, device and queue."),
    ("h", "program", "HLO", "Show jaxpr, StableHLO and HLO of the case."),
    ("P", "profile", "Profile", "Show where its time goes, by line of the source."),
    ("v", "code", "Code", "Show plain Python that measures the case."),
)
"""The keys that act on the case of a tab."""

_BEGINNING = ("run", "sweep", "program", "profile")
"""Actions that have the engine begin something at once."""

ACTIONS = tuple(action for _, action, _, _ in CASE_KEYS)


class CasePane(Pane):
    """A tab on which the keys act on one case."""

    @property
    def case(self) -> Case | None:
        """The case that a lower border names."""
        raise NotImplementedError

    guesses: ClassVar[bool] = False
    """The size of the case is jaxtui's own choice."""

    @property
    def why_no_case(self) -> str:
        """The reason why there is none."""
        return self.session.state.no_jax

    def why_not(self, action: str) -> str | None:
        state = self.session.state
        if action in (*_BEGINNING, "check", "roofline", "crossover"):
            if state.busy:
                return words.text(RUNNING)
            if not state.can_run:
                return state.no_jax
        if action in ACTIONS and self.case is None:
            return self.why_no_case
        gone = state.engine not in ("ready", "running")
        if (action == "timeline" and not state.devices) or (action == "code" and gone):
            return state.no_jax
        return None

    # The modules of what is opened are loaded then: the first frame comes without them.

    def action_sweep(self) -> None:
        if (case := self.case) is not None:
            self.base.sweep(case)

    def action_timeline(self) -> None:
        open_timeline = part("timeline", "screen").open_timeline
        if (case := self.case) is not None:
            open_timeline(self.base, case, grows=self.guesses)

    def action_program(self) -> None:
        from jaxtui.features.bench.case_screen import open_case

        ProgramScreen = part("program", "screen").ProgramScreen  # noqa: N806
        if (case := self.case) is not None:
            open_case(self.base, ProgramScreen, case)

    def action_profile(self) -> None:
        from jaxtui.features.bench.case_screen import open_case

        ProfileScreen = part("profile", "screen").ProfileScreen  # noqa: N806
        if (case := self.case) is not None:
            open_case(self.base, ProfileScreen, case)

    def action_code(self) -> None:
        if (case := self.case) is not None:
            self.base.background(partial(self._show_code, case))

    async def _show_code(self, case: Case) -> None:
        from jaxtui.features.bench.scripts import case_script
        from jaxtui.ui.app.dialogs import CodeScreen

        plan = await self.session.plan(Experiment(cases=(case,)), recipes=True)
        self.app.push_screen(CodeScreen(case.label, case_script(plan.cases)))
