"""A run as it is followed from outside: what has arrived, and what is left."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator

import msgspec

from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Ending,
    Experiment,
    Failure,
    Inspection,
    Loop,
    Measurement,
    PhaseMeasured,
    PhaseStarted,
    Progress,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Sampled,
    Stopped,
    Work,
    WorkFailed,
)
from jaxtui.model.own import is_own

PATIENCE_SECONDS = 60.0
"""How far beyond its budget foreign code may go without a sign of life."""

_CASE_EVENTS = (
    CaseStarted,
    PhaseStarted,
    PhaseMeasured,
    Sampled,
    CaseMeasured,
    CaseFailed,
)


def has_files(work: Work) -> bool:
    """Whether it times functions of files."""
    return any(is_own(case.op) for case in cases_of(work))


def cases_of(work: Work) -> tuple[Case, ...]:
    """Those that may have functions of files."""
    if isinstance(work, (Inspection, Loop)):
        return (work.case,)
    return work.cases if isinstance(work, Experiment) else ()


class Ledger:
    """What has arrived of a run, so that nothing is lost when it breaks off.

    Indices count in the cases that were asked for.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.cases = work.cases if isinstance(work, Experiment) else ()
        self.started = False
        """``RunStarted`` has arrived."""
        self.current: int | None = None
        """The case whose turn or phase it is."""
        self.done: set[int] = set()
        """The cases that have their last event."""
        self._partial: dict[int, Measurement] = {}

    @property
    def remaining(self) -> tuple[int, ...]:
        """The cases that have no result and no failure yet, in order."""
        return tuple(i for i in range(len(self.cases)) if i not in self.done)

    def observe(self, event: RunEvent) -> None:
        match event:
            case RunStarted():
                self.cases = event.cases
                self.started = True
            case Sampled():
                self.current = event.index
                self._partial[event.index] = event.measurement
            case CaseStarted() | PhaseStarted() | PhaseMeasured():
                self.current = event.index
            case CaseMeasured() | CaseFailed():
                self.done.add(event.index)
                if self.current == event.index:
                    self.current = None

    def sampled(self, index: int) -> bool:
        """Whether some turn of the case has arrived."""
        return index in self._partial

    def close(
        self, index: int, stopped: Stopped, text: str, hint: str = "", detail: str = ""
    ) -> CaseMeasured | CaseFailed:
        """The last event of a case that broke off: what had arrived, or a failure.

        Args:
            index: The case.
            stopped: Why it ended, which is also the code of the remark.
            text: The same in one sentence for people.
            hint: What to do about it, if it is a failure.
            detail: The original text, if there is one.
        """
        self.done.add(index)
        if (arrived := self._partial.get(index)) is None:
            failure = Failure(
                case=self.cases[index], error=text, hint=hint, detail=detail
            )
            return CaseFailed(index=index, failure=failure)
        measurement = msgspec.structs.replace(
            arrived,
            stopped=stopped,
            stable=False,
            notes=(*arrived.notes, Remark(stopped, severity="warning", detail=text)),
        )
        return CaseMeasured(index=index, measurement=measurement)

    def opening(self) -> list[RunEvent]:
        """``RunStarted``, if it has not arrived: it comes before all of cases."""
        if self.started or not isinstance(self.work, Experiment):
            return []
        self.started = True
        return [RunStarted(cases=self.cases, budget_seconds=self.work.budget)]

    def break_off(
        self, text: str, detail: str = "", hint: str = ""
    ) -> Iterator[RunEvent]:
        """Every outcome that is missing where nothing can go on."""
        if not isinstance(self.work, Experiment):
            yield WorkFailed(error=text, hint=hint, detail=detail)
        yield from self.opening()
        for index in self.remaining:
            yield self.close(index, "crashed", text, detail=detail)


