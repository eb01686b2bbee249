"""Statistics of interleaved rounds: pure functions over plain sequences of seconds."""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from jaxtui.core.model import Summary
from jaxtui.core.model.measurement import BATCHES, Interval, confidence

MINIMUM_ROUNDS = 6
"""Below six rounds no sign-test interval reaches 95 % (2 · 2⁻⁵ > 0.05)."""

BINS_PER_DECADE = 1_000
"""Bins of a distribution of times: each ends 0.23 % above its beginning."""


def median(values: Sequence[float]) -> float:
    """The median of at least one value."""
    return quantile(sorted(values), 0.5)


def quantile(ordered: Sequence[float], q: float) -> float:
    """The ``q`` quantile of an ascending sequence, linear between neighbours.

    Raises:
        ValueError: if ``ordered`` is empty.
    """
    if not ordered:
        raise ValueError("quantile of no values")
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def batches(medians: Sequence[float]) -> list[float]:
    """The medians of eight contiguous batches of rounds; of fewer, the rounds."""
    n, count = len(medians), min(len(medians), BATCHES)
    return [
        median(medians[i * n // count : (i + 1) * n // count]) for i in range(count)
    ]


def rounds_interval(medians: Sequence[float]) -> Interval:
    """The interval of a clock from the medians of its rounds, in their order.

    The middle is the median of all round medians; the ends are the lowest and the
    highest of the medians of eight batches (sign test, see ``confidence``), widened to
    the middle where it lies outside.
    """
    ends, middle = batches(medians), median(medians)
    low, high = min(*ends, middle), max(*ends, middle)
    return Interval(low, middle, high, confidence(len(medians)))


def ratio(
    first: Interval,
    second: Interval,
    rounds: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> Interval | None:
    """The first clock over the second one.

    Where both took turns it is the median of the ratios of rounds of one number, with
    their interval: what slows the machine down slows both of them alike and cancels.
    Else, or of fewer than six such pairs, it is the ratio of the medians, and the
    interval is as wide as both of theirs allow.

    Args:
        first: one clock.
        second: the other.
        rounds: of either, in the order in which they were taken in turns.

    Returns:
        ``None`` where a clock may have read nothing, or so little beside the other that
        no float is as large or small as their ratio.
    """
    rows = zip(*rounds, strict=False)
    if len(pairs := [a / b for a, b in rows if min(a, b) > 0]) >= MINIMUM_ROUNDS:
        interval = rounds_interval(pairs)
    elif min(first.low, first.median, second.low, second.median) <= 0:
        return None
    else:
        interval = Interval(
            first.low / second.high,
            first.median / second.median,
            first.high / second.low,
            max(0.0, first.confidence + second.confidence - 1),
        )
    # Its inverse is asked for too: of less than this it would be infinite.
    least = sys.float_info.min
    return interval if least <= interval.low and interval.high <= 1 / least else None


def _outlier_count(ordered: Sequence[float]) -> int:
    """Count the values beyond Tukey's outer fences (3 × IQR from the quartiles)."""
    first, third = quantile(ordered, 0.25), quantile(ordered, 0.75)
    reach = 3 * (third - first)
    return sum(value < first - reach or value > third + reach for value in ordered)


class Pool:
    """All calls of one clock, seconds, kept in order so that summing up stays cheap."""

    def __init__(self) -> None:
        self._ordered: list[float] = []

    def add(self, values: Iterable[float]) -> None:
        """Add values."""
        self._ordered += sorted(values)
        self._ordered.sort()  # two ascending runs, which are merged

    def summary(self, medians: Sequence[float]) -> Summary:
        """The summary of the clock.

        Args:
            medians: Of each round, in their order.

        Raises:
            ValueError: if there is no round or no call.
        """
        ordered, interval = self._ordered, rounds_interval(medians)
        middle = median(ordered)
        return Summary(
            n=len(ordered),
            rounds=len(medians),
            median=interval.median,
            mean=math.fsum(ordered) / len(ordered),
            mad=median([abs(value - middle) for value in ordered]),
            p10=quantile(ordered, 0.1),
            p90=quantile(ordered, 0.9),
            p99=quantile(ordered, 0.99),
            max=ordered[-1],
            ci_low=interval.low,
            ci_high=interval.high,
            outliers=_outlier_count(ordered),
        )


def in_flight(entered: Sequence[float], ready: Sequence[float]) -> list[int]:
    """Count the unfinished results at the entry of each call.

    Args:
        entered: of each call, in their order.
        ready: of each call's result, ascending; on the same clock.
    """
    return [
        max(0, index - bisect_right(ready, moment))
        for index, moment in enumerate(entered)
    ]


HELD_SHARE = 0.3
"""A call that was held back because the queue was full took at least this share of one
computation."""

HELD_DISPATCHES = 3.0
"""The least ratio of a held call to the first calls, which nothing held back."""

FIRST_CALLS = 16

BELOW_FULL = 2
"""A call may be held back with so many fewer in flight than the queue takes: the
watcher sees a little late, or the host reads its clock late, what became ready."""


def held_back(
    entered: Sequence[float],
    returned: Sequence[float],
    ready: Sequence[float],
    depth: int,
) -> list[int]:
    """Indices of the calls that took long while the queue was full.

    Not every call after the first one is among them: a host that was held back for long
    finds room for several at once.

    Args:
        entered: of each call, in their order.
        returned: of each call.
        ready: of each call's result, ascending; all on the same clock from zero.
        depth: so many in flight fill the queue, or as many as ever are.
    """
    if not ready:
        return []
    took = [end - start for start, end in zip(entered, returned, strict=True)]
    per_call = max(ready) / len(ready)
    least = max(HELD_SHARE * per_call, HELD_DISPATCHES * median(took[:FIRST_CALLS]))
    flying = in_flight(entered, ready)
    full = min(max(flying), depth) - BELOW_FULL
    return [
        index
        for index, seconds in enumerate(took)
        if seconds > least and flying[index] >= full
    ]


def break_even_calls(
    first_call_seconds: float, seconds: float, rival_seconds: float
) -> int | None:
    """After how many calls a slow start pays: the smallest n at which
    ``first + (n − 1) · seconds ≤ n · rival``, or ``None`` if that never happens.
    """
    if first_call_seconds <= rival_seconds:
        return 1
    if seconds >= rival_seconds:
        return None
    return math.ceil((first_call_seconds - seconds) / (rival_seconds - seconds))


def bin_of(seconds: float) -> int:
    """The bin of a distribution that a positive time lies in."""
    return math.floor(math.log10(seconds) * BINS_PER_DECADE)


def bin_edge(index: float) -> float:
    """Return the lower edge of a bin, seconds."""
    return float(10.0 ** (index / BINS_PER_DECADE))


def bins(values: Iterable[float]) -> dict[int, int]:
    """Count the times in each bin; a clock's zero lies in none."""
    return dict(Counter(bin_of(value) for value in values if value > 0))
