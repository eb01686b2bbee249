"""A step as it is played: what it runs next, and what its figures say."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from jaxtui.core.experiments import fitting_size
from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    Event,
    Experiment,
    Fact,
    Measurement,
    Remark,
    RunFinished,
    Sampled,
    Work,
)
from jaxtui.features.lessons.base import Conclusion, Setting
from jaxtui.features.lessons.figures import NOTHING, Outcome, collect
from jaxtui.features.lessons.trial import Step, case_of

FIT_SECONDS = 0.3
"""Seconds for timing the product whose size is fitted to the device."""


class StepRun(msgspec.Struct, frozen=True):
    """A step, where it is run, and what has arrived.

    Where the size may grow, a product of the size comes first, and of larger ones until
    it takes twenty dispatches.
    """

    step: Step
    setting: Setting
    outcome: Outcome = NOTHING
    done: int = 0
    """Works that have finished."""
    product: Measurement | None = None
    """The newest product of the size."""

    @property
    def next_work(self) -> Work | None:
        """``None`` when it is complete, or once something went wrong as a whole."""
        if self.outcome.problem is not None:
            return None
        here = self.setting
        if here.grows_to:
            case = case_of("matmul", here.size, "eager", here.device)
            return Experiment(cases=(case,), budget_seconds=FIT_SECONDS)
        works = self.step.works(self.setting)
        if self.done < len(works):
            return works[self.done]
        follow = self.step.trial.follow
        figures = self.step.figures(here, self.outcome)
        return follow(figures, self.done - len(works)) if follow else None

    @property
    def limit_seconds(self) -> float | None:
        return None

    def observe(self, event: Event) -> StepRun:
        ended = isinstance(event, RunFinished)
        if self.setting.grows_to:
            if isinstance(event, (Sampled, CaseMeasured)):
                return replace(self, product=event.measurement)
            if isinstance(event, CaseFailed):  # the step will say why
                return replace(self, product=None)
            if isinstance(event, RunFinished) and event.outcome == "complete":
                return replace(self, setting=self._grown())
            ended = False
        outcome = collect(self.outcome, event)
        return replace(self, outcome=outcome, done=self.done + ended)

    def _grown(self) -> Setting:
        """The setting with the size at which the product should take long enough."""
        here, product = self.setting, self.product
        size = here.size
        if product is not None and product.dispatch and product.ready:
            # On a busy machine a median is as much about others.
            dispatch, work = product.dispatch.p10, product.ready.p10
            size = fitting_size(size, dispatch, work, here.grows_to)
        ends = size in (here.size, here.grows_to)
        return replace(here, size=size, grows_to=0 if ends else here.grows_to)

    def overdue(self) -> StepRun:
        return self

    def stopped(self) -> StepRun:
        ended = RunFinished(outcome="cancelled", elapsed_seconds=0.0)
        return replace(self, outcome=collect(self.outcome, ended))

    def lost(self, why: Remark) -> StepRun:
        ended = RunFinished(outcome="crashed", elapsed_seconds=0.0)
        return replace(self, outcome=collect(self.outcome, ended))


def conclude(step: Step, setting: Setting, outcome: Outcome) -> Conclusion:
    """Conclude a step from its figures, with the reasons to doubt it.

    Noise is not graded: a claim stays open if it fails while others used the cores, or
    if it holds at one end of an interval and not at the other; every choice that the
    intervals allow counts as right, and where others used the cores another one is
    wrong only if they allow no second. Where figures are missing because a work has no
    result, the claim stays open.

    Raises:
        Exception: Whatever the step's own conclusion raises.
    """
    conclusion = step.conclude(setting, outcome)
    if outcome.problem is not None:
        open_claim = replace(conclusion, holds=None, answer=None)
        if not outcome.lost:
            return open_claim
        incomplete = (Remark("step-incomplete", severity="warning"),)
        return replace(open_claim, sentences=(), doubts=incomplete)
    varied = [step.conclude(setting, variant) for variant in outcome.variants]
    unsteady = conclusion.holds is False and any(other.holds for other in varied)
    right = step.question.right
    answers = (
        {right} if right is not None else {c.answer for c in (conclusion, *varied)}
    )
    agree = len(answers) == 1
    doubts = []
    if outcome.disturbed:
        doubts.append(Remark("step-disturbed", severity="warning"))
    if unsteady:
        doubts.append(_unsteady(outcome))
    return replace(
        conclusion,
        holds=conclusion.holds or (None if doubts else conclusion.holds),
        answer=conclusion.answer if right is None else right,
        answers=frozenset(answer for answer in answers if answer is not None),
        graded=agree or not outcome.disturbed,
        doubts=tuple(doubts),
    )


def _unsteady(outcome: Outcome) -> Remark:
    """Names the clock with the widest interval."""
    cases = ((m.case.label, m.ready) for m in outcome.measurements if m.ready)
    timings = ((name, timing.seconds) for name, timing in outcome.timings.items())
    name, clock = max((*cases, *timings), key=lambda item: item[1].half_width)
    facts: dict[str, Fact] = {
        "name": name,
        "low": clock.ci_low,
        "high": clock.ci_high,
        "confidence": clock.confidence,
    }
    return Remark("step-unsteady", facts, severity="warning")
