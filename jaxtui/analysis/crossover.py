"""Where one way of running an op overtakes another: costs, answers and the search.

The search is one immutable record. ``session`` runs its ``next_work``, gives every
event to ``observe``, and repeats that until there is no next one. First comes a coarse
grid of sizes, from small to large; then the last crossing of each clock is closed in
on by bisection.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import msgspec

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
    RunFinished,
    RunStarted,
    Sampled,
)
from jaxtui.model.own import is_own
from jaxtui.stats import MINIMUM_ROUNDS, Interval, break_even_calls, interval_of

Clock = Literal["call", "call_and_transfers", "first_call", "first_call_and_transfers"]
"""What is counted: a warm call alone, or with its arguments sent and its result
fetched; and the same for the very first call, which is traced, lowered and compiled."""

CLOCKS: tuple[Clock, ...] = (
    "call",
    "call_and_transfers",
    "first_call",
    "first_call_and_transfers",
)

Side = Literal["first", "second"]
"""The two that are compared, in the order in which they were named."""

SIDES: tuple[Side, Side] = ("first", "second")

Rounds = tuple[tuple[float, ...], tuple[float, ...]]
"""Of each side: the median call of every round, seconds."""

NO_ROUNDS: Rounds = ((), ())

DOUBT = 0.2
"""What is given to figures that have no interval, either way: single observations
(compile), a few copies in a row (transfers), fewer than six rounds."""

MIXED = 2.0
"""Three changes within so many times the smallest size are one: there the two are as
fast, and what else runs on the machine decides."""

CLOSE = 1.1
"""A crossing is found when the larger size is at most so many times the smaller."""

EDGE = 1.25
"""Likewise for either end of a stretch in which no difference can be measured: it is
no sharp place, so that a closer look would find another one each time."""

FINE = 2.0
"""How coarse the grid may stay beside a size at which no difference can be measured."""

LEAST_SECONDS = 0.8
"""For sampling two cases at one size, beside what their cold paths take."""

MOST_SECONDS = 6.0
"""For one size; more does not make rounds more independent of each other."""

REFINEMENTS = 8
"""Bisections that the budget is kept for during the grid."""

REACH = 1.5
"""How far above the largest size that worked the search looks for a still larger one,
when the next one of the grid was too much."""

Found = Literal["crossing", "always", "even", "unknown"]

Outcome = Literal["complete", "budget", "cancelled", "incomplete"]
"""How a search ends: as close as it gets, with more to do and no time for it, by the
user, or because an engine died: that says nothing about a size, least of all that it
is too large."""


# What one call costs.


def clocks(first: Case, second: Case) -> tuple[Clock, ...]:
    """The clocks that can tell two cases of one op and size apart.

    Two cases that need the same arguments at the same place pay the same for sending
    them; nothing is compiled for what runs on the host alone.
    """
    places = [
        (one.device,) if one.on_host else (one.device, one.dtype, one.inputs)
        for one in (first, second)
    ]
    sent = places[0] != places[1]
    compiled = not (first.on_host and second.on_host)
    return tuple(
        clock
        for clock in CLOCKS
        if (sent or "transfers" not in clock) and (compiled or "first" not in clock)
    )


def cost(measurement: Measurement, clock: Clock) -> Interval | None:
    """The seconds of a call by this clock; ``None`` if they were not measured.

    The transfers are the measured phases ``transfer`` and ``fetch`` of fresh arrays,
    added to a call whose inputs are resident; a call whose inputs are on the host sends
    them itself. What runs on the host has neither transfers nor anything to compile.
    """
    case, phases = measurement.case, measurement.phases
    found = _warm(measurement)
    if found is None or case.on_host:
        return found
    if "first" in clock:
        if phases.first_call is None:
            return None
        found = _plus(Interval(0.0, 0.0, 0.0), phases.cold_seconds)
    if "transfers" not in clock:
        return found
    sent = 0.0 if case.inputs == "host" else phases.transfer
    if sent is None or phases.fetch is None:
        return None
    return _plus(found, sent + phases.fetch)


def _warm(measurement: Measurement) -> Interval | None:
    ready = measurement.ready
    if ready is None or ready.median <= 0:
        return None
    found = interval_of(ready)
    if ready.rounds >= MINIMUM_ROUNDS:
        return found
    return found._replace(
        low=min(found.low, (1 - DOUBT) * found.median),
        high=max(found.high, (1 + DOUBT) * found.median),
    )


def _plus(found: Interval, more: float) -> Interval:
    """With seconds that have no interval of their own."""
    return Interval(
        found.low + (1 - DOUBT) * more,
        found.median + more,
        found.high + (1 + DOUBT) * more,
    )


def start_seconds(measurement: Measurement) -> float | None:
    """What a user pays until the first result is there, arguments sent once: compile
    and first transfer included; ``None`` if it was not measured.
    """
    if measurement.case.on_host:
        return measurement.ready.median if measurement.ready else None
    phases = measurement.phases
    if phases.first_call is None:
        return None
    sent = 0.0 if measurement.case.inputs == "host" else phases.transfer or 0.0
    return phases.cold_seconds + sent


# One size.


@dataclass(frozen=True, slots=True)
class Point:
    """Both sides at one size, measured in turns."""

    size: int
    first: Measurement
    second: Measurement
    rounds: Rounds = NO_ROUNDS

    def of(self, side: Side) -> Measurement:
        return self.first if side == "first" else self.second


def other(side: Side) -> Side:
    """The one that it is compared with."""
    return "second" if side == "first" else "first"


def ratio(point: Point, clock: Clock) -> Interval | None:
    """The first one's seconds over the second one's, by a clock; ``None`` where one of
    the two was not measured. Only warm calls were taken in turns.
    """
    first, second = cost(point.first, clock), cost(point.second, clock)
    if first is None or second is None:
        return None
    rounds = point.rounds if clock == "call" else NO_ROUNDS
    return stats.ratio(first, second, rounds)


def has_few_rounds(point: Point) -> bool:
    """Whether one of the two has no interval of its own, so that nothing follows."""
    clocks = (point.first.ready, point.second.ready)
    return any(one is not None and one.rounds < MINIMUM_ROUNDS for one in clocks)


def faster(point: Point, clock: Clock) -> Side | Literal["even"] | None:
    """Which one is faster; ``even`` if the ratio may be 1 or there were too few rounds,
    ``None`` if unknown.
    """
    found = ratio(point, clock)
    if found is None:
        return None
    if has_few_rounds(point):
        return "even"
    if found.high < 1:
        return "first"
    return "second" if found.low > 1 else "even"


def middle(low: int, high: int) -> int:
    """The size halfway between two on a logarithmic axis."""
    return round(math.sqrt(low * high))


def crossing_size(sizes: Sequence[float], log_ratios: Sequence[float]) -> float:
    """Where the ratio passes 1, straight between neighbours on logarithmic axes.

    Returns:
        The last such place; halfway between the ends if there is none.
    """
    for index in reversed(range(len(sizes) - 1)):
        low, high = log_ratios[index], log_ratios[index + 1]
        if (low < 0) != (high < 0):
            step = math.log(sizes[index + 1] / sizes[index])
            return sizes[index] * math.exp(step * low / (low - high))
    return math.sqrt(sizes[0] * sizes[-1])


# What the measured sizes say.


class Crossing(Record, frozen=True, kw_only=True):
    """A change of who is faster, between two sizes at which that is beyond doubt."""

    below: int
    """The largest size at which the other one is still faster."""
    above: int
    """The smallest size from which on this one is."""
    at: int
    """About where they are as fast, interpolated."""
    faster: Side
    """Who is faster above."""
    undecided: tuple[int, ...] = ()
    """Sizes between at which no difference could be measured."""
    mixed: bool = False
    """At the undecided sizes it was now the one that was faster, now the other."""


class Answer(Record, frozen=True, kw_only=True):
    """Who is faster where, by one clock."""

    clock: Clock
    found: Found
    """``always``: the same one at every size at which there is a difference; ``even``:
    there is none anywhere that could be told; ``unknown``: nothing was measured."""
    low: int | None = None
    high: int | None = None
    """The range of the sizes that were measured."""
    faster: Side | None = None
    """Who is faster at the largest size at which there is a difference."""
    sure: int | None = None
    """That size."""
    crossings: tuple[Crossing, ...] = ()
    """Every one, in the order of sizes; the last one is the answer."""
    even: tuple[int, ...] = ()
    """All sizes at which no difference could be measured."""
    few: tuple[int, ...] = ()
    """Those among them that had too few rounds to tell."""

    @property
    def crossing(self) -> Crossing | None:
        return self.crossings[-1] if self.crossings else None


class Payback(Record, frozen=True, kw_only=True):
    """How many calls it takes until a start has paid, at one size."""

    size: int
    side: Side
    """Whose start (compile and first transfer) has to pay."""
    calls: int | None
    """``None``: never, as its calls are not measurably faster."""


def answer(points: Sequence[Point], clock: Clock) -> Answer:
    """Who is faster where, by one clock."""
    judged = [(point, who) for point in points if (who := faster(point, clock))]
    if not judged:
        return Answer(clock=clock, found="unknown")
    sure = [(point.size, who) for point, who in judged if who != "even"]
    crossings = _merge(tuple(_crossings(judged, clock)))
    return Answer(
        clock=clock,
        found="crossing" if crossings else "always" if sure else "even",
        low=judged[0][0].size,
        high=judged[-1][0].size,
        faster=sure[-1][1] if sure else None,
        sure=sure[-1][0] if sure else None,
        crossings=crossings,
        even=tuple(point.size for point, who in judged if who == "even"),
        few=tuple(point.size for point, _ in judged if has_few_rounds(point)),
    )


def _crossings(
    judged: Sequence[tuple[Point, Side | Literal["even"]]], clock: Clock
) -> Iterator[Crossing]:
    sure = [(index, who) for index, (_, who) in enumerate(judged) if who != "even"]
    for (start, before), (end, after) in pairwise(sure):
        if before == after:
            continue
        stretch = [point for point, _ in judged[start : end + 1]]
        sizes = [point.size for point in stretch]
        ratios = [ratio(point, clock) for point in stretch]
        logs = [math.log(one.median) if one else 0.0 for one in ratios]
        yield Crossing(
            below=sizes[0],
            above=sizes[-1],
            at=round(crossing_size(sizes, logs)),
            faster=after,
            undecided=tuple(sizes[1:-1]),
        )


def _merge(crossings: tuple[Crossing, ...]) -> tuple[Crossing, ...]:
    """Three that lie close together, there and back and there again, as one."""
    for index in reversed(range(len(crossings) - 2)):
        there, back, again = crossings[index : index + 3]
        if again.above > MIXED * there.below:
            continue
        between = {there.above, back.above, again.below, back.below}
        for one in (there, back, again):
            between.update(one.undecided)
        one = Crossing(
            below=there.below,
            above=again.above,
            at=back.at,
            faster=again.faster,
            undecided=tuple(sorted(between)),
            mixed=True,
        )
        return _merge((*crossings[:index], one, *crossings[index + 3 :]))
    return crossings


def paybacks(points: Sequence[Point]) -> tuple[Payback, ...]:
    """For each size, after how many calls the start of the one that JAX runs has paid.

    Where JAX runs both it is the one that starts more slowly at the smallest size, at
    which the start is least mixed up with the work.
    """
    if not points:
        return ()
    first, second = points[0].first, points[0].second
    if first.case.on_host != second.case.on_host:
        second_starts = first.case.on_host
    else:
        second_starts = (start_seconds(first) or 0.0) <= (start_seconds(second) or 0.0)
    side: Side = "second" if second_starts else "first"
    return tuple(found for point in points if (found := _payback(point, side)))


def _payback(point: Point, side: Side) -> Payback | None:
    mine, theirs = point.of(side), point.of(other(side))
    start, their_start = start_seconds(mine), start_seconds(theirs)
    if start is None or their_start is None or not mine.ready or not theirs.ready:
        return None
    if has_few_rounds(point):
        return None
    calls: int | None = None
    if faster(point, "call") == side:
        # Seen from the other's first call, the start is longer by the difference.
        late = start - their_start + theirs.ready.median
        calls = break_even_calls(late, mine.ready.median, theirs.ready.median)
    return Payback(size=point.size, side=side, calls=calls)


# The search.


@dataclass(frozen=True, slots=True)
class Search:
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
    spent_seconds: float = 0.0
    size: int | None = None
    """The one that is being measured."""
    results: tuple[Measurement | Failure, ...] = ()
    """Of that size."""
    rounds: Rounds = NO_ROUNDS
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
        return next((size for size, _ in _refinements(self)), None)

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
    def answers(self) -> tuple[Answer, ...]:
        used = clocks(self.first, self.second)
        return tuple(answer(self.points, clock) for clock in used)

    @property
    def left_seconds(self) -> float:
        return max(0.0, self.budget_seconds - self.spent_seconds)

    @property
    def failed_sizes(self) -> set[int]:
        return {failure.case.size for failure in self.failures}

    @property
    def least_seconds(self) -> float:
        """What one size takes at least, judged by the cold paths of the last one."""
        if not self.points:
            return LEAST_SECONDS
        last = self.points[-1]
        return LEAST_SECONDS + sum(
            one.phases.cold_seconds + (one.phases.transfer or 0.0)
            for one in (last.first, last.second)
        )

    def observe(self, event: Event) -> Search:
        if self.outcome is not None:
            return self
        match event:
            case RunStarted(cases=cases) if self.size is None and cases:
                return replace(self, size=cases[0].size, results=(), rounds=NO_ROUNDS)
            case Sampled():
                return replace(self, rounds=_with_round(self.rounds, event))
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

    def lost(self, why: str) -> Search:
        return replace(self, size=None, results=(), outcome="incomplete")

    def _share(self) -> float:
        """Seconds for the next size."""
        if self.waiting:
            steps = len(self.waiting) + REFINEMENTS
        else:
            steps = sum(count for _, count in _refinements(self))
        fair = min(MOST_SECONDS, self.left_seconds / max(1, steps))
        least = min(self.least_seconds, self.left_seconds)
        return max(fair, least, LEAST_SECONDS / 2)


def begin(
    first: Case,
    second: Case,
    sizes: Sequence[int],
    budget_seconds: float,
    seed: int = 0,
) -> Search:
    grid = tuple(sorted(set(sizes)))
    return Search(first, second, grid, budget_seconds, seed=seed)


def shown_sizes(state: Search) -> tuple[int, ...]:
    """Every size that was tried, with or without success, ascending."""
    return tuple(sorted({point.size for point in state.points} | state.failed_sizes))


def _with_round(rounds: Rounds, event: Sampled) -> Rounds:
    """With one more; an engine that was started again begins with round 1."""
    if event.index not in (0, 1):
        return rounds
    first, second = rounds
    mine = second if event.index else first
    mine = (*(() if event.round == 1 else mine), event.ready_median)
    return (first, mine) if event.index else (mine, second)


def _finish(state: Search, event: RunFinished) -> Search:
    if event.outcome == "cancelled":
        return state.stopped()
    size = state.size if state.size is not None else state.next_size
    spent = state.spent_seconds + max(0.0, event.elapsed_seconds)
    state = replace(state, spent_seconds=spent)
    if size is None:
        return state
    state = _with_results(state, size)
    if event.outcome == "crashed":
        return state.lost("")
    waiting = tuple(one for one in state.waiting if one != size)
    state = replace(state, waiting=waiting, size=None, results=())
    state = _without_larger(state)
    if state.next_size is None:
        return replace(state, outcome="complete")
    if state.left_seconds < state.least_seconds / 2:
        return replace(state, outcome="budget")
    return state


def _with_results(state: Search, size: int) -> Search:
    """With the point of a size, or with why there is none."""
    measured = [one for one in state.results if isinstance(one, Measurement)]
    failures = tuple(one for one in state.results if isinstance(one, Failure))
    by_case = {
        _side(one.case): one
        for one in measured
        if one.ready is not None and one.stopped != "crashed"
    }
    first, second = (by_case.get(_side(one)) for one in (state.first, state.second))
    if first is not None and second is not None:
        points = (*state.points, Point(size, first, second, state.rounds))
        ordered = sorted(points, key=lambda point: point.size)
        return replace(state, points=tuple(ordered))
    if not failures:
        lost = [one.notes[-1].text for one in measured if one.stopped == "crashed"]
        why = lost[0] if lost else "The engine ended before it had a figure."
        case = msgspec.structs.replace(state.first, size=size)
        failures = (Failure(case=case, error=why, hint=""),)
    return replace(state, failures=(*state.failures, *failures))


def _side(case: Case) -> Case:
    """What tells the two sides apart; the dtype of a function is that of its arguments,
    which are not known before.
    """
    dtype = "" if is_own(case.op) else case.dtype
    return msgspec.structs.replace(case, size=0, dtype=dtype)


def _without_larger(state: Search) -> Search:
    """Where a size is too much, none above it is tried, but perhaps one below it."""
    if not state.points:
        return state
    reached = state.points[-1].size
    too_large = [size for size in state.failed_sizes if size > reached]
    if not too_large:
        return state
    end = min(too_large)
    waiting = tuple(size for size in state.waiting if size < end)
    crossing = answer(state.points, "call").crossing
    if not waiting and crossing is None and reached * REACH**2 < end:
        waiting = (middle(reached, end),)
    return replace(state, waiting=waiting)


def _refinements(state: Search) -> Iterator[tuple[int, int]]:
    """The sizes to try next, and how many bisections each begins."""
    failed = state.failed_sizes
    for found in state.answers:
        if found.crossing is not None:
            for between, count in bisections(found.crossing):
                if between not in failed:
                    yield between, count
    # A lead may hide between a size with a difference and one without.
    for below, above in pairwise(state.points):
        judged = faster(below, "call"), faster(above, "call")
        between = middle(below.size, above.size)
        if judged.count("even") != 1 or between in failed:
            continue
        if above.size > FINE * below.size:
            yield between, 1


def bisections(crossing: Crossing) -> Iterator[tuple[int, int]]:
    """The sizes that close in on a crossing, and how many bisections each begins."""
    for low, high, close in _open_ends(crossing):
        if low < (between := middle(low, high)) < high and high > close * low:
            yield between, max(1, _halvings(low, high, close))


def _open_ends(crossing: Crossing) -> Iterator[tuple[int, int, float]]:
    """Between which sizes something can still be found, and how close is enough."""
    if not crossing.undecided:
        yield crossing.below, crossing.above, CLOSE
        return
    yield crossing.below, crossing.undecided[0], EDGE
    yield crossing.undecided[-1], crossing.above, EDGE


def _halvings(low: int, high: int, close: float) -> int:
    """How many bisections it takes until two sizes are so close."""
    apart = math.log(high / low) / math.log(close)
    return max(0, math.ceil(math.log2(apart))) if apart > 1 else 0
