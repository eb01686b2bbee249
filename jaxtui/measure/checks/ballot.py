"""The same computation on several devices: which results are the same, bit for bit?"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from jaxtui.measure.ops.arguments import Array
from jaxtui.measure.ops.base import wide


@dataclass(frozen=True, slots=True)
class Difference:
    """How two results of one shape and dtype differ."""

    elements: int
    """Those whose bytes differ."""
    of: int
    largest: float
    """The largest absolute difference; NaN where one of the two is not finite."""


def difference(result: Array, other: Array) -> Difference:
    """Compare two results byte by byte: 0 and −0 differ, NaN and the same NaN do not.

    A result of another shape or dtype differs everywhere.
    """
    if result.shape != other.shape or result.dtype != other.dtype:
        return Difference(result.size, result.size, float("nan"))
    differing = np.any(_bytes(result) != _bytes(other), axis=1)
    count = int(np.count_nonzero(differing))
    if not count:
        return Difference(0, result.size, 0.0)
    left, right = (wide(one.reshape(-1)[differing]) for one in (result, other))
    with np.errstate(invalid="ignore", over="ignore"):
        largest = float(np.max(np.abs(left - right)))
    return Difference(count, result.size, largest if np.isfinite(largest) else np.nan)


@dataclass(slots=True)
class Ballot:
    """Every device casts its result of one computation; any thread may.

    Only results that differ are kept, so that many devices need no more memory than
    one.
    """

    results: list[Array] = field(default_factory=list)
    votes: dict[str, int] = field(default_factory=dict)
    """Which of the results a device has, by its name."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cast(self, device: str, result: Array) -> Array:
        """Count the result of a device; returns the one that is kept, its equal."""
        with self._lock:
            for index, known in enumerate(self.results):
                if not difference(result, known).elements:
                    self.votes[device] = index
                    return known
            self.results.append(result)
            self.votes[device] = len(self.results) - 1
            return result

    @property
    def winner(self) -> int | None:
        """The result that more devices have than any other; ``None`` for a tie."""
        with self._lock:
            chosen = list(self.votes.values())
        counts = [chosen.count(index) for index in range(len(self.results))]
        most = max(counts, default=0)
        return counts.index(most) if counts.count(most) == 1 else None

    def holders(self, index: int) -> tuple[str, ...]:
        """The devices with one of the results."""
        with self._lock:
            return tuple(device for device, vote in self.votes.items() if vote == index)

    def against(self, device: str) -> Difference | None:
        """How the result of a device differs from the winner's.

        Of a tie the first of the other results is taken; ``None`` if the device is
        with the winner.
        """
        mine, winner = self.votes[device], self.winner
        if winner is None:
            winner = next(i for i in range(len(self.results)) if i != mine)
        if mine == winner:
            return None
        return difference(self.results[mine], self.results[winner])


def _bytes(array: Array) -> Array:
    """The bytes of each element, shape ``(elements, itemsize)``."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(flat.size, array.dtype.itemsize)
