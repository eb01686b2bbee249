"""The roofline model: what limits a case, and how near it comes to that limit.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52(4), 2009: a computation that does I flops per byte of
traffic reaches at most min(compute roof, I × bandwidth roof).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from jaxtui.analysis.thresholds import AT_THE_ROOF
from jaxtui.model import HOST, Case, Fact, Measurement, OpInfo, PlannedCase, Remark
from jaxtui.model.roofs import Roof, RoofDtype, RoofsMeasured

Bound = Literal["memory", "compute"]

UNRATED = ("host-bound", "folded", "kept", "interpreted", "own")
"""Codes of the notes that say why a measurement has no rate."""

NEAR = 0.3
"""Fraction of a roof above which it limits; below, something else does."""

NEARLY_FITTING = 4
"""Arrays of so many times the last cache are partly still there in the next call."""

OP_BY_OP = ("eager", "numpy", "tensorflow")
"""Modes that write every intermediate result to memory."""

USUAL = "float32"
"""The usual dtype of a user's function, before it has run."""

CACHES = 1.75
"""The smallest arrays of a memory-bound case in multiples of the last cache. No more
than need be: where malloc cannot be told to keep it, memory from 32 MiB on is new to
the process in every call."""

SHORTEST = 1e-3
"""Seconds of a call at its roof: much shorter ones are hidden by their hand-over, on an
accelerator altogether."""

LONGEST = 0.02
"""Seconds of the longest case: most ops stay below their roof, and take longer."""

FAR = 0.25
"""Fraction of the wanted time; below that a size is doubled, which may be four times
the work."""


# Where a case stands.


class Place(msgspec.Struct, frozen=True):
    """A case under its roofs, or why it has no place there."""

    measurement: Measurement
    intensity: float | None = None
    """Flops per byte of ideal traffic; ``None`` for an op that only moves data."""
    rate: float | None = None
    """FLOP/s; bytes/s where there is no intensity."""
    roof: Roof | None = None
    """The one that limits it: the lower of the two at its intensity."""
    limit: float | None = None
    """The roof at this intensity, in the unit of ``rate``."""
    bound: Bound | None = None
    cached: bool = False
    """All its arrays fit into the last cache, so that the memory roof need not hold."""
    cache_bytes: int | None = None
    """The size of that cache, where the system tells."""
    why_not: Remark | None = None
    """The reason why it has no place."""

    @property
    def ratio(self) -> float | None:
        """The rate over the limit; above 1 it was faster than the roof."""
        if self.rate is None or not self.limit:
            return None
        return self.rate / self.limit

    @property
    def share(self) -> float | None:
        """The share of the limit; ``None`` where that does not limit."""
        beyond = self.in_cache or (self.ratio or 0.0) > AT_THE_ROOF
        return None if beyond else self.ratio

    @property
    def beyond_published(self) -> bool:
        """Return whether it was faster than the published peak allows."""
        published = self.roof.published if self.roof else None
        if published is None or self.roof is None or self.ratio is None:
            return False
        return self.ratio * self.roof.per_second > AT_THE_ROOF * published.value

    @property
    def uncertain(self) -> bool:
        """Return whether its rate or its roof is not known to within a third."""
        ready, roof = self.measurement.ready, self.roof
        return bool((ready and ready.vague) or (roof and roof.vague))

    @property
    def in_cache(self) -> bool:
        """Return whether its arrays may lie in a cache, below a memory roof."""
        return self.bound == "memory" and self.cached


def place(measurement: Measurement, roofs: RoofsMeasured) -> Place:
    """Place a measurement under the roofs.

    Args:
        measurement: of a case that ran on the device of the roofs (or, on a CPU, on
            the host, which is the same silicon).
        roofs: of that device.
    """
    if measurement.collective:
        # No maker's figure for a link is comparable with busbw.
        return Place(measurement, why_not=Remark("links-unpublished"))
    why_not = _elsewhere(measurement.case, roofs.device) or _unrated(measurement)
    if why_not is not None:
        return Place(measurement, why_not=why_not)
    memory = bandwidth_roof(roofs)
    if memory is None:
        return Place(measurement, why_not=_missing(None, roofs))
    # Every argument is read once and every result written once: that is their size.
    moved, cache = measurement.bytes, roofs.cache_bytes
    under = Place(
        measurement,
        rate=measurement.bytes_per_second,
        roof=memory,
        limit=memory.per_second,
        bound="memory",
        cached=moved is not None and cache is not None and moved <= cache,
        cache_bytes=cache,
    )
    # Without arithmetic only the memory can limit it.
    return _computing(under, memory, roofs) if _positive(measurement.flops) else under


