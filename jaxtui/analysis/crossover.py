"""Where one way of running an op overtakes another: two curves, and where they cross.

A curve is what was measured at some sizes; two of them cross between neighbouring sizes
at which it is certain who is faster. The search for a crossing is one immutable record:
``session`` runs its ``next_work``, gives every event to ``observe``, and repeats that
until there is no next one. First comes a coarse grid of sizes, from small to large;
then bisection closes in on the last crossing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import msgspec
from msgspec.structs import replace

from jaxtui import stats
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
from jaxtui.model.measurement import Interval, confidence
from jaxtui.model.own import is_own
from jaxtui.stats import MINIMUM_ROUNDS, break_even_calls

Side = Literal["first", "second"]
"""The two that are compared, in the order in which they were named."""

SIDES: tuple[Side, Side] = ("first", "second")

LEAST_CONFIDENCE = 2 * confidence(MINIMUM_ROUNDS) - 1
"""Of a ratio that says who is faster: that of two clocks of six rounds each."""

CLOSE = 1.1
"""Two sizes are so close that nothing between them is tried: what a crossing moves by
from one process to the next is more."""

BUDGET_SECONDS = 60.0
"""Of a search, unless another one is named."""

LEAST_SECONDS = 0.8
"""For sampling two cases at one size, beside what their cold paths take."""

MOST_SECONDS = 6.0
"""For one size; more does not make rounds more independent of each other."""

BISECTIONS = 8
"""Which the budget is shared with during the grid: they close in from a factor of ten
to ``CLOSE`` on both sides of a size at which nobody is faster."""

Outcome = Literal["complete", "budget", "cancelled", "incomplete"]
"""How a search ends: as close as it gets, with more to do and no time for it, by the
user, or because an engine died: that says nothing about a size, least of all that it
is too large."""


def other(side: Side) -> Side:
    """The one that it is compared with."""
    return "second" if side == "first" else "first"


# Where two curves cross.


class Crossing(Record, frozen=True, kw_only=True):
    """A change of who is faster, between two sizes at which that is certain."""

    below: int
    """The largest size at which the other one is still faster."""
    above: int
    """The smallest size at which this one is."""
    at: int
    """About where they are as fast, interpolated."""
    faster: Side
    """Who is faster above."""
    undecided: tuple[int, ...] = ()
    """Sizes between at which nobody is faster for sure."""


def leader(ratio: Interval | None) -> Side | None:
    """Who is faster by the first one's seconds over the second one's; ``None`` where
    that may be 1, or rests on too few rounds.
    """
    if ratio is None or ratio.confidence < LEAST_CONFIDENCE:
        return None
    if ratio.high < 1:
        return "first"
    return "second" if ratio.low > 1 else None


def ratio_of(
    first: Measurement,
    second: Measurement,
    rounds: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> Interval | None:
    """The first one's seconds per call over the second one's; see ``stats.ratio``.

    Where a result is wrong there is no ratio, and of that of a figure outside of its
    own memory span nothing is known.
    """
    both = first, second
    if first.ready is None or second.ready is None:
        return None
    if any(side.has("wrong-result") or side.has("inaccurate") for side in both):
        return None
    ratio = stats.ratio(first.ready.interval, second.ready.interval, rounds)
    if ratio and any(side.has("outside-span") for side in both):
        return replace(ratio, confidence=0.0)
    return ratio


def last_crossing(ratios: Sequence[tuple[int, Interval]]) -> Crossing | None:
    """The last crossing of two curves; ``None`` where the same one is faster wherever
    it is certain who is.

    Args:
        ratios: the first one's seconds over the second one's, with their sizes, in
            ascending order of these.
    """
    certain = [(*point, side) for point in ratios if (side := leader(point[1]))]
    for (below, low, before), (above, high, after) in reversed([*pairwise(certain)]):
        if before != after:
            at = crossing_size(
                (below, above), (math.log(low.median), math.log(high.median))
            )
            inner = tuple(size for size, _ in ratios if below < size < above)
            return Crossing(
                below=below, above=above, at=round(at), faster=after, undecided=inner
            )
    return None


def crossing_size(sizes: tuple[float, float], log_ratios: tuple[float, float]) -> float:
    """Where a ratio passes 1, straight between two sizes on logarithmic axes.

    Args:
        sizes: both.
        log_ratios: there; one below zero and one above.
    """
    (start, end), (low, high) = sizes, log_ratios
    return start * math.exp(math.log(end / start) * low / (low - high))


def bisection(crossing: Crossing) -> int | None:
    """The next size that closes in on a crossing; ``None`` where it is close.

    Where nobody is faster at some sizes, either end of that stretch is looked for.
    """
    sizes = (crossing.below, *crossing.undecided, crossing.above)
    for low, high in (sizes[:2], sizes[-2:]):
        between = round(math.sqrt(low * high))
        if high > CLOSE * low and low < between < high:
            return between
    return None


# What the measured sizes say.


class Point(msgspec.Struct, frozen=True):
    """Both sides at one size, measured in turns."""

    size: int
    first: Measurement
    second: Measurement
    rounds: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    """Of each side: the median call of every round, seconds."""

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
    """Who is faster where, per call."""

    low: int
    high: int
    """The range of the sizes that were measured."""
    faster: Side | None
    """At the largest size at which that is certain; ``None`` if it is at none."""
    crossing: Crossing | None
    """The last one."""
    undecided: tuple[int, ...]
    """All sizes at which it is not certain who is faster."""


def answer(points: Sequence[Point]) -> Answer | None:
    """Who is faster where; ``None`` where nothing was measured."""
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
    """Whose first call."""
    calls: int | None
    """``None``: never, as it is not certain that its calls are faster."""


def payback(point: Point) -> Payback | None:
    """When the first call of the one that starts more slowly is repaid.

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
    mine, theirs = point.of(side).ready, point.of(other(side)).ready
    assert mine is not None
    assert theirs is not None
    calls = None
    if point.faster == side:
        # Both have paid for a first call: what counts is by how much it is longer.
        longer = first - second if side == "first" else second - first
        calls = break_even_calls(longer + theirs.median, mine.median, theirs.median)
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
    """The sizes that are left, the one that is being measured, and the figures."""

    first: Case
    second: Case
    """What is compared; their size means nothing."""
    waiting: tuple[int, ...]
    """The rest of the grid, ascending."""
    budget_seconds: float
    seed: int = 0
    points: tuple[Point, ...] = ()
    """What was measured, by size."""
    failures: tuple[Failure, ...] = ()
    tried: tuple[int, ...] = ()
    """All sizes that were measured or failed, as they came."""
    spent_seconds: float = 0.0
    size: int | None = None
    """The one that is being measured."""
    results: tuple[Measurement | Failure, ...] = ()
    """Of that size."""
    rounds: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    """Of that size."""
    outcome: Outcome | None = None
    """``None`` while there is more to do."""

    @property
    def next_size(self) -> int | None:
        """What comes next; ``None`` during a size, and at the end."""
        if self.size is not None or self.outcome is not None:
            return None
        if self.waiting:
            return self.waiting[0]
        crossing = self.answer and self.answer.crossing
        size = bisection(crossing) if crossing else None
        return None if size in self.tried else size

    @property
    def next_work(self) -> Experiment | None:
        size = self.next_size
        if size is None:
            return None
        cases = tuple(
            msgspec.structs.replace(case, size=size)
            for case in (self.first, self.second)
        )
        return Experiment(cases=cases, budget_seconds=self._share(), seed=self.seed)

    @property
    def limit_seconds(self) -> float | None:
        return None

    @property
    def answer(self) -> Answer | None:
        return answer(self.points)

    @property
    def paybacks(self) -> tuple[Payback, ...]:
        return tuple(repaid for point in self.points if (repaid := payback(point)))

    @property
    def left_seconds(self) -> float:
        return max(0.0, self.budget_seconds - self.spent_seconds)

    @property
    def least_seconds(self) -> float:
        """What one size takes at least, judged by the cold paths of the last one."""
        if not self.points:
            return LEAST_SECONDS
        last = self.points[-1]
        return LEAST_SECONDS + sum(
            side.phases.cold_seconds + (side.phases.transfer or 0.0)
            for side in (last.first, last.second)
        )

    def observe(self, event: Event) -> Search:
        if self.outcome is not None:
            return self
        match event:
            case RunStarted(cases=cases) if cases:
                return replace(self, size=cases[0].size, results=(), rounds=((), ()))
            case Sampled(index=0):
                first, second = self.rounds
                return replace(self, rounds=((*first, event.ready_median), second))
            case Sampled(index=1):
                first, second = self.rounds
                return replace(self, rounds=(first, (*second, event.ready_median)))
            case CaseMeasured(measurement=measurement):
                return replace(self, results=(*self.results, measurement))
            case CaseFailed(failure=failure):
                return replace(self, results=(*self.results, failure))
            case RunFinished():
                return _finish(self, event)
            case _:
                return self

    def overdue(self) -> Search:
        """Never called: there is no limit."""
        return self

    def stopped(self) -> Search:
        return replace(self, size=None, results=(), outcome="cancelled")

    def lost(self, why: Remark | None = None) -> Search:
        return replace(self, size=None, results=(), outcome="incomplete")

    def _share(self) -> float:
        """Seconds for the next size."""
        steps = len(self.waiting) + BISECTIONS
        fair = min(MOST_SECONDS, self.left_seconds / steps)
        least = min(self.least_seconds, self.left_seconds)
        return max(fair, least, LEAST_SECONDS / 2)


