"""A run as the client sees it: one run, though it may take several engines."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Literal

import msgspec

from jaxtui.engine.ledger import Ledger
from jaxtui.model import (
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Experiment,
    Inspection,
    Loop,
    PhaseMeasured,
    PhaseStarted,
    Progress,
    RunEvent,
    RunFinished,
    RunStarted,
    Sampled,
    Work,
    WorkFailed,
)
from jaxtui.model.own import is_own

PATIENCE_SECONDS = 60.0
"""How far beyond its budget foreign code may go without a sign of life."""

_SECONDS_PER_CASE = 0.5
"""What a case gets in a new engine even if the old one used up the budget."""

_CASE_EVENTS = (
    CaseStarted,
    PhaseStarted,
    PhaseMeasured,
    Sampled,
    CaseMeasured,
    CaseFailed,
)


class ActiveRun:
    """The run that is going on.

    A loop or a snippet has no cases: if its engine dies, it is over.

    After a crash the case whose turn or phase it was keeps what had arrived of it and
    is not tried again. Every other case without a result starts from scratch in the
    next engine: turns from two processes do not belong in one interval. What the first
    engine had measured of such a case stands only if no later engine gets as far.
    """

    def __init__(self, number: int, work: Work, offered: Collection[str] = ()) -> None:
        """Begin with all cases still to do.

        Args:
            number: The run's.
            work: What it does.
            offered: The ops that are not jaxtui's but of installed packages, by name.
        """
        self.number = number
        self.work = work
        self.ledger = Ledger(work.cases if isinstance(work, Experiment) else ())
        self.stopping = False
        """Somebody asked for its end."""
        self.overdue = ""
        """Why its engine was ended, if nothing had come from it for too long."""
        self.phase = ""
        """The phase of the current case, as it was last told."""
        self._offered = offered
        self._indices: tuple[int, ...] | None = None
        self._began = time.monotonic()
        self._before = 0.0
        self._started = False
        self._crashed = False

    @property
    def foreign(self) -> bool:
        """Whether it runs code that is not jaxtui's: of a file, or of a package."""
        cases = self.ledger.cases
        if isinstance(self.work, (Inspection, Loop)):
            cases = (self.work.case,)
        return any(is_own(case.op) or case.op in self._offered for case in cases)

    @property
    def patience_seconds(self) -> float | None:
        """How long it may say nothing; ``None`` for as long as it takes.

        Foreign code may never come back, and only a run with such code is judged: it
        is past its budget by then, which includes every phase.
        """
        if not self.foreign or not isinstance(self.work, (Experiment, Loop)):
            return None
        return self.work.budget + PATIENCE_SECONDS

    def give_up(self) -> None:
        """Say that nothing has come for too long; its engine is ended then."""
        index = self.ledger.current
        what = "The run" if index is None else self.ledger.cases[index].label
        if isinstance(self.work, Loop):
            what = f"The loop over {self.work.case.label}"
        doing = f" (phase: {self.phase})" if self.phase else ""
        waited = self.patience_seconds or 0.0
        self.overdue = (
            f"{what} did not come back within {waited:.0f} s{doing}; the engine was"
            " ended."
        )

    def translate(self, event: RunEvent) -> RunEvent | None:
        """The event as it belongs to the whole run; ``None`` if it was told before."""
        match event:
            case RunStarted():
                if self._started:
                    return None
                self._started = True
                self._began = time.monotonic()
            case Progress() | RunFinished():
                elapsed = event.elapsed_seconds + self._before
                event = msgspec.structs.replace(event, elapsed_seconds=elapsed)
            case _ if isinstance(event, _CASE_EVENTS) and self._indices is not None:
                index = self._indices[event.index]
                event = msgspec.structs.replace(event, index=index)
        if isinstance(event, PhaseStarted):
            self.phase = event.phase
        if self._crashed and isinstance(event, RunFinished):
            event = _not_complete(event)
        self.ledger.observe(event)
        return event

    def goes_on(self, ready: bool) -> bool:
        """Whether another engine will have work left to do.

        Args:
            ready: Whether the last one was, so that its end costs a case.
        """
        return not self.stopping and len(self.ledger.remaining) > int(ready)

    def crashed(self, text: str) -> list[RunEvent]:
        """Mark the case that was running, or else the one that would have been."""
        self._crashed = True
        remaining = self.ledger.remaining
        if not remaining:
            return []
        index = self.ledger.current
        if index is None:
            index = remaining[0]
        self.ledger.current = None
        hint = "Look at the log for the last words; try a smaller size or another mode."
        if self.overdue:
            hint = "A longer --budget waits longer."
            self.overdue = ""
        return [*self._opening(), self.ledger.close(index, "crashed", text, hint)]

    def rest(self) -> Experiment | None:
        """What is left for another engine, with what is left of the budget."""
        remaining = self.ledger.remaining
        if not isinstance(self.work, Experiment) or not remaining:
            return None
        self._indices = remaining
        self._before = time.monotonic() - self._began
        left = self.work.budget - self._before
        return msgspec.structs.replace(
            self.work,
            cases=tuple(self.ledger.cases[index] for index in remaining),
            budget_seconds=max(left, _SECONDS_PER_CASE * len(remaining)),
        )

    def broken_off(self, text: str) -> list[RunEvent]:
        """The last events when no engine can go on: every case gets an outcome."""
        events: list[RunEvent] = [
            self.ledger.close(index, "crashed", text) for index in self.ledger.remaining
        ]
        if not isinstance(self.work, Experiment):
            events = [WorkFailed(error=text, hint="")]
        return [*self._opening(), *events, self._finished("crashed")]

    def cancelled(self, text: str) -> list[RunEvent]:
        """The last events of a run that had to be stopped by force."""
        events: list[RunEvent] = [
            self.ledger.close(index, "cancelled", text)
            for index in self.ledger.remaining
            if self.ledger.sampled(index) or index == self.ledger.current
        ]
        return [*self._opening(), *events, self._finished("cancelled")]

    def _opening(self) -> list[RunEvent]:
        """``RunStarted``, if no engine came that far: it is always the first event."""
        if self._started or not isinstance(self.work, Experiment):
            return []
        self._started = True
        cases = self.ledger.cases
        return [RunStarted(cases=cases, budget_seconds=self.work.budget)]

    def _finished(self, outcome: Literal["cancelled", "crashed"]) -> RunFinished:
        elapsed = time.monotonic() - self._began
        return RunFinished(outcome=outcome, elapsed_seconds=elapsed)


def _not_complete(event: RunFinished) -> RunFinished:
    if event.outcome != "complete":
        return event
    return msgspec.structs.replace(event, outcome="crashed")
