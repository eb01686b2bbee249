"""A step as it is played: what it runs next, what its figures say, and its scripts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from jaxtui.lessons.base import Conclusion, Setting
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.lessons.trial import Step
from jaxtui.model import (
    Event,
    Remark,
    RunFinished,
    Summary,
    Work,
)

UNSTEADY = 0.25
"""Where the interval of a figure reaches further than this share of it to either side,
two figures that differ by half may be the same."""


class StepRun(msgspec.Struct, frozen=True):
    """A step, where it is run, and what has arrived."""

    step: Step
    setting: Setting
    outcome: Outcome = NOTHING
    done: int = 0
    """Works that have finished."""

    @property
    def next_work(self) -> Work | None:
        """``None`` when it is complete, or once something went wrong as a whole."""
        if self.outcome.problem is not None:
            return None
        works = self.step.works(self.setting)
        if self.done < len(works):
            return works[self.done]
        follow, later = self.step.trial.follow, self.done - len(works)
        return follow(self.setting, self.outcome, later) if follow else None

    @property
    def limit_seconds(self) -> float | None:
        return None

    def observe(self, event: Event) -> StepRun:
        ended = isinstance(event, RunFinished)
        outcome = collect(self.outcome, event)
        return replace(self, outcome=outcome, done=self.done + ended)

    def overdue(self) -> StepRun:
        return self

    def stopped(self) -> StepRun:
        ended = RunFinished(outcome="cancelled", elapsed_seconds=0.0)
        return replace(self, outcome=collect(self.outcome, ended))

    def lost(self, why: Remark) -> StepRun:
        ended = RunFinished(outcome="crashed", elapsed_seconds=0.0)
        return replace(self, outcome=collect(self.outcome, ended))


def conclude(step: Step, setting: Setting, outcome: Outcome) -> Conclusion:
    """What the step makes of its figures, and why that may not be believed.

    Where some are missing because a work has no result, the claim stays open.

    Raises:
        Exception: Whatever the step's own conclusion raises.
    """
    conclusion = step.conclude(setting, outcome)
    if outcome.problem is not None:
        conclusion = replace(conclusion, holds=None, answer=None)
    if outcome.lost:
        conclusion = replace(conclusion, sentences=())
    return replace(conclusion, doubts=tuple(_doubts(conclusion, outcome)))


def _doubts(conclusion: Conclusion, outcome: Outcome) -> Iterator[Remark]:
    if outcome.lost:
        yield Remark("step-incomplete", severity="warning")
    if outcome.disturbed:
        yield Remark("step-disturbed", severity="warning")
    wandering = [
        (name, clock) for name, clock in _clocks(outcome) if clock.half_width > UNSTEADY
    ]
    if conclusion.holds is False and wandering:
        name, worst = max(wandering, key=lambda named: named[1].half_width)
        yield Remark(
            "step-unsteady",
            {
                "name": name,
                "low": worst.ci_low,
                "high": worst.ci_high,
                "confidence": worst.confidence,
            },
            severity="warning",
        )


def _clocks(outcome: Outcome) -> Iterator[tuple[str, Summary]]:
    """What was timed to its end, with its name."""
    for measured in outcome.measurements:
        if measured.stopped is not None and measured.ready is not None:
            yield measured.case.label, measured.ready
    for name, timing in outcome.timings.items():
        yield name, timing.seconds
