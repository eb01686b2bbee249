"""A case in several fresh processes, and in the runs before: how far one can be off.

A process keeps the memory, the threads and the clock that it happened to get, so that
its rounds agree with each other and not with those of the next one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

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
    MemorySpan,
    Phases,
    Processes,
    Remark,
    RunFinished,
    Samples,
    Stopped,
    Summary,
)
from jaxtui.model.measurement import confidence
from jaxtui.model.own import is_own
from jaxtui.stats import MINIMUM_ROUNDS, median, rounds_interval

Ended = Measurement | Failure
"""What one process made of a case."""

ENDINGS: tuple[Stopped, ...] = (
    "crashed",
    "cancelled",
    "budget",
    "noise floor",
    "target",
)
"""How a case may have stopped; of several processes the first of these counts."""

BROKEN_OFF = ENDINGS[:2]
"""Ends whose figure is not that of a whole process."""

OF_ROUNDS = frozenset({"few-rounds"})
"""Flags of notes on an interval that is about the rounds of one process."""

_T = TypeVar("_T")


class Repetition(msgspec.Struct, frozen=True):
    """An experiment as a series of works: one for each of its processes.

    Where an engine dies, the case that it was at has failed; the next work is what it
    left, and later processes go without that case. Indices count in the cases of the
    experiment.
    """

    experiment: Experiment
    """With the budget of all processes together."""
    left: tuple[int, ...]
    """The cases of the next work, or of the one that is running."""
    done: int = 0
    """How many processes have finished."""
    ended: tuple[int, ...] = ()
    """The cases of the running work that have ended, in that order."""
    dead: tuple[int, ...] = ()
    """The cases that an engine has died over."""
    over: bool = False
    """Nothing more is run."""

    @classmethod
    def of(cls, experiment: Experiment) -> Repetition:
        return cls(experiment, tuple(range(len(experiment.cases))))

    @property
    def next_work(self) -> Experiment | None:
        """What is left, with its share of a budget that was typed."""
        if self.over:
            return None
        whole, budget = self.experiment, self.experiment.budget_seconds
        if budget is not None:
            budget *= len(self.left) / max(1, len(whole.cases))
        cases = tuple(whole.cases[index] for index in self.left)
        return msgspec.structs.replace(whole, cases=cases, budget_seconds=budget)

    @property
    def limit_seconds(self) -> float | None:
        return None

    def observe(self, event: Event) -> Repetition:
        match event:
            case CaseMeasured() | CaseFailed():
                return replace(self, ended=(*self.ended, self.left[event.index]))
            case RunFinished(outcome="complete"):
                return self._next_process()
            case RunFinished(outcome="crashed") if self.ended:
                left = tuple(one for one in self.left if one not in self.ended)
                dead = (*self.dead, self.ended[-1])
                series = replace(self, left=left, ended=(), dead=dead)
                return series if left else series._next_process()
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
    """What several processes made of one case, as one measurement.

    ``ready`` and ``dispatch`` have the median of the processes' medians, and the
    interval that these have by the sign test; ``n``, ``rounds``, ``mean``, ``max`` and
    ``outliers`` are those of all calls, and every other figure is the median of the
    processes'. A rate is there if each process has one. The error is the largest. A
    note is that of the process in the middle if it is there.

    Args:
        ended: of each process that is over, in their order, at least one.
        experiment: what was asked for.

    Returns:
        A failure where no process has a measurement. One that was broken off counts
        only if there is no other.
    """
    measured = [one for one in ended if isinstance(one, Measurement)]
    whole = [one for one in measured if one.stopped not in BROKEN_OFF]
    usable = [one for one in whole or measured[-1:] if one.ready is not None]
    if not usable:
        return next((one for one in ended if isinstance(one, Failure)), ended[0])
    asked = experiment.processes
    notes = _few(len(usable), asked, [one for one in ended if isinstance(one, Failure)])
    if len(usable) == 1:
        return msgspec.structs.replace(usable[0], notes=(*usable[0].notes, *notes))
    clocks = [one.ready for one in usable if one.ready is not None]
    ready = _together(clocks)
    stable = ready.half_width <= experiment.target_half_width
    spans = [one.memory for one in usable if one.memory is not None]
    samples = [one.samples for one in usable if one.samples]
    middle = min(usable, key=lambda one: abs(_seconds(one) - ready.median))
    return msgspec.structs.replace(
        middle,
        phases=_phases([one.phases for one in usable]),
        dispatch=_together(_present(one.dispatch for one in usable))
        if all(one.dispatch for one in usable)
        else None,
        ready=ready,
        pipelined_seconds=_median(one.pipelined_seconds for one in usable),
        flops_per_second=_rate([one.flops_per_second for one in usable]),
        bytes_per_second=_rate([one.bytes_per_second for one in usable]),
        error_vs_float64=max(
            _present(one.error_vs_float64 for one in usable), default=None
        ),
        stopped=min(_present(one.stopped for one in usable), key=ENDINGS.index),
        stable=stable and all(one.stable for one in usable),
        notes=(*_notes(usable, middle), *notes),
        memory=_memory(spans) if spans else None,
        processes=Processes(
            n=len(clocks),
            medians=tuple(one.median for one in clocks),
            low=ready.ci_low,
            high=ready.ci_high,
        ),
        samples=_samples(samples) if len(samples) == len(usable) else msgspec.UNSET,
    )


def turns(first: Sequence[Ended], second: Sequence[Ended]) -> list[tuple[float, float]]:
    """The medians of processes of one number, seconds, where both are whole."""

    def seconds(one: Ended) -> float | None:
        if isinstance(one, Failure) or one.stopped in BROKEN_OFF:
            return None
        return one.ready.median if one.ready is not None else None

    both = ((seconds(a), seconds(b)) for a, b in zip(first, second, strict=False))
    return [(a, b) for a, b in both if a is not None and b is not None]


def _together(clocks: Sequence[Summary]) -> Summary:
    interval = rounds_interval([one.median for one in clocks])
    calls = sum(one.n for one in clocks)
    return Summary(
        n=calls,
        rounds=sum(one.rounds for one in clocks),
        median=interval.median,
        mean=math.fsum(one.n * one.mean for one in clocks) / calls,
        mad=median([one.mad for one in clocks]),
        p10=median([one.p10 for one in clocks]),
        p90=median([one.p90 for one in clocks]),
        p99=median([one.p99 for one in clocks]),
        max=max(one.max for one in clocks),
        ci_low=interval.low,
        ci_high=interval.high,
        outliers=sum(one.outliers for one in clocks),
        processes=len(clocks),
    )


def _phases(usable: Sequence[Phases]) -> Phases:
    medians = {
        name: _median(getattr(one, name) for one in usable)
        for name in Phases.__struct_fields__
    }
    return Phases(**medians)


def _memory(spans: Sequence[MemorySpan]) -> MemorySpan:
    return MemorySpan(
        fresh=median([one.fresh for one in spans]),
        reused=median([one.reused for one in spans]),
        page_faults=median([one.page_faults for one in spans]),
    )


def _samples(usable: Sequence[Samples]) -> Samples:
    """All of them, process by process."""
    calls = tuple(x for one in usable for x in one.dispatch or ())
    return Samples(
        ready=tuple(x for one in usable for x in one.ready), dispatch=calls or None
    )


def _rate(rates: Sequence[float | None]) -> float | None:
    """``None`` where a process has none: a note of its says why."""
    return None if None in rates else _median(rates)


def _median(values: Iterable[float | None]) -> float | None:
    present = _present(values)
    return median(present) if present else None


def _present(values: Iterable[_T | None]) -> list[_T]:
    return [value for value in values if value is not None]


def _seconds(one: Measurement) -> float:
    return one.ready.median if one.ready is not None else math.inf


def _notes(usable: Sequence[Measurement], middle: Measurement) -> Iterable[Remark]:
    """One note of each code; where not all processes have it, it says how many."""
    for code in dict.fromkeys(note.code for one in usable for note in one.notes):
        if code in OF_ROUNDS:
            continue
        having = [one for one in usable if one.has(code)]
        one = middle if middle in having else having[0]
        note = next(note for note in one.notes if note.code == code)
        if len(having) < len(usable):
            share = {"processes_with": len(having), "processes": len(usable)}
            note = msgspec.structs.replace(note, facts={**note.facts, **share})
        yield note


def _few(usable: int, asked: int, failures: Sequence[Failure]) -> Iterable[Remark]:
    """That processes are missing, or too few for an interval of 95 %."""
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
    """Whether neither hardware nor versions nor settings of the two differ."""
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
    """That runs of the past lie outside of an interval that is about one process.

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