class ActiveRun:
    """One run, though it may take several engines.

    A death is never evidence: the kernel may have needed the memory, or a signal may
    have come. So whatever has no result when its engine dies is begun once more in the
    next one. If that dies too before anything is finished, the case whose turn or phase
    it was keeps what had arrived of it and is over, and so is a work without cases;
    the rest is run as before.

    A case starts from scratch in the next engine: turns from two processes do not
    belong in one interval. What an engine had measured of it stands only if no later
    one gets as far.

    Args:
        number: The run's.
        work: What it does.
        offered: The ops that are not jaxtui's but of installed packages, by name.
    """

    def __init__(self, number: int, work: Work, offered: Collection[str] = ()) -> None:
        self.number = number
        self.work = work
        self.ledger = Ledger(work)
        self.stopping = False
        """Its end was asked for."""
        self.overdue = ""
        """Why its engine was ended, if nothing had come from it for too long."""
        self.phase = ""
        """The phase of the current case, as it was last told."""
        self._offered = offered
        self._indices: tuple[int, ...] | None = None
        self._began = time.monotonic()
        self._before = 0.0
        self._again = False
        """This is the second attempt; another death ends it."""
        self._crashed = False

    @property
    def foreign(self) -> bool:
        """Whether it runs code that is not jaxtui's: of a file, or of a package."""
        offered = any(case.op in self._offered for case in cases_of(self.work))
        return offered or has_files(self.work)

    @property
    def patience_seconds(self) -> float | None:
        """How long it may say nothing; ``None`` for as long as it takes.

        Foreign code may never come back, and only a run with such code is judged: it
        is past its budget by then. XLA comes to an end, however long it compiles: that
        counts only where a budget was typed, which includes every phase. An inspection
        has a limit of its own.
        """
        if isinstance(self.work, Inspection):
            return self.work.limit_seconds
        if not self.foreign or not isinstance(self.work, (Experiment, Loop)):
            return None
        if isinstance(self.work, Loop):
            return self.work.budget + PATIENCE_SECONDS
        if self.phase == "compile" and self.work.budget_seconds is None:
            return None
        return self.work.share + PATIENCE_SECONDS

    def give_up(self) -> None:
        """Say that nothing has come for too long; its engine is ended then."""
        index = self.ledger.current
        what = "The run" if index is None else self.ledger.cases[index].label
        if isinstance(self.work, Loop):
            what = f"The loop over {self.work.case.label}"
        elif isinstance(self.work, Inspection):
            what = self.work.case.label
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
                if not self.ledger.started:
                    self._began = time.monotonic()
                elif isinstance(self.work, Experiment):
                    return None
            case Progress() | RunFinished():
                elapsed = event.elapsed_seconds + self._before
                event = msgspec.structs.replace(event, elapsed_seconds=elapsed)
            case _ if isinstance(event, _CASE_EVENTS) and self._indices is not None:
                index = self._indices[event.index]
                event = msgspec.structs.replace(event, index=index)
        if isinstance(event, (CaseMeasured, CaseFailed)):
            self._again = False
        if isinstance(event, PhaseStarted):
            self.phase = event.phase
        elif isinstance(event, Progress) and isinstance(self.work, Inspection):
            self.phase = event.doing.partition(":")[0]
        if isinstance(event, RunFinished):
            crashed = self._crashed and event.outcome == "complete"
            outcome: Ending = "crashed" if crashed else event.outcome
            event = msgspec.structs.replace(event, outcome=outcome)
        self.ledger.observe(event)
        return event

    def died(self, text: str) -> list[RunEvent]:
        """What the death of its engine ends: nothing, if it is begun once more.

        The last of them is ``RunFinished`` if nothing is left to do.

        Args:
            text: How the engine died, in one sentence.
        """
        self._again = not self._again and not self.overdue
        if isinstance(self.work, Experiment) and not self.ledger.remaining:
            return [self._finished("crashed" if self._crashed else "complete")]
        index, self.ledger.current = self.ledger.current, None
        if self._again:
            return []
        hint = "Look at the log for the last words; try a smaller size or another mode."
        if self.overdue:
            option = "--limit" if isinstance(self.work, Inspection) else "--budget"
            hint = f"A longer {option} waits longer."
        else:
            text = f"{text} It was the second attempt."
        if not isinstance(self.work, Experiment):
            hint, self.overdue = hint if self.overdue else "", ""
            return self.broken_off(text, hint)
        self.overdue = ""
        self._crashed = True
        if index is None:
            index = self.ledger.remaining[0]
        events = [
            *self.ledger.opening(),
            self.ledger.close(index, "crashed", text, hint),
        ]
        return events if self.ledger.remaining else [*events, self._finished("crashed")]

    def rest(self) -> Work:
        """What is left for another engine, with its share of the budget.

        What the dead one took, and the start of the next, does not count: a case that
        is left has as much time as it would have had.
        """
        self._before = time.monotonic() - self._began
        if not isinstance(self.work, Experiment):
            return self.work
        remaining = self._indices = self.ledger.remaining
        share = len(remaining) / max(1, len(self.ledger.cases))
        return msgspec.structs.replace(
            self.work,
            cases=tuple(self.ledger.cases[index] for index in remaining),
            budget_seconds=share * self.work.budget,
        )

    def broken_off(self, text: str, hint: str = "") -> list[RunEvent]:
        """The last events when no engine can go on: every case gets an outcome."""
        return [*self.ledger.break_off(text, hint=hint), self._finished("crashed")]

    def cancelled(self, text: str) -> list[RunEvent]:
        """The last events of a run that had to be stopped by force."""
        events: list[RunEvent] = [
            self.ledger.close(index, "cancelled", text)
            for index in self.ledger.remaining
            if self.ledger.sampled(index) or index == self.ledger.current
        ]
        return [*self.ledger.opening(), *events, self._finished("cancelled")]

    def _finished(self, outcome: Ending) -> RunFinished:
        elapsed = time.monotonic() - self._began
        return RunFinished(outcome=outcome, elapsed_seconds=elapsed)