def ridge(compute: Roof, bandwidth: Roof) -> float:
    """The intensity from which on not memory but arithmetic limits, flops per byte."""
    return compute.per_second / bandwidth.per_second


def bandwidth_roof(roofs: RoofsMeasured) -> Roof | None:
    return next(_usable(roofs, "bandwidth"), None)


def compute_roofs(roofs: RoofsMeasured) -> tuple[Roof, ...]:
    """Return the roofs of arithmetic, the fastest first."""
    return tuple(sorted(_usable(roofs, "compute"), key=lambda roof: -roof.per_second))


def _usable(roofs: RoofsMeasured, kind: str) -> Iterator[Roof]:
    for roof in roofs.roofs:
        if roof.kind == kind and _positive(roof.per_second):
            yield roof


def multiplied(measurement: Measurement) -> Case:
    """A case with the dtype of what it multiplies, where that is another one."""
    case, dtype = measurement.case, measurement.multiplies
    return replace(case, dtype=dtype) if isinstance(dtype, str) else case


def compute_roof(case: Case, roofs: RoofsMeasured) -> Roof | None:
    """The arithmetic of a case's dtype and precision."""
    return next(
        (roof for roof in compute_roofs(roofs) if roof.of == arithmetic(case)), None
    )


def arithmetic(case: Case) -> RoofDtype:
    """The arithmetic that a case does.

    No precision makes a difference to a CPU, and NumPy knows none.
    """
    plain = case.on_host or case.device.startswith("cpu:")
    return RoofDtype(dtype=case.dtype, precision="default" if plain else case.precision)


def on_the_roofs(case: Case, device: str) -> bool:
    """Return whether a case runs on the silicon of a device's roofs."""
    return same_silicon(HOST if case.on_host else case.device, device)


def _elsewhere(case: Case, device: str) -> Remark | None:
    """Return why the roofs of this device do not limit a case."""
    if not on_the_roofs(case, device):
        where = HOST if case.on_host else case.device
        return Remark("other-silicon", {"where": where, "device": device})
    if case.inputs == "host" and not case.on_host:
        return Remark("sent-each-call")
    return None


def _unrated(measurement: Measurement) -> Remark | None:
    """Return why a case has no speed."""
    if measurement.stopped == "crashed":
        return Remark("lost-midway", severity="warning")
    if _positive(measurement.flops_per_second):
        return None if _positive(measurement.bytes) else Remark("no-byte-count")
    moves_only = not _positive(measurement.flops)
    if moves_only and _positive(measurement.bytes_per_second):
        return None
    codes = {note.code for note in measurement.notes}
    if because := next((code for code in UNRATED if code in codes), ""):
        return Remark("no-rate", {"because": because})
    if moves_only and not _positive(measurement.bytes):
        return Remark("nothing-counted")
    return Remark("too-few-calls", severity="warning")


def _computing(under: Place, memory: Roof, roofs: RoofsMeasured) -> Place:
    """The place of an op with arithmetic, which may be what limits it."""
    measurement = under.measurement
    assert measurement.flops is not None
    assert measurement.bytes is not None
    intensity = measurement.flops / measurement.bytes
    allowed = intensity * memory.per_second
    if not 0 < allowed < math.inf:
        return Place(measurement, why_not=Remark("no-byte-count"))
    case = multiplied(measurement)
    compute, roofs_below = compute_roof(case, roofs), compute_roofs(roofs)
    # Where arithmetic as slow as the slowest that is known would not limit it.
    surely_by_memory = bool(roofs_below) and allowed <= roofs_below[-1].per_second
    if compute is None and not surely_by_memory:
        return Place(measurement, why_not=_missing(arithmetic(case), roofs))
    under = replace(under, intensity=intensity, rate=measurement.flops_per_second)
    if compute is None or allowed <= compute.per_second:
        return replace(under, limit=allowed)
    return replace(under, roof=compute, limit=compute.per_second, bound="compute")


