"""A roofline: the roofs of a device, and the cases below them."""

from __future__ import annotations

from typing import Literal

from jaxtui.core.model import Case, Measurement, Record
from jaxtui.core.model.document import Document
from jaxtui.core.model.remark import Severity
from jaxtui.core.model.roofs import RoofDtype, RoofsMeasured
from jaxtui.features.bench.messages import FailureRow


class Place(Record, frozen=True, kw_only=True):
    """A case under its roofs, or why it has no place there."""

    case: Case
    intensity: float | None = None
    """Flops per byte of ideal traffic; ``null`` for an op that only moves data."""
    rate: float | None = None
    """FLOP/s; bytes/s where there is no intensity."""
    limit: float | None = None
    """The height of the roof at this intensity, in the unit of ``rate``."""
    bound: Literal["memory", "compute"] | None = None
    """The lower roof at this intensity; ``null`` where the case has no place."""
    arithmetic: RoofDtype | None = None
    """Its dtype and precision, whatever limits it; ``null`` where it has no place."""
    share: float | None = None
    """Rate over limit; ``null`` where that does not limit."""
    cached: bool = False
    """All its arrays fit into the last cache, so that the memory roof need not hold."""
    uncertain: bool = False
    """True if its rate or its roof is not known to within a third."""
    code: str
    """A verdict, in a code that stays the same when the words change."""
    limited_by: str = ""
    """The limit in a word or two."""
    verdict: str = ""
    """A sentence."""
    level: Severity = "info"


class Roofline(Document, frozen=True, kw_only=True):
    """The roofs of a device, and the cases of one run below them."""

    roofs: RoofsMeasured | None
    """``null`` when it was interrupted before any was known."""
    places: tuple[Place, ...] = ()
    """The places of the measurements, in the same order."""
    measurements: tuple[Measurement, ...] = ()
    failures: tuple[FailureRow, ...] = ()
