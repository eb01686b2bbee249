"""How fast a device is at best: what the roofline model of a case is drawn under."""

from __future__ import annotations

from typing import Literal

from jaxtui.model.base import Precision, Record, WithBudget, dtype_label
from jaxtui.model.check import Expected
from jaxtui.model.measurement import is_vague
from jaxtui.model.remark import Remark

RoofKind = Literal["compute", "bandwidth"]


class RoofDtype(Record, frozen=True):
    """What a compute roof is for."""

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
    """Those that want a compute roof; there is one bandwidth roof in any case."""
    budget_seconds: float = 10.0
    """For measuring, all roofs together; compiling comes on top."""
    seed: int = 0


class Roof(Record, frozen=True, kw_only=True):
    """The best that was seen here, of one kind."""

    kind: RoofKind
    of: RoofDtype | None
    """Of a compute roof."""
    per_second: float
    """FLOP/s or bytes/s."""
    ci_low: float
    ci_high: float
    """Interval over rounds."""
    confidence: float | None = None
    """That the roof lies in it."""
    what: str
    """What reached it, e.g. ``matmul 4096 float32`` or ``copy 33554432 float32``."""
    published: Expected | None = None
    """The dense peak that is published, where there is one."""
    remarks: tuple[Remark, ...] = ()
    """Who else used the cores meanwhile."""

    @property
    def disturbed(self) -> bool:
        """Whether other programs used the cores that the device computes on."""
        return any(remark.code == "contended" for remark in self.remarks)

    @property
    def vague(self) -> bool:
        """Whether it is not known to within a third; see ``is_vague``."""
        # What was written before roofs had a confidence says nothing of it.
        sure = 1.0 if self.confidence is None else self.confidence
        return is_vague(self.ci_low, self.ci_high, sure)


class MissingRoof(Record, frozen=True, kw_only=True):
    """A roof that could not be had."""

    of: RoofDtype | None
    """``None`` is the bandwidth."""
    remark: Remark
    """Why."""


class RoofsMeasured(Record, frozen=True, kw_only=True, tag=True):
    """The roofs of a device, as many as have been measured; the next one has more."""

    device: str
    device_kind: str
    roofs: tuple[Roof, ...]
    missing: tuple[MissingRoof, ...] = ()
    cache_bytes: int | None = None
    """The last cache of a CPU, where the system tells: arrays that fit into it move
    faster than the bandwidth roof."""
