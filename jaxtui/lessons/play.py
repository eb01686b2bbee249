"""A step of a lesson as far as it was run: works that follow from the ones before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jaxtui.lessons.base import Setting, Step, next_work
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.model import Event, RunFinished, Work


@dataclass(frozen=True, slots=True)
class StepRun:
    """A step, where it is run, and what has arrived."""

    step: Step
    setting: Setting
    outcome: Outcome = NOTHING
    done: int = 0
    """Works that have finished."""

    @property
    def next_work(self) -> Work | None:
        """What to run now; ``None`` at the end, and once something went wrong."""
        return next_work(self.step, self.setting, self.outcome, self.done)

    @property
    def limit_seconds(self) -> float | None:
        """None: every work has a budget."""
        return None

    def observe(self, event: Event) -> StepRun:
        """The step after one event of the run of its work."""
        ended = isinstance(event, RunFinished)
        outcome = collect(self.outcome, event)
        return replace(self, outcome=outcome, done=self.done + ended)

    def overdue(self) -> StepRun:
        """Never called."""
        return self

    def stopped(self) -> StepRun:
        """The user has ended it; what arrived stays."""
        ended = RunFinished(outcome="cancelled", elapsed_seconds=0.0)
        return replace(self, outcome=collect(self.outcome, ended))

    def lost(self, why: str) -> StepRun:
        """There is no engine any more; what arrived stays."""
        ended = RunFinished(outcome="crashed", elapsed_seconds=0.0)
        return replace(self, outcome=collect(self.outcome, ended))
