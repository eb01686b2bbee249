"""The search for crossings as far as it has come: one immutable record.

Whoever drives it runs ``next_experiment`` in an engine, feeds every event of that run
to ``observe``, and goes on until there is no next one. First a coarse grid of sizes,
from small to large; then the last crossing of each clock is closed in on by bisection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import msgspec

from jaxtui.crossover.answer import Answer, Crossing, answer
from jaxtui.crossover.costs import clocks
from jaxtui.crossover.points import NO_ROUNDS, Point, Rounds, faster
from jaxtui.crossover.sizes import CLOSE, EDGE, FINE, halvings, middle
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    Event,
    Experiment,
    Failure,
    Measurement,
    RunFinished,
    RunStarted,
    Sampled,
)

LEAST_SECONDS = 0.8
"""For sampling two cases at one size, beside what their cold paths take."""

MOST_SECONDS = 6.0
"""For one size; more does not make rounds more independent of each other."""

REFINEMENTS = 8
"""Bisections that the budget is kept for while the grid goes on."""

REACH = 1.5
"""How far above the largest size that worked the search looks for a still larger one,
when the next one of the grid was too much."""


Outcome = Literal["complete", "budget", "cancelled", "incomplete"]
"""How a search ends: as close as it gets, with more to do and no time for it, by the
user, or because an engine died: that says nothing about a size, least of all that it
is too large."""


@dataclass(frozen=True, slots=True)
class Search:
    """The sizes that are left, the one that goes on, and what was measured so far."""

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
    """The one that goes on."""
    results: tuple[Measurement | Failure, ...] = ()
    """Of the size that goes on."""
    rounds: Rounds = NO_ROUNDS
    """Of the size that goes on."""
    outcome: Outcome | None = None
    """``None`` while there is more to do."""

    @property
    def next_size(self) -> int | None:
        """What comes next; ``None`` while a size goes on, and at the end."""
        if self.size is not None or self.outcome is not None:
            return None
        return _next_size(self)

    @property
    def next_experiment(self) -> Experiment | None:
        """What to run now: both at one size; ``None`` as for ``next_size``."""
        size = self.next_size
        if size is None:
            return None
        cases = tuple(
            msgspec.structs.replace(case, size=size)
            for case in (self.first, self.second)
        )
        return Experiment(cases=cases, budget_seconds=_share(self), seed=self.seed)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What is known so far, by every clock that can tell the two apart."""
        asked = clocks(self.first, self.second)
        return tuple(answer(self.points, clock) for clock in asked)

    @property
    def left_seconds(self) -> float:
        """Of the budget."""
        return max(0.0, self.budget_seconds - self.spent_seconds)


def begin(
    first: Case,
    second: Case,
    sizes: Sequence[int],
    budget_seconds: float,
    seed: int = 0,
) -> Search:
    """A search over sizes.

    Args:
        first: one way of running an op, at any size.
        second: the other.
        sizes: the grid, at least one.
        budget_seconds: for everything, compile included.
        seed: of the random inputs.
    """
    grid = tuple(sorted(set(sizes)))
    return Search(first, second, grid, budget_seconds, seed=seed)


def observe(state: Search, event: Event) -> Search:
    """The search after one event of the run of its experiment."""
    if state.outcome is not None:
        return state
    match event:
        case RunStarted(cases=cases) if state.size is None and cases:
            return replace(state, size=cases[0].size, results=(), rounds=NO_ROUNDS)
        case Sampled():
            return replace(state, rounds=_with_round(state.rounds, event))
        case CaseMeasured(measurement=measurement):
            return replace(state, results=(*state.results, measurement))
        case CaseFailed(failure=failure):
            return replace(state, results=(*state.results, failure))
        case RunFinished():
            return _finished(state, event)
        case _:
            return state


def cancelled(state: Search) -> Search:
    """The user has had enough; what was measured stays."""
    return replace(state, size=None, results=(), outcome="cancelled")


def incomplete(state: Search) -> Search:
    """No engine is left to go on with; what was measured stays."""
    return replace(state, size=None, results=(), outcome="incomplete")


def shown_sizes(state: Search) -> tuple[int, ...]:
    """Every size that was tried, with or without success, ascending."""
    return tuple(sorted({point.size for point in state.points} | _failed(state)))


def _finished(state: Search, event: RunFinished) -> Search:
    if event.outcome == "cancelled":
        return cancelled(state)
    size = state.size if state.size is not None else state.next_size
    spent = state.spent_seconds + max(0.0, event.elapsed_seconds)
    state = replace(state, spent_seconds=spent)
    if size is None:
        return state
    state = _taken_in(state, size)
    if event.outcome == "crashed":
        return incomplete(state)
    waiting = tuple(one for one in state.waiting if one != size)
    state = replace(state, waiting=waiting, size=None, results=())
    return _go_on(_without_larger(state))


