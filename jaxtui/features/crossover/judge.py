"""The search for the size at which one way of running an op overtakes another.

It is one immutable record of two runs: all sizes of a grid take turns, then some sizes
around the last crossing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from jaxtui.analysis.crossing import (
    CLOSE,
    Crossing,
    Side,
    last_crossing,
    leader,
    other,
    ratio_of,
)
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    Event,
    Experiment,
    Failure,
    Measurement,
    Record,
    Remark,
    RunFinished,
    RunStarted,
    Sampled,
)
from jaxtui.model.measurement import Interval
from jaxtui.stats import MINIMUM_ROUNDS, break_even_calls

SIDES: tuple[Side, Side] = ("first", "second")

BUDGET_SECONDS = 12.0
"""Seconds of a search, unless others are given: with starts and compiles half a
minute."""

GRID_SHARE = 0.65
"""Fraction of the budget for the grid; the rest is for the sizes around a crossing."""

AROUND = 3
"""Sizes between the two of the grid that a crossing lies between."""

Outcome = Literal["complete", "cancelled", "incomplete"]
"""The end of a search: complete, cancelled by the user, or incomplete because an engine
died: that says nothing about a size, least of all that it is too large."""


# What the measured sizes say.


class Point(msgspec.Struct, frozen=True):
    """The two sides at one size, measured in turns."""

    size: int
    first: Measurement
    second: Measurement
    rounds: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    """The rounds of each side: the median call of every round, seconds."""

    def of(self, side: Side) -> Measurement:
        return self.first if side == "first" else self.second

    @property
    def ratio(self) -> Interval | None:
        """The first one's seconds per call over the second one's."""
        return ratio_of(self.first, self.second, self.rounds)

    @property
    def faster(self) -> Side | None:
        """``None`` where that is not certain."""
        return leader(self.ratio)


class Answer(Record, frozen=True, kw_only=True):
    """The faster side by size, per call."""

    low: int
    high: int
    """The range of the sizes that were measured."""
    faster: Side | None
    """The faster side at the largest size at which it is certain; ``None`` if it is at
    none."""
    crossing: Crossing | None
    """The last one."""
    undecided: tuple[int, ...]
    """All sizes at which it is not certain who is faster."""


def answer(points: Sequence[Point]) -> Answer | None:
    """Return the faster side by size; ``None`` where nothing was measured."""
    ratios = [(point.size, ratio) for point in points if (ratio := point.ratio)]
    if not ratios:
        return None
    certain = [side for _, ratio in ratios if (side := leader(ratio))]
    return Answer(
        low=ratios[0][0],
        high=ratios[-1][0],
        faster=certain[-1] if certain else None,
        crossing=last_crossing(ratios),
        undecided=tuple(size for size, ratio in ratios if leader(ratio) is None),
    )


class Payback(Record, frozen=True, kw_only=True):
    """After how many calls a first call, compile included, is repaid at one size."""

    size: int
    side: Side
    """The side of this first call."""
    calls: int | None
    """``None``: never, as it is not certain that its calls are faster."""


def payback(point: Point) -> Payback | None:
    """Return when the first call of the slower starter is repaid.

    ``None`` where nothing is compiled, or a first call was not measured.
    """
    first, second = _first_call(point.first), _first_call(point.second)
    if first is None or second is None:
        return None
    hosts = [point.of(side).case.on_host for side in SIDES]
    if all(hosts):
        return None
    side: Side = "second" if hosts[0] else "first"
    if not any(hosts):
        side = "first" if first > second else "second"
    slow, fast = point.of(side).ready, point.of(other(side)).ready
    assert slow is not None
    assert fast is not None
    calls = None
    if point.faster == side:
        # Both have paid for a first call: what counts is by how much it is longer.
        longer = first - second if side == "first" else second - first
        calls = break_even_calls(longer + fast.median, slow.median, fast.median)
    return Payback(size=point.size, side=side, calls=calls)


def _first_call(measurement: Measurement) -> float | None:
    """Seconds of the first call, compile included; on the host it is like any other."""
    phases = measurement.phases
    if measurement.ready is None:
        return None
    if measurement.case.on_host:
        return measurement.ready.median
    return None if phases.first_call is None else phases.cold_seconds


# The search.


class Search(msgspec.Struct, frozen=True):
    """The sizes of the next run, of the one that is being measured, and the figures."""

    first: Case
    second: Case
    """The two sides that are compared; their size means nothing."""
    waiting: tuple[int, ...]
    """Sizes of the next run, ascending."""
    budget_seconds: float
    """Seconds of both runs."""
    seed: int = 0
    points: tuple[Point, ...] = ()
    """The measured sizes, in order."""
    failures: tuple[Failure, ...] = ()
    slow: tuple[int, ...] = ()
    """Sizes at which a call takes too long for an interval."""
    running: tuple[Case, ...] = ()
    """The cases that are being measured: the first side of each size, the second."""
    results: Mapping[int, Measurement | Failure] = {}
    """The results of the running cases so far, by index."""
    rounds: Mapping[int, tuple[float, ...]] = {}
    """The rounds of the running cases: the median call of every round, seconds."""
    refining: bool = False
    """The grid is measured; what waits or runs lies around the crossing."""
    outcome: Outcome | None = None
    """``None`` while there is more to do."""

    @property
    def next_work(self) -> Experiment | None:
        if self.running or self.outcome is not None:
            return None
        cases = tuple(
            msgspec.structs.replace(case, size=size)
            for size in self.waiting
            for case in (self.first, self.second)
        )
        share = 1 - GRID_SHARE if self.refining else GRID_SHARE
        return Experiment(
            cases=cases, budget_seconds=share * self.budget_seconds, seed=self.seed
        )

    @property
    def limit_seconds(self) -> float | None:
        return None

    @property
    def answer(self) -> Answer | None:
        return answer(self.points)

    @property
    def paybacks(self) -> tuple[Payback, ...]:
        return tuple(repaid for point in self.points if (repaid := payback(point)))

    def observe(self, event: Event) -> Search:
        if self.outcome is not None:
            return self
        match event:
            case RunStarted(cases=cases):
                return replace(self, running=cases, results={}, rounds={})
            case Sampled(index=index, measurement=measurement):
                rounds = (*self.rounds.get(index, ()), event.ready_median)
                return replace(
                    self,
                    results={**self.results, index: measurement},
                    rounds={**self.rounds, index: rounds},
                )
            case CaseMeasured(index=index, measurement=measurement):
                return replace(self, results={**self.results, index: measurement})
            case CaseFailed(index=index, failure=failure):
                return replace(self, results={**self.results, index: failure})
            case RunFinished(outcome="complete"):
                return _next_run(_with_results(self))
            case RunFinished(outcome="cancelled"):
                return self.stopped()
            case RunFinished():
                return self.lost()
            case _:
                return self

    def overdue(self) -> Search:
        """Never called: there is no limit."""
        return self

    def stopped(self) -> Search:
        results = {
            index: replace(result, stopped=result.stopped or "cancelled")
            if isinstance(result, Measurement)
            else result
            for index, result in self.results.items()
        }
        ended = replace(self, results=results)
        return replace(_with_results(ended), outcome="cancelled")

    def lost(self, why: Remark | None = None) -> Search:
        return replace(_with_results(self), outcome="incomplete")


def begin(
    first: Case,
    second: Case,
    sizes: Sequence[int],
    budget_seconds: float,
    seed: int = 0,
) -> Search:
    """A search over a grid of sizes.

    Args:
        first: what is compared; its size means nothing.
        second: with what.
        sizes: of the grid.
        budget_seconds: for measuring.
        seed: of the inputs.
    """
    return Search(first, second, tuple(sorted({*sizes})), budget_seconds, seed)


def around(
    first: Case, second: Case, points: Sequence[Point], budget_seconds: float
) -> Search:
    """The second half of a search whose grid is measured already."""
    return _next_run(Search(first, second, (), budget_seconds, points=tuple(points)))


def _next_run(state: Search) -> Search:
    """Plan the sizes around the crossing, once; else end the search."""
    crossing = state.answer and state.answer.crossing
    if state.refining or not crossing or crossing.above <= CLOSE * crossing.below:
        return replace(state, waiting=(), outcome="complete")
    ratio = crossing.above / crossing.below
    between = {
        round(crossing.below * ratio ** (step / (AROUND + 1)))
        for step in range(1, AROUND + 1)
    }
    measured = {point.size for point in state.points}
    sizes = tuple(sorted(between - measured))
    over = None if sizes else "complete"
    return replace(state, waiting=sizes, refining=True, outcome=over)


def _with_results(state: Search) -> Search:
    """Add a point for each size at which both sides have an interval."""
    points, slow, failures = [*state.points], [*state.slow], [*state.failures]
    for index in range(0, len(state.running), 2):
        size = state.running[index].size
        results = [state.results.get(place) for place in (index, index + 1)]
        failed = [failure for failure in results if isinstance(failure, Failure)]
        if any(failure.remark.code == "too-slow" for failure in failed):
            slow.append(size)
            continue
        failures += failed
        first, second = results
        if not isinstance(first, Measurement) or not isinstance(second, Measurement):
            continue
        if min(_rounds(first), _rounds(second)) < MINIMUM_ROUNDS:
            slow.append(size)
            continue
        rounds = (state.rounds.get(index, ()), state.rounds.get(index + 1, ()))
        points.append(Point(size, first, second, rounds))
    points.sort(key=lambda point: point.size)
    return replace(
        state,
        points=tuple(points),
        slow=tuple(slow),
        failures=tuple(failures),
        running=(),
        results={},
        rounds={},
    )


def _rounds(measurement: Measurement) -> int:
    return measurement.ready.rounds if measurement.ready else 0
