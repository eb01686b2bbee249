"""Links: copies from one device to another, a work for the engine."""

from __future__ import annotations

from jaxtui.model.base import Record, WithBudget
from jaxtui.model.remark import Remark

COPY = "link"
"""The op of a case that is a copy from one device to another."""

LINK_BYTES = 64 * 2**20
"""Of the copy that gives bytes per second, unless another size is asked for."""

LATENCY_BYTES = 8
"""Of the copy that gives the latency."""


class Links(WithBudget, frozen=True, kw_only=True, tag=True):
    """Ask for copies between pairs of devices of the engine's process."""

    pairs: tuple[tuple[str, str], ...]
    """Names of the device that is copied from and of the one that is copied to; at
    least one. Each direction is a pair of its own."""
    nbytes: int = LINK_BYTES
    budget_seconds: float = 10.0
    """For the rounds, all pairs together; making the arrays comes on top."""
    seed: int = 0


class LinkMeasured(Record, frozen=True, kw_only=True, tag=True):
    """What is known of a pair so far; a later one replaces it."""

    source: str
    target: str
    latency_seconds: float | None = None
    """Until a copy of eight bytes is ready; ``None`` before its first round, and where
    nothing was copied."""
    latency_low: float | None = None
    latency_high: float | None = None
    """Interval over rounds."""
    copy_seconds: float | None = None
    """The same of the large copy."""
    copy_low: float | None = None
    copy_high: float | None = None
    page_faults: float | None = None
    """Of a large copy, where it ends in this machine's memory: of new pages each costs
    more than to copy it."""
    rounds: int = 0
    """Of the large copy."""
    confidence: float = 0.0
    """That its seconds lie in the interval."""
    remarks: tuple[Remark, ...] = ()
    """Why it has no figures."""

    @property
    def pair(self) -> tuple[str, str]:
        """The devices that are copied from and to."""
        return self.source, self.target


class LinksMeasured(Record, frozen=True, kw_only=True, tag=True):
    """All pairs are measured, or those for which there was time."""

    remarks: tuple[Remark, ...] = ()
    """What qualifies all of them."""
