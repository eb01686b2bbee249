"""Samples kept for drawing: the envelope of any number of calls in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

MAXIMUM_POINTS = 1_000
"""Points kept per clock; beyond that every four become their minimum and maximum."""


def thin(points: Sequence[float]) -> tuple[float, ...]:
    """Half the points: the minimum and the maximum of every four, in their order."""
    kept: list[float] = []
    for start in range(0, len(points), 4):
        group = points[start : start + 4]
        low, high = min(group), max(group)
        if len(group) < 2:
            kept.append(low)
        else:
            rising = group.index(low) <= group.index(high)
            kept.extend((low, high) if rising else (high, low))
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Trace:
    """The calls of one clock in order, seconds, thinned evenly as they grow."""

    points: tuple[float, ...] = ()
    level: int = 0
    """How many times the points were halved."""

    def extended(self, points: Sequence[float]) -> Trace:
        """The trace with more calls at its end."""
        fresh = tuple(points)
        for _ in range(self.level):
            fresh = thin(fresh)
        grown = replace(self, points=self.points + fresh)
        if len(grown.points) <= MAXIMUM_POINTS:
            return grown
        return Trace(thin(grown.points), grown.level + 1)
