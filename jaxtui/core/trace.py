"""Samples kept for drawing, in bounded memory: the envelope and how calls spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from jaxtui.core import stats

MAXIMUM_POINTS = 1_000
"""Points kept per clock; beyond that every four become their minimum and maximum."""


def thin(points: Sequence[float]) -> tuple[float, ...]:
    """Half the points: the minimum and the maximum of every four, in their order."""
    thinned: list[float] = []
    for start in range(0, len(points), 4):
        group = points[start : start + 4]
        low, high = min(group), max(group)
        if len(group) < 2:
            thinned.append(low)
        else:
            rising = group.index(low) <= group.index(high)
            thinned.extend((low, high) if rising else (high, low))
    return tuple(thinned)


class Trace(msgspec.Struct, frozen=True):
    """The calls of one clock in order, seconds, thinned evenly as they grow."""

    points: tuple[float, ...] = ()
    level: int = 0
    """The number of times that the points were halved."""
    counts: Mapping[int, int] = msgspec.field(default_factory=dict)
    """Calls in each bin of ``stats.bin_of``; none is left out."""

    def extended(
        self, points: Sequence[float], bins: Mapping[int, int] | None = None
    ) -> Trace:
        """The trace with more calls at its end.

        Args:
            points: what the engine sent of them.
            bins: how all of them spread, where the points are not all.
        """
        fresh = tuple(points)
        counts = Counter(self.counts)
        counts.update(stats.bins(fresh) if bins is None else bins)
        for _ in range(self.level):
            fresh = thin(fresh)
        grown = replace(self, points=self.points + fresh, counts=counts)
        if len(grown.points) <= MAXIMUM_POINTS:
            return grown
        return replace(grown, points=thin(grown.points), level=self.level + 1)

    @property
    def calls(self) -> int:
        """All that are in the distribution."""
        return sum(self.counts.values())
