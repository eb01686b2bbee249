"""The course of every work but an experiment: start, events, failure, finish."""

from __future__ import annotations

import abc
from collections.abc import Callable, Generator, Iterator
from time import perf_counter

import jax

from jaxtui.measure import session
from jaxtui.measure.failures import FAULTS, RefusedError, explained
from jaxtui.measure.session import Session
from jaxtui.measure.turns import quiet_collector
from jaxtui.model import (
    Case,
    ProcessWarmedUp,
    Progress,
    RunEvent,
    RunFinished,
    WorkFailed,
)


class Runner(abc.ABC):
    """Runs one work.

    The first event is its start, the last one ``RunFinished``; what it raises becomes
    ``WorkFailed``. Nothing happens until the first event is asked for, and closing the
    generator ends the run.

    Args:
        started: The first event.
        budget: Seconds.
        stop: Asked at every step; once true, the run ends as ``cancelled``.
    """

    case: Case
    """What an error is said to be of, unless ``failure`` says it otherwise."""
    phase = "prepare"
    """Where an error would surface."""

    def __init__(
        self, started: RunEvent, budget: float, stop: Callable[[], bool]
    ) -> None:
        self._started = started
        self.budget, self.stop = budget, stop

    @abc.abstractmethod
    def work(self) -> Iterator[RunEvent]:
        """The events between the first and the last; whatever it raises is told."""

    def events(self) -> Iterator[RunEvent]:
        """The whole run, once."""
        self._start = perf_counter()
        yield self._started
        try:
            with quiet_collector():
                yield from self.work()
        except RefusedError as refused:
            yield refused.failed
        except FAULTS as error:  # whatever JAX, XLA or the code of a file raises
            yield self.failure(error)
        yield RunFinished(
            outcome="cancelled" if self.stop() else "complete",
            elapsed_seconds=self.elapsed,
        )

    def failure(self, error: BaseException) -> WorkFailed:
        """What was raised, in words."""
        told = explained(error, self.case, self.phase)
        return WorkFailed(error=told.error, hint=told.hint, detail=told.detail)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._start

    @property
    def remaining(self) -> float:
        """Seconds of the budget that are left."""
        return max(0.0, self.budget - self.elapsed)

    def progress(self, doing: str) -> Progress:
        """What is done now, and how long it may go on."""
        return Progress(
            elapsed_seconds=self.elapsed,
            remaining_seconds=self.remaining,
            doing=doing,
        )

    def warm_up(self, device: jax.Device) -> Generator[RunEvent, None, Session]:
        """What is known of a device; its first work warms the process up."""
        yield self.progress("warming up the process")
        known, warmed = session.start(device)
        if warmed:
            yield ProcessWarmedUp(seconds=known.warm_up_seconds)
        return known
