"""The best rates of a device: the roofs of the roofline model."""

from __future__ import annotations

from typing import Literal

from jaxtui.core.model.base import Precision, Record, WithBudget, dtype_label
from jaxtui.core.model.check import Expected
from jaxtui.core.model.measurement import is_vague
from jaxtui.core.model.remark import Remark

RoofKind = Literal["compute", "bandwidth"]


class RoofDtype(Record, frozen=True):
    """The arithmetic of a compute roof."""

    dtype: str
    precision: Precision = "default"

    @property
    def label(self) -> str:
        """``float32``, or ``float32 highest``."""
        return dtype_label(self.dtype, self.precision)


class Roofs(WithBudget, frozen=True, kw_only=True, tag=True):
    """Ask for the roofs of a device: a work for the engine."""

    device: str
    dtypes: tuple[RoofDtype, ...]
    """Dtypes that need a compute roof; there is always one bandwidth roof."""
    budget_seconds: float = 10.0
    """Seconds for measuring, all roofs together; compiling comes on top."""
    seed: int = 0


class Roof(Record, frozen=True, kw_only=True):
    """The best that was seen here, of one kind."""

    kind: RoofKind
    of: RoofDtype | None
    """The arithmetic of a compute roof."""
    per_second: float
    """FLOP/s or bytes/s."""
    ci_low: float
    ci_high: float
    """Interval over rounds."""
    confidence: float | None = None
    """The probability that the roof lies in the interval."""
    what: str
    """The case that reached it, e.g. ``matmul 4096 float32`` or ``copy 33554432
    float32``."""
    published: Expected | None = None
    """The dense peak that is published, where there is one."""
    remarks: tuple[Remark, ...] = ()
    """Remarks on other programs that used the cores."""

    @property
    def disturbed(self) -> bool:
        """True if other programs used the cores that the device computes on."""
        return any(remark.code == "contended" for remark in self.remarks)

    @property
    def vague(self) -> bool:
        """True if it is not known to within a third; see ``is_vague``."""
        # What was written before roofs had a confidence says nothing of it.
        sure = 1.0 if self.confidence is None else self.confidence
        return is_vague(self.ci_low, self.ci_high, sure)


class MissingRoof(Record, frozen=True, kw_only=True):
    """A roof that could not be had."""

    of: RoofDtype | None
    """``None`` is the bandwidth."""
    remark: Remark
    """The reason."""


class RoofsMeasured(Record, frozen=True, kw_only=True, tag=True):
    """The roofs of a device, as many as have been measured; the next one has more."""

    device: str
    device_kind: str
    roofs: tuple[Roof, ...]
    missing: tuple[MissingRoof, ...] = ()
    cache_bytes: int | None = None
    """The last cache of a CPU, where the system tells: arrays that fit into it move
    faster than the bandwidth roof."""
