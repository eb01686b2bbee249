"""A run as it is followed from outside: where it is, and what its end leaves open."""

from __future__ import annotations

import time

from jaxtui.core.engine.silence import PATIENCE_SECONDS, WORK_SECONDS, Limits
from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Check,
    Ending,
    Experiment,
    Failure,
    Inspection,
    Loop,
    PhaseMeasured,
    PhaseStarted,
    Profiling,
    Progress,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Sampled,
    Work,
    WorkFailed,
)
from jaxtui.core.model.hosts import HOST_GONE
from jaxtui.core.model.own import is_own, parts
from jaxtui.core.model.remark import Fact

PROFILE_SECONDS = 20.0
"""Seconds without CPU time that no making of arguments and no step should take."""


def has_files(work: Work) -> bool:
    """Return whether the work times functions of files."""
    return any(is_own(case.op) for case in _cases_of(work))


def files_of(work: Work) -> tuple[str, ...]:
    """The files whose functions it times."""
    files = (parts(case.op)[0] for case in _cases_of(work) if is_own(case.op))
    return tuple(dict.fromkeys(files))


def _cases_of(work: Work) -> tuple[Case, ...]:
    """Return the cases that may have functions of files."""
    if isinstance(work, (Inspection, Loop, Profiling)):
        return (work.case,)
    return work.cases if isinstance(work, Experiment) else ()


class Ledger:
    """The cases of a run that have ended, and the current case and phase."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.cases = work.cases if isinstance(work, Experiment) else ()
        self.current: int | None = None
        """The case whose turn or phase it is."""
        self._done: set[int] = set()
        self._began = time.monotonic()

    def observe(self, event: RunEvent) -> None:
        match event:
            case RunStarted():
                self.cases = event.cases
            case CaseStarted() | PhaseStarted() | PhaseMeasured() | Sampled():
                self.current = event.index
            case CaseMeasured() | CaseFailed():
                self._done.add(event.index)
                if self.current == event.index:
                    self.current = None

    def broken_off(self, remark: Remark) -> list[RunEvent]:
        """The last events of a run that cannot go on.

        The case whose turn or phase it was has failed, or the first that has not ended;
        the rest stays open. Where all have ended nothing is missing.
        """
        if not isinstance(self.work, Experiment):
            return [WorkFailed(remark=remark), self.finished("crashed")]
        unfinished = [i for i in range(len(self.cases)) if i not in self._done]
        if not unfinished:
            return [self.finished("complete")]
        index = unfinished[0] if self.current is None else self.current
        failure = Failure(case=self.cases[index], remark=remark)
        return [CaseFailed(index=index, failure=failure), self.finished("crashed")]

    def finished(self, outcome: Ending) -> RunFinished:
        elapsed = time.monotonic() - self._began
        return RunFinished(outcome=outcome, elapsed_seconds=elapsed)


class ActiveRun:
    """A run of the client, and how long it may say nothing.

    Args:
        number: The run's.
        work: What it does.
    """

    def __init__(self, number: int, work: Work) -> None:
        self.number = number
        self.work = work
        self.ledger = Ledger(work)
        self.stopping = False
        """True once a stop was requested."""
        self.overdue: Remark | None = None
        """The reason why its engine was ended, if it did not crash."""
        self.phase = ""
        """The phase of the current case, as it was last told."""

    @property
    def foreign(self) -> bool:
        """Runs code that is not jaxtui's."""
        return has_files(self.work)

    @property
    def limits(self) -> Limits:
        """Return the seconds that the engine may be silent now.

        A compile, an import and jaxtui's own work may take long if they work; foreign
        code may run in circles. An inspection has a limit of its own.
        """
        work = self.work
        if isinstance(work, Inspection):
            most = work.limit_seconds
            return Limits(most if self.foreign else min(most, PATIENCE_SECONDS), most)
        if isinstance(work, Experiment):
            expected = work.share
        elif isinstance(work, Check):
            # An examination has a nearer limit, after which it leaves out the device.
            expected = 3 * work.budget + PATIENCE_SECONDS
        else:  # a profile takes what its arguments and calls take
            expected = PROFILE_SECONDS if isinstance(work, Profiling) else work.budget
        idle = expected + PATIENCE_SECONDS
        if self.foreign and self.phase not in ("", "import", "compile"):
            return Limits(idle, idle)
        return Limits(idle, max(idle, expected + WORK_SECONDS))

    def give_up(self, seconds: float) -> Remark:
        """Return why the engine is to be ended, after so many seconds of silence."""
        foreign = self.foreign or (
            isinstance(self.work, Inspection) and seconds >= self.work.limit_seconds
        )
        facts: dict[str, Fact] = {
            "seconds": seconds,
            "phase": self.phase,
            "work": type(self.work).__name__.lower(),
        }
        code = "overdue" if foreign else "engine-hung"
        self.overdue = Remark(code, facts, "error")
        return self.overdue

    def observe(self, event: RunEvent) -> None:
        if isinstance(event, PhaseStarted):
            self.phase = event.phase
        elif isinstance(event, Progress) and isinstance(self.work, Inspection):
            self.phase = event.doing
        self.ledger.observe(event)

    def died(self, how: dict[str, Fact]) -> list[RunEvent]:
        """Return the events that end a run when its engine dies.

        A death is never evidence: the kernel may have needed the memory, or a signal
        may have come. So the answer is incomplete, and the rest is left to whoever
        asked for it.

        Args:
            how: the facts of that end.
        """
        if self.stopping:
            return [self.ledger.finished("cancelled")]
        remark = self.overdue or Remark("engine-died", {**how, "ready": True}, "error")
        if remark.code in HOST_GONE and isinstance(self.work, Experiment):
            # No case is to blame, and what it has measured stays.
            return [self.ledger.finished("crashed")]
        return self.ledger.broken_off(remark)
