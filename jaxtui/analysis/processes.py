"""A case in several fresh processes, and in the runs before: how far one can be off.

A process keeps the memory, the threads and the clock that it happened to get, so that
its rounds agree with each other and not with those of the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from jaxtui.analysis.comparison import host_facts
from jaxtui.model import (
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
from jaxtui.model.measurement import confidence
from jaxtui.model.own import is_own
from jaxtui.stats import MINIMUM_ROUNDS, rounds_interval

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
        open_cases = tuple(one for one in self.left if one not in self.ended)
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
        left = tuple(one for one in every if one not in self.dead)
        done = self.done + 1
        over = done == self.experiment.processes or not left
        return replace(self, left=left, ended=(), done=done, over=over)

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
    measured = [one for one in ended if isinstance(one, Measurement)]
    whole = [one for one in measured if one.stopped not in BROKEN_OFF]
    usable = [
        (one, one.ready) for one in whole or measured[-1:] if one.ready is not None
    ]
    failures = [one for one in ended if isinstance(one, Failure)]
    if not usable:
        return next(iter(failures), ended[0])
    few = _few(len(usable), experiment.processes, failures)
    if len(usable) == 1:
        ((only, _),) = usable
        return replace(only, notes=(*only.notes, *few))
    medians = tuple(clock.median for _, clock in usable)
    interval = rounds_interval(medians)
    middle, clock = min(usable, key=lambda one: abs(one[1].median - interval.median))
    ready = replace(
        clock,
        n=sum(clock.n for _, clock in usable),
        rounds=sum(clock.rounds for _, clock in usable),
        median=interval.median,
        ci_low=interval.low,
        ci_high=interval.high,
        processes=len(usable),
    )
    samples = [one.samples for one, _ in usable if one.samples]
    # That one is about an interval of rounds.
    notes = (note for note in middle.notes if note.code != "few-rounds")
    return replace(
        middle,
        ready=ready,
        stable=middle.stable and ready.half_width <= experiment.target_half_width,
        notes=(*notes, *few),
        processes=Processes(
            n=len(usable), medians=medians, low=interval.low, high=interval.high
        ),
        samples=_samples(samples) if samples else msgspec.UNSET,
    )


def turns(first: Sequence[Ended], second: Sequence[Ended]) -> list[tuple[float, float]]:
    """The medians of processes of one number, seconds, where both are whole."""

    def seconds(one: Ended) -> float | None:
        if isinstance(one, Failure) or one.stopped in BROKEN_OFF:
            return None
        return one.ready.median if one.ready is not None else None

    both = ((seconds(a), seconds(b)) for a, b in zip(first, second, strict=False))
    return [(a, b) for a, b in both if a is not None and b is not None]


def _samples(usable: Sequence[Samples]) -> Samples:
    """All of them, process by process."""
    calls = tuple(x for one in usable for x in one.dispatch or ())
    return Samples(
        ready=tuple(x for one in usable for x in one.ready), dispatch=calls or None
    )


def _few(usable: int, asked: int, failures: Sequence[Failure]) -> Iterable[Remark]:
    """Yield a remark if processes are missing, or too few for an interval of 95 %."""
    if asked == 1 or usable >= max(asked, MINIMUM_ROUNDS):
        return
    yield Remark(
        "few-processes",
        {"found": usable, "asked": asked, "confidence": confidence(usable)},
        "warning",
    )
    yield from dict.fromkeys(one.remark for one in failures)


# Runs of the past.


def same_machine(first: Host, second: Host) -> bool:
    """Return whether two hosts have the same hardware, versions and settings."""
    return all(one == other for _, one, other in host_facts(first, second))


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
        for one in earlier
        if (one.case, one.source) == (measured.case, measured.source)
        and (one.source or not is_own(one.case.op))
        and one.stopped not in BROKEN_OFF
        and not one.has("contended")
        for seconds in _medians(one)
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


def _medians(one: Measurement) -> Sequence[float]:
    if one.processes is not None:
        return one.processes.medians
    return () if one.ready is None else (one.ready.median,)
