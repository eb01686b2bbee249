"""The course of every work: start, events, failure, finish."""

from __future__ import annotations

import abc
from collections.abc import Callable, Generator, Iterator
from time import perf_counter

import jax

from jaxtui.core.model import (
    Case,
    ProcessWarmedUp,
    Progress,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.tasks.errors import RefusedError, check_fault
from jaxtui.tasks.failures import FAULTS, explain
from jaxtui.timing import runtime
from jaxtui.timing.runtime import Runtime
from jaxtui.timing.turns import quiet_collector


class Runner(abc.ABC):
    """Runs one work.

    The first event is its start, the last one ``RunFinished``; what it raises becomes
    ``WorkFailed``. Nothing happens until the first event is asked for, and closing the
    generator ends the run.
    """

    case: Case
    """The case that an error belongs to, unless ``failure`` names another."""
    phase = "prepare"
    """The phase that an error belongs to."""

    cases: tuple[Case, ...] = ()
    """The cases of an experiment."""

    def __init__(self, budget: float, stop: Callable[[], bool]) -> None:
        self.budget, self.stop = budget, stop

    @abc.abstractmethod
    def work(self) -> Iterator[RunEvent]:
        """The events between the first and the last; it may raise anything."""

    def events(self) -> Iterator[RunEvent]:
        with quiet_collector():
            self._start = perf_counter()
            yield RunStarted(cases=self.cases, budget_seconds=self.budget)
            try:
                yield from self.work()
            except RefusedError as refused:
                yield WorkFailed(remark=refused.remark)
            except FAULTS as error:  # whatever JAX, XLA or the code of a file raises
                check_fault(error)
                yield self.failure(error)
            yield RunFinished(
                outcome="cancelled" if self.stop() else "complete",
                elapsed_seconds=self.elapsed,
            )

    def failure(self, error: BaseException) -> WorkFailed:
        """Return the failure of the work.

        Raises:
            BaseException: The same, where it is no affair of the work.
        """
        return WorkFailed(remark=explain(error, self.case, self.phase).remark)

    @property
    def elapsed(self) -> float:
        return perf_counter() - self._start

    @property
    def remaining(self) -> float:
        """Seconds of the budget that are left; below 0 once it is overrun."""
        return self.budget - self.elapsed

    def progress(self, doing: str, about: str = "") -> Progress:
        """Return the progress event of an activity: elapsed and remaining seconds."""
        return Progress(
            elapsed_seconds=self.elapsed,
            remaining_seconds=max(0.0, self.remaining),
            doing=doing,
            about=about,
        )

    def enter(self, phase: str) -> Progress:
        """Enter a phase: errors belong to it from now on."""
        self.phase = phase
        return self.progress(phase, self.case.label)

    def warm_up(self, device: jax.Device) -> Generator[RunEvent, None, Runtime]:
        """Return the runtime facts of a device; its first work warms the process up."""
        if runtime.is_warm(device):
            return runtime.of(device)
        yield self.progress("process-warm-up")
        facts = runtime.of(device)
        yield ProcessWarmedUp(seconds=facts.warm_up_seconds)
        return facts
