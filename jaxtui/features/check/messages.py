"""The document of a health check."""

from __future__ import annotations

from typing import Literal

import msgspec

from jaxtui.core.model import CheckLevel, Record
from jaxtui.core.model.document import Document
from jaxtui.ui.documents import DeviceRow

VerdictWord = Literal["pass", "low", "impossible", "fail", "skipped"]


class Figure(Record, frozen=True, kw_only=True):
    """A thing that was measured, and its verdict."""

    test: str
    device: str | None
    """``None`` for the machine as a whole."""
    what: str
    verdict: VerdictWord
    measured: float | None
    expected: float | None = None
    unit: str
    share: float | None = None
    """Measured over expected, where that is a share of a peak or of a baseline."""
    ci_low: float | None = None
    ci_high: float | None = None
    confidence: float | None = None
    """The probability that the figure lies between these two."""
    source: str = ""
    """The source of ``expected``; empty where there is nothing to expect."""
    reason: str = ""
    """The reason why it did not pass, or was skipped."""
    detail: str = ""
    """The original text of an exception."""
    hostname: str | msgspec.UnsetType = msgspec.UNSET
    """The name of the device's host, where there are several processes."""


class Checked(Document, frozen=True, kw_only=True):
    """A health check as far as it was run."""

    devices: tuple[DeviceRow, ...]
    """All that JAX lists."""
    level: CheckLevel
    baseline: str | None
    """The file that the figures were compared with."""
    tests: tuple[Figure, ...]
    verdict: VerdictWord
    """The verdict on what there is."""
