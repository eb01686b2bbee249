"""One size at which both sides were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtui import stats
from jaxtui.crossover.costs import Clock, cost
from jaxtui.model import Measurement
from jaxtui.stats import Interval

Side = Literal["first", "second"]
"""The two that are compared, in the order in which they were named."""

SIDES: tuple[Side, Side] = ("first", "second")


Rounds = tuple[tuple[float, ...], tuple[float, ...]]
"""Of each side: the median call of every round, seconds."""

NO_ROUNDS: Rounds = ((), ())


@dataclass(frozen=True, slots=True)
class Point:
    """Both sides at one size, measured in turns."""

    size: int
    first: Measurement
    second: Measurement
    rounds: Rounds = NO_ROUNDS

    def of(self, side: Side) -> Measurement:
        """One of the two."""
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


def faster(point: Point, clock: Clock) -> Side | Literal["even"] | None:
    """Which one is faster; ``even`` if the ratio may be 1, ``None`` if unknown."""
    found = ratio(point, clock)
    if found is None:
        return None
    if found.high < 1:
        return "first"
    return "second" if found.low > 1 else "even"


def crossing_size(sizes: Sequence[int], log_ratios: Sequence[float]) -> float:
    """Where the ratio passes 1, straight between neighbours on logarithmic axes.

    Args:
        sizes: ascending, at least two.
        log_ratios: one for each size.

    Returns:
        The last such place; halfway between the ends if there is none.
    """
    for index in reversed(range(len(sizes) - 1)):
        low, high = log_ratios[index], log_ratios[index + 1]
        if (low < 0) != (high < 0):
            step = math.log(sizes[index + 1] / sizes[index])
            return sizes[index] * math.exp(step * low / (low - high))
    return math.sqrt(sizes[0] * sizes[-1])