def _missing(of: RoofDtype | None, roofs: RoofsMeasured) -> Remark:
    was_tried = any(missing.of == of for missing in roofs.missing)
    facts: dict[str, Fact] = {"roof": roof_name(of)}
    return Remark("no-roof" if was_tried else "roof-not-measured", facts, "warning")


def roof_name(of: RoofDtype | None) -> str:
    """``bandwidth``, or ``compute float32``."""
    return "bandwidth" if of is None else f"compute {of.label}"


def _positive(value: float | None) -> bool:
    return value is not None and 0 < value < math.inf


# What limits a case.


def verdict(place: Place) -> Remark:
    """Return the limit of a case and how near it comes, or why it has no place."""
    share, bound = place.ratio, place.bound
    if share is None or bound is None:
        return place.why_not or Remark("too-few-calls", severity="warning")
    if place.in_cache:
        return Remark("in-cache", {"cache_bytes": place.cache_bytes})
    facts: dict[str, Fact]
    if place.beyond_published:
        if bound == "memory":
            return Remark("from-cache")
        facts = {"dtype": multiplied(place.measurement).dtype}
        return Remark("beyond-peak", facts, "error")
    if share > AT_THE_ROOF:
        facts = {"bound": bound, "cause": _cause_above(place)}
        return Remark("over-the-roof", facts, "warning")
    if share < NEAR:
        facts = {"bound": bound, "cause": _cause_below(place)}
        return Remark("below-the-roof", facts)
    facts = {"share": share, "uncertain": place.uncertain}
    if place.intensity is None:
        return Remark("moves-data", facts)
    return Remark("memory-bound" if bound == "memory" else "compute-bound", facts)


def _cause_above(place: Place) -> str:
    """Return the likely reason why a case was faster than its roof."""
    moved, cache = place.measurement.bytes, place.cache_bytes
    if place.bound == "memory" and moved and cache and moved < NEARLY_FITTING * cache:
        return "cache"
    if place.roof is not None and place.roof.disturbed:
        return "contended"
    return place.bound or ""


def _cause_below(place: Place) -> str:
    """Return another limit of a case that is far below its roof; empty if unknown."""
    measured = place.measurement
    if measured.has("contended"):
        return "contended"
    if measured.has("page-faults"):
        return "page-faults"
    if place.bound == "memory" and measured.case.mode in OP_BY_OP:
        return "op-by-op"
    return ""


# Which roofs some cases want, and at which sizes these say something.


def needed(
    cases: Iterable[Case], device: str, catalogue: Iterable[OpInfo] = ()
) -> tuple[RoofDtype, ...]:
    """The compute roofs that these cases stand under, each once, in their order."""
    without = {op.name for op in catalogue if op.arithmetic != "flops"}
    dtypes = [
        arithmetic(case) if case.dtype else RoofDtype(dtype=USUAL)
        for case in cases
        if on_the_roofs(case, device) and case.op not in without
    ]
    return tuple(dict.fromkeys(dtypes))


def larger(planned: PlannedCase, info: OpInfo, roofs: RoofsMeasured) -> int:
    """The next size to try; the same one where it is large enough."""
    size, memory = planned.case.size, bandwidth_roof(roofs)
    if memory is None or not planned.bytes or info.arithmetic == "uncounted":
        return size
    compute = compute_roof(planned.case, roofs)
    moving = planned.bytes / memory.per_second
    computing = (planned.flops or 0.0) / compute.per_second if compute else 0.0
    seconds = max(moving, computing)
    reached = seconds / SHORTEST
    if moving >= computing and roofs.cache_bytes:
        reached = min(reached, planned.bytes / (CACHES * roofs.cache_bytes))
    if reached >= 1 or seconds >= LONGEST:
        return size
    # As much again, or an eighth of the power of two below: sizes stay round.
    step = size if reached < FAR else max(1, 2 ** size.bit_length() // 16)
    return max(size, min(size + step, info.maximum))


def same_silicon(device: str, another: str) -> bool:
    """Return whether two devices are the same silicon: those of a CPU share cores and
    memory with each other, and with NumPy.
    """
    names = [
        "cpu" if name == HOST or name.startswith("cpu:") else name
        for name in (device, another)
    ]
    return names[0] == names[1]