def _taken_in(state: Search, size: int) -> Search:
    """With the point of a size, or with why there is none."""
    measured = [one for one in state.results if isinstance(one, Measurement)]
    failures = tuple(one for one in state.results if isinstance(one, Failure))
    by_case = {
        msgspec.structs.replace(one.case, size=0): one
        for one in measured
        if one.ready is not None and one.stopped != "crashed"
    }
    sides = [
        by_case.get(msgspec.structs.replace(case, size=0))
        for case in (state.first, state.second)
    ]
    first, second = sides
    if first is not None and second is not None:
        point = Point(size, first, second, state.rounds)
        points = (*state.points, point)
        ordered = tuple(sorted(points, key=lambda point: point.size))
        return replace(state, points=ordered)
    if not failures:
        lost = [one.notes[-1].text for one in measured if one.stopped == "crashed"]
        why = "The engine ended before it had a figure."
        failures = (_failure(state, size, lost[0] if lost else why),)
    return replace(state, failures=(*state.failures, *failures))


def _with_round(rounds: Rounds, event: Sampled) -> Rounds:
    """With one more; an engine that was started again begins with round 1."""
    if event.index not in (0, 1):
        return rounds
    first, second = rounds
    mine = second if event.index else first
    mine = (*(() if event.round == 1 else mine), event.ready_median)
    return (first, mine) if event.index else (mine, second)


def _without_larger(state: Search) -> Search:
    """Where a size is too much, none above it is tried, but perhaps one below it."""
    too_large = [
        size for size in _failed(state) if state.points and size > state.points[-1].size
    ]
    if not too_large:
        return state
    end, reached = min(too_large), state.points[-1].size
    waiting = tuple(size for size in state.waiting if size < end)
    call = answer(state.points, "call")
    if not waiting and call.crossing is None and reached * REACH**2 < end:
        waiting = (middle(reached, end),)
    return replace(state, waiting=waiting)


def _go_on(state: Search) -> Search:
    if _next_size(state) is None:
        return replace(state, outcome="complete")
    if state.left_seconds < _least_seconds(state) / 2:
        return replace(state, outcome="budget")
    return state


def _next_size(state: Search) -> int | None:
    if state.waiting:
        return state.waiting[0]
    return next((size for size, _ in _refinements(state)), None)


def _refinements(state: Search) -> Iterator[tuple[int, int]]:
    """The sizes to try next, and how many bisections each begins."""
    failed = _failed(state)
    for clock in clocks(state.first, state.second):
        crossing = answer(state.points, clock).crossing
        for low, high, close in _open_ends(crossing):
            between = middle(low, high)
            if low < between < high and between not in failed and high > close * low:
                yield between, max(1, halvings(low, high, close))
    for between in _beside_even(state.points):
        if between not in failed:
            yield between, 1


def _beside_even(points: Sequence[Point]) -> Iterator[int]:
    """Where a lead may hide: between a size with a difference and one without."""
    for below, above in pairwise(points):
        judged = faster(below, "call"), faster(above, "call")
        between = middle(below.size, above.size)
        if judged.count("even") == 1 and above.size > FINE * below.size:
            yield between


def _open_ends(crossing: Crossing | None) -> Iterator[tuple[int, int, float]]:
    """Between which sizes something can still be found, and how close is enough."""
    if crossing is None:
        return
    if not crossing.undecided:
        yield crossing.below, crossing.above, CLOSE
        return
    yield crossing.below, crossing.undecided[0], EDGE
    yield crossing.undecided[-1], crossing.above, EDGE


def _share(state: Search) -> float:
    """Seconds for the next size."""
    if state.waiting:
        steps = len(state.waiting) + REFINEMENTS
    else:
        steps = sum(count for _, count in _refinements(state))
    fair = min(MOST_SECONDS, state.left_seconds / max(1, steps))
    return max(fair, min(_least_seconds(state), state.left_seconds), LEAST_SECONDS / 2)


def _least_seconds(state: Search) -> float:
    """What one size takes at least, judged by the cold paths of the last one."""
    if not state.points:
        return LEAST_SECONDS
    last = state.points[-1]
    cold = sum(
        one.phases.cold_seconds + (one.phases.transfer or 0.0)
        for one in (last.first, last.second)
    )
    return LEAST_SECONDS + cold


def _failed(state: Search) -> set[int]:
    return {failure.case.size for failure in state.failures}


def _failure(state: Search, size: int, why: str) -> Failure:
    case = msgspec.structs.replace(state.first, size=size)
    return Failure(case=case, error=why, hint="")
