"""Links: what is asked for and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jaxtui.core.model import COPY_TO, Case, Experiment, Record
from jaxtui.core.model.document import Document

Pair = tuple[str, str]
"""The device that is copied from, and the one that is copied to."""

LINK_BYTES = 64 * 2**20
"""Size of the copy that gives bytes per second, unless another one is asked for."""

LATENCY_BYTES = 8
"""Size of the copy that gives the latency."""


class Link(Record, frozen=True, kw_only=True):
    """A pair of devices in one direction; seconds, and ``null`` where not measured."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    hops: int | None
    """Links on the shortest way; ``null`` where coords do not tell."""
    latency_seconds: float | None = None
    latency_low: float | None = None
    latency_high: float | None = None
    bytes_per_second: float | None = None
    """Rate of the large copy."""
    bytes_per_second_low: float | None = None
    bytes_per_second_high: float | None = None
    rounds: int = 0
    share: float | None = None
    """Rate over the median of its distance and direction, where it lags behind that."""
    error: str | None = None
    """The reason why nothing was copied."""

    @property
    def pair(self) -> Pair:
        return self.source, self.target


class Links(Document, frozen=True, kw_only=True):
    """The pairs of one run."""

    size_bytes: int | None
    """Size of the large copy."""
    links: tuple[Link, ...] = ()


def experiment(
    pairs: Iterable[Pair], nbytes: int = LINK_BYTES, budget: float = 10.0, seed: int = 0
) -> Experiment:
    """Return both copies of every pair, in order, as cases that take turns."""
    cases = tuple(
        Case(
            op=COPY_TO, size=n, dtype="uint8", device=a, mode="eager", params={"to": b}
        )
        for a, b in pairs
        for n in (LATENCY_BYTES, nbytes)
    )
    return Experiment(cases=cases, budget_seconds=budget, seed=seed)
