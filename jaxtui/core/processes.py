"""A case in several fresh processes, and in the runs before: how far one can be off.

A process keeps the memory, the threads and the clock that it happened to get, so that
its rounds agree with each other and not with those of the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from jaxtui.core.comparison import host_facts
from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    Event,
    Experiment,
    Failure,
    Host,
    Measurement,
    Processes,
    Remark,
    RunFinished,
    Samples,
    Stopped,
)
from jaxtui.core.model.measurement import confidence
from jaxtui.core.model.own import is_own
from jaxtui.core.stats import MINIMUM_ROUNDS, rounds_interval

Ended = Measurement | Failure
"""The result of a case in one process."""

BROKEN_OFF: tuple[Stopped, ...] = ("crashed", "cancelled")
"""Ends whose figure is not that of a whole process."""


class Repetition(msgspec.Struct, frozen=True):
    """An experiment as a series of works: one for each of its processes.

    An engine may leave cases to the next work. Where it dies, the case that it was at
    has failed, and later processes go without that. Indices count in the cases of the
    experiment.
    """

    experiment: Experiment
    """The experiment, with the budget of all processes together."""
    left: tuple[int, ...]
    """The cases of the next work, or of the one that is running."""
    done: int = 0
    """The number of processes that have finished."""
    ended: tuple[int, ...] = ()
    """The cases of the running work that have ended, in that order."""
    dead: tuple[int, ...] = ()
    """The cases that an engine has died over."""
    over: bool = False
    """True if nothing more is run."""

    @classmethod
    def of(cls, experiment: Experiment) -> Repetition:
        return cls(experiment, tuple(range(len(experiment.cases))))

    @property
    def next_work(self) -> Experiment | None:
        """The remaining work, with its share of a budget that was typed."""
        if self.over:
            return None
        whole, budget = self.experiment, self.experiment.budget_seconds
        if budget is not None:
            budget *= len(self.left) / max(1, len(whole.cases))
        cases = tuple(whole.cases[index] for index in self.left)
        return replace(whole, cases=cases, budget_seconds=budget)

    @property
    def limit_seconds(self) -> float | None:
        return None

    def observe(self, event: Event) -> Repetition:
        open_cases = tuple(index for index in self.left if index not in self.ended)
        match event:
            case CaseMeasured() | CaseFailed():
                return replace(self, ended=(*self.ended, self.left[event.index]))
            case RunFinished(outcome="complete") if open_cases and self.ended:
                # A file has set something for its engine, which has left the others.
                return replace(self, left=open_cases, ended=())
            case RunFinished(outcome="complete"):
                return self._next_process()
            case RunFinished(outcome="crashed") if self.ended:
                dead = (*self.dead, self.ended[-1])
                series = replace(self, left=open_cases, ended=(), dead=dead)
                return series if open_cases else series._next_process()
            case RunFinished():
                return self.stopped()
            case _:
                return self

    def _next_process(self) -> Repetition:
        every = range(len(self.experiment.cases))
        open_cases = tuple(index for index in every if index not in self.dead)
        finished = self.done + 1
        over = finished == self.experiment.processes or not open_cases
        return replace(self, left=open_cases, ended=(), done=finished, over=over)

    def overdue(self) -> Repetition:
        return self

    def stopped(self) -> Repetition:
        return replace(self, over=True)

    def lost(self, why: Remark) -> Repetition:
        return self.stopped()


def fold(ended: Sequence[Ended], experiment: Experiment) -> Ended:
    """Make one measurement of a case from those of several processes.

    ``ready`` has the median of the processes' medians, the interval that these have by
    the sign test, and the number of all calls and rounds; samples are those of all. All
    else is that of the process whose median is nearest to it.

    Args:
        ended: of each process that is over, in their order, at least one.
        experiment: what was asked for.

    Returns:
        A failure where no process has a measurement. One that was broken off counts
        only if there is no other.
    """
    measured = [result for result in ended if isinstance(result, Measurement)]
    whole = [result for result in measured if result.stopped not in BROKEN_OFF]
    usable = [
        (result, result.ready)
        for result in whole or measured[-1:]
        if result.ready is not None
    ]
    failures = [result for result in ended if isinstance(result, Failure)]
    if not usable:
        return next(iter(failures), ended[0])
    too_few = _missing(len(usable), experiment.processes, failures)
    if len(usable) == 1:
        ((only, _),) = usable
        return replace(only, notes=(*only.notes, *too_few))
    medians = tuple(clock.median for _, clock in usable)
    interval = rounds_interval(medians)
    middle, clock = min(
        usable, key=lambda result: abs(result[1].median - interval.median)
    )
    ready = replace(
        clock,
        n=sum(clock.n for _, clock in usable),
        rounds=sum(clock.rounds for _, clock in usable),
        median=interval.median,
        ci_low=interval.low,
        ci_high=interval.high,
        processes=len(usable),
    )
    samples = [result.samples for result, _ in usable if result.samples]
    # That one is about an interval of rounds.
    notes = (note for note in middle.notes if note.code != "few-rounds")
    return replace(
        middle,
        ready=ready,
        stable=middle.stable and ready.half_width <= experiment.target_half_width,
        notes=(*notes, *too_few),
        processes=Processes(
            n=len(usable), medians=medians, low=interval.low, high=interval.high
        ),
        samples=_samples(samples) if samples else msgspec.UNSET,
    )


def turns(first: Sequence[Ended], second: Sequence[Ended]) -> list[tuple[float, float]]:
    """The medians of processes of one number, seconds, where both are whole."""

    def seconds(result: Ended) -> float | None:
        if isinstance(result, Failure) or result.stopped in BROKEN_OFF:
            return None
        return result.ready.median if result.ready is not None else None

    rounds = ((seconds(a), seconds(b)) for a, b in zip(first, second, strict=False))
    return [(a, b) for a, b in rounds if a is not None and b is not None]


def _samples(usable: Sequence[Samples]) -> Samples:
    """All of them, process by process."""
    calls = tuple(x for part in usable for x in part.dispatch or ())
    return Samples(
        ready=tuple(x for part in usable for x in part.ready),
        dispatch=calls or None,
    )


def _missing(
    usable: int, processes: int, failures: Sequence[Failure]
) -> Iterable[Remark]:
    """Yield a remark if processes are missing, or too few for an interval of 95 %."""
    if processes == 1 or usable >= max(processes, MINIMUM_ROUNDS):
        return
    yield Remark(
        "few-processes",
        {"found": usable, "asked": processes, "confidence": confidence(usable)},
        "warning",
    )
    yield from dict.fromkeys(failure.remark for failure in failures)


# Runs of the past.


def same_machine(first: Host, second: Host) -> bool:
    """Return whether two hosts have the same hardware, versions and settings."""
    return all(before == after for _, before, after in host_facts(first, second))


def spread(measured: Measurement, earlier: Sequence[Measurement]) -> list[float]:
    """The medians that a case has had, seconds.

    What was broken off has none, and other programs are no property of the case. A
    function whose source nobody kept may have been another one.

    Args:
        measured: the case, and the source if it is a function of a file.
        earlier: on the same machine.
    """
    return [
        seconds
        for measurement in earlier
        if (measurement.case, measurement.source) == (measured.case, measured.source)
        and (measurement.source or not is_own(measurement.case.op))
        and measurement.stopped not in BROKEN_OFF
        and not measurement.has("contended")
        for seconds in _medians(measurement)
    ]


def earlier_runs(
    measured: Measurement, earlier: Sequence[Measurement]
) -> Remark | None:
    """Return a remark if earlier runs lie outside of an interval that is about one
    process.

    Args:
        measured: the new one.
        earlier: of the same case, on the same machine.
    """
    ready = measured.ready
    if ready is None or measured.processes is not None:
        return None
    medians = spread(measured, earlier)
    if all(ready.ci_low <= seconds <= ready.ci_high for seconds in medians):
        return None
    return Remark(
        "earlier-runs",
        {"low": min(medians), "high": max(medians), "runs": len(medians)},
        "warning",
    )


def _medians(measurement: Measurement) -> Sequence[float]:
    if measurement.processes is not None:
        return measurement.processes.medians
    return () if measurement.ready is None else (measurement.ready.median,)
