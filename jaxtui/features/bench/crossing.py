"""The size at which one of two curves overtakes the other.

A curve is what was measured at some sizes; two of them cross between neighbouring sizes
at which it is certain who is faster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from jaxtui.core import format as fmt
from jaxtui.core import stats
from jaxtui.core.model import Measurement, Record
from jaxtui.core.model.measurement import Interval, confidence
from jaxtui.core.stats import MINIMUM_ROUNDS

Side = Literal["first", "second"]
"""The two that are compared, in the order in which they were named."""

LEAST_CONFIDENCE = 2 * confidence(MINIMUM_ROUNDS) - 1
"""The least confidence of a ratio that names the faster side: that of two clocks of six
rounds each."""

CLOSE = 1.1
"""Two sizes are so close that nothing between them is tried: what a crossing moves by
from one process to the next is more."""


def other(side: Side) -> Side:
    """The one that it is compared with."""
    return "second" if side == "first" else "first"


class Crossing(Record, frozen=True, kw_only=True):
    """A change of who is faster, between two sizes at which that is certain."""

    below: int
    """The largest size at which the other one is still faster."""
    above: int
    """The smallest size at which this one is."""
    at: int | None
    """About where they are as fast, interpolated between neighbours; ``None`` where
    sizes between are undecided."""
    faster: Side
    """The side that is faster above."""
    undecided: tuple[int, ...] = ()
    """Sizes between at which nobody is faster for sure."""

    @property
    def start(self) -> int:
        """Return the size from which it is told, measured or interpolated."""
        return self.above if self.at is None else self.at


def size_text(size: int) -> str:
    """A size in a sentence: ``8192``, ``163,840``."""
    return str(size) if size < 10_000 else fmt.count(size)


def about_text(size: float, low: int, high: int) -> str:
    """A size with two digits, or as many as keep it between its neighbours.

    It is not known better: it is interpolated, not measured.
    """
    for digits in (2, 3, 4):
        short = round(float(f"{size:.{digits - 1}e}"))
        if low <= short <= high:
            return size_text(short)
    return size_text(round(size))


def start_text(crossing: Crossing, size: str = "~") -> str:
    """``from ~380``, or ``at 1024`` where nothing is interpolated."""
    if crossing.at is None:
        return f"at {size.strip('~')}{size_text(crossing.above)}"
    return f"from {size}{about_text(crossing.at, crossing.below, crossing.above)}"


def leader(ratio: Interval | None) -> Side | None:
    """Return the faster side, by the first one's seconds over the second one's;
    ``None`` where that may be 1, or rests on too few rounds.
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

    Where a result is wrong there is no ratio.
    """
    sides = first, second
    if first.ready is None or second.ready is None:
        return None
    if any(side.has("wrong-result") or side.has("inaccurate") for side in sides):
        return None
    return stats.ratio(first.ready.interval, second.ready.interval, rounds)


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
            inner = tuple(size for size, _ in ratios if below < size < above)
            logs = math.log(low.median), math.log(high.median)
            at = None if inner else round(crossing_size((below, above), logs))
            return Crossing(
                below=below, above=above, at=at, faster=after, undecided=inner
            )
    return None


def crossing_size(sizes: tuple[float, float], log_ratios: tuple[float, float]) -> float:
    """Return the size at which a ratio passes 1, straight between two sizes on
    logarithmic axes.

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