def begin(
    first: Case,
    second: Case,
    sizes: Sequence[int],
    budget_seconds: float,
    seed: int = 0,
    points: Sequence[Point] = (),
) -> Search:
    """A search over a grid of sizes.

    Args:
        first: what is compared; its size means nothing.
        second: with what.
        sizes: of the grid.
        budget_seconds: for the whole search, compile included.
        seed: of the inputs.
        points: what is measured already, by size.
    """
    grid = tuple(sorted({*sizes} - {point.size for point in points}))
    search = Search(first, second, grid, budget_seconds, seed, tuple(points))
    return replace(search, outcome=None if search.next_size else "complete")


def _finish(state: Search, event: RunFinished) -> Search:
    if event.outcome == "cancelled":
        return state.stopped()
    spent = state.spent_seconds + max(0.0, event.elapsed_seconds)
    state = replace(state, spent_seconds=spent)
    if state.size is not None:
        state = _with_results(state, state.size)
    if event.outcome == "crashed":
        return state.lost()
    waiting = tuple(size for size in state.waiting if size != state.size)
    reached = max((point.size for point in state.points), default=None)
    if reached is not None:
        # Where a size is too much, so is each above it.
        limit = min((size for size in state.tried if size > reached), default=math.inf)
        waiting = tuple(size for size in waiting if size < limit)
    state = replace(state, waiting=waiting, size=None, results=())
    if state.next_size is None:
        return replace(state, outcome="complete")
    if state.left_seconds < state.least_seconds / 2:
        return replace(state, outcome="budget")
    return state


def _with_results(state: Search, size: int) -> Search:
    """With the point of a size, or with why there is none."""
    by_case = {
        _side(result.case): result
        for result in state.results
        if isinstance(result, Measurement)
        and result.ready is not None
        and result.stopped != "crashed"
    }
    first, second = by_case.get(_side(state.first)), by_case.get(_side(state.second))
    state = replace(state, tried=(*state.tried, size))
    if first is not None and second is not None:
        point = Point(size, first, second, state.rounds)
        points = sorted((*state.points, point), key=lambda point: point.size)
        return replace(state, points=tuple(points))
    failures = [result for result in state.results if isinstance(result, Failure)]
    return replace(state, failures=(*state.failures, *failures))


def _side(case: Case) -> Case:
    """What tells the two sides apart; the dtype of a function is that of its arguments,
    which are not known before.
    """
    dtype = "" if is_own(case.op) else case.dtype
    return msgspec.structs.replace(case, size=0, dtype=dtype)
