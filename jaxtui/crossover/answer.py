"""What the measured sizes say: who is faster where, and after how many calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from jaxtui.crossover.costs import Clock, clocks, start_seconds
from jaxtui.crossover.points import Point, Side, crossing_size, faster, other, ratio
from jaxtui.model import Record
from jaxtui.stats import break_even_calls

MIXED = 2.0
"""Three changes within so many times the smallest size are one: there the two are as
fast, and what else runs on the machine decides."""

Found = Literal["crossing", "always", "even", "unknown"]


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
    there is no difference anywhere; ``unknown``: nothing was measured."""
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

    @property
    def crossing(self) -> Crossing | None:
        """The last one."""
        return self.crossings[-1] if self.crossings else None


class Payback(Record, frozen=True, kw_only=True):
    """How many calls it takes until a start has paid, at one size."""

    size: int
    side: Side
    """Whose start (compile and first transfer) has to pay."""
    calls: int | None
    """``None``: never, as its calls are not measurably faster."""


def answers(points: Sequence[Point]) -> tuple[Answer, ...]:
    """The answers by every clock that can tell the two apart; ascending sizes."""
    if not points:
        return ()
    asked = clocks(points[0].first.case, points[0].second.case)
    return tuple(answer(points, clock) for clock in asked)


def answer(points: Sequence[Point], clock: Clock) -> Answer:
    """Who is faster where, by one clock.

    Args:
        points: what was measured, in the order of sizes.
        clock: what is counted.
    """
    judged = [(point, who) for point in points if (who := faster(point, clock))]
    if not judged:
        return Answer(clock=clock, found="unknown")
    sure = [(point, who) for point, who in judged if who != "even"]
    crossings = _merged(tuple(_crossings(judged, clock)))
    found: Found = "crossing" if crossings else "always" if sure else "even"
    return Answer(
        clock=clock,
        found=found,
        low=judged[0][0].size,
        high=judged[-1][0].size,
        faster=sure[-1][1] if sure else None,
        sure=sure[-1][0].size if sure else None,
        crossings=crossings,
        even=tuple(point.size for point, who in judged if who == "even"),
    )


def paybacks(points: Sequence[Point]) -> tuple[Payback, ...]:
    """For each size, after how many calls the start of the one that JAX runs has paid.

    Where JAX runs both it is the one that starts more slowly at the smallest size, at
    which the start is least mixed up with the work.
    """
    if not points:
        return ()
    side = _slow_starter(points[0])
    return tuple(found for point in points if (found := _payback(point, side)))


def _crossings(
    judged: Sequence[tuple[Point, Side | Literal["even"]]], clock: Clock
) -> Iterator[Crossing]:
    sure = [(index, who) for index, (_, who) in enumerate(judged) if _is_a_side(who)]
    for (start, before), (end, after) in pairwise(sure):
        if before == after:
            continue
        stretch = [point for point, _ in judged[start : end + 1]]
        sizes = [point.size for point in stretch]
        found = [ratio(point, clock) for point in stretch]
        ratios = [math.log(one.median) if one else 0.0 for one in found]
        yield Crossing(
            below=sizes[0],
            above=sizes[-1],
            at=round(crossing_size(sizes, ratios)),
            faster="first" if after == "first" else "second",
            undecided=tuple(sizes[1:-1]),
        )


def _merged(crossings: tuple[Crossing, ...]) -> tuple[Crossing, ...]:
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
        return _merged((*crossings[:index], one, *crossings[index + 3 :]))
    return crossings


def _is_a_side(who: str) -> bool:
    return who != "even"


def _slow_starter(point: Point) -> Side:
    if point.first.case.on_host != point.second.case.on_host:
        return "second" if point.first.case.on_host else "first"
    first, second = start_seconds(point.first), start_seconds(point.second)
    return "first" if (first or 0.0) > (second or 0.0) else "second"


def _payback(point: Point, side: Side) -> Payback | None:
    mine, theirs = point.of(side), point.of(other(side))
    start, their_start = start_seconds(mine), start_seconds(theirs)
    if start is None or their_start is None or not mine.ready or not theirs.ready:
        return None
    calls: int | None = None
    if faster(point, "call") == side:
        # Seen from the other's first call, the start is longer by the difference.
        late = start - their_start + theirs.ready.median
        calls = break_even_calls(late, mine.ready.median, theirs.ready.median)
    return Payback(size=point.size, side=side, calls=calls)
