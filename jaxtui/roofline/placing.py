"""Where a measurement stands under the roofs of its device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtui.model import Case, Measurement
from jaxtui.model.roofs import Roof, RoofDtype, RoofsMeasured

Bound = Literal["memory", "compute"]

UNRATED = ("host-bound", "folded", "interpreted", "own")
"""Flags of the notes that say why a measurement has no rate."""


@dataclass(frozen=True, slots=True)
class Place:
    """A case under its roofs, or why it has no place there."""

    measurement: Measurement
    intensity: float | None = None
    """Flops per byte of ideal traffic; ``None`` for an op that only moves data."""
    rate: float | None = None
    """FLOP/s; bytes/s where there is no intensity."""
    roof: Roof | None = None
    """The one that limits it: the lower of the two at its intensity."""
    limit: float | None = None
    """What that roof allows at this intensity, in the unit of ``rate``."""
    bound: Bound | None = None
    cached: bool = False
    """All its arrays fit into the last cache, so that the memory roof need not hold."""
    cache_bytes: int | None = None
    """Of that cache, where the system tells."""
    why_not: str = ""
    """One sentence, where it has no place."""

    @property
    def share(self) -> float | None:
        """Of the limit; above 1 it was faster than the roof."""
        if self.rate is None or not self.limit:
            return None
        return self.rate / self.limit


def place(measurement: Measurement, roofs: RoofsMeasured) -> Place:
    """Where a measurement stands.

    Args:
        measurement: of a case that ran on the device of the roofs (or, on a CPU, on
            the host, which is the same silicon).
        roofs: of that device.
    """
    why_not = _elsewhere(measurement.case, roofs.device) or _unrated(measurement)
    if why_not:
        return Place(measurement, why_not=why_not)
    if not _positive(measurement.flops):
        return _moving(measurement, roofs)
    return _computing(measurement, roofs)


def ridge(compute: Roof, bandwidth: Roof) -> float:
    """The intensity from which on not memory but arithmetic limits, flops per byte."""
    return compute.per_second / bandwidth.per_second


def bandwidth_roof(roofs: RoofsMeasured) -> Roof | None:
    """The memory roof, where it is known."""
    found = (one for one in roofs.roofs if one.kind == "bandwidth" and _usable(one))
    return next(found, None)


def compute_roofs(roofs: RoofsMeasured) -> tuple[Roof, ...]:
    """Those of the arithmetic, the fastest first."""
    found = [one for one in roofs.roofs if one.kind == "compute" and _usable(one)]
    return tuple(sorted(found, key=lambda one: -one.per_second))


def compute_roof(case: Case, roofs: RoofsMeasured) -> Roof | None:
    """The arithmetic of a case's dtype and precision."""
    for roof in compute_roofs(roofs):
        if roof.of == kind(case):
            return roof
    return None


def kind(case: Case) -> RoofDtype:
    """The arithmetic that a case does.

    No precision makes a difference to a CPU, and NumPy knows none.
    """
    plain = case.on_host or case.device.startswith("cpu:")
    return RoofDtype(dtype=case.dtype, precision="default" if plain else case.precision)


def on_the_roofs(case: Case, device: str) -> bool:
    """Whether a case runs on the silicon that the roofs of a device are of.

    The CPU devices of a process share their cores and memory with each other, and with
    NumPy.
    """
    if device.startswith("cpu:"):
        return case.on_host or case.device.startswith("cpu:")
    return not case.on_host and case.device == device


def _elsewhere(case: Case, device: str) -> str:
    """Why it is not the roofs of this device that limit a case; empty if they do."""
    if not on_the_roofs(case, device):
        where = "the host" if case.on_host else case.device
        return f"It ran on {where}; these roofs are those of {device}."
    if case.inputs == "host" and not case.on_host:
        return (
            "Its arguments are sent from the host in every call, and that way has a "
            "limit of its own."
        )
    return ""


def _unrated(measurement: Measurement) -> str:
    """Why nothing can be said of its speed; empty if something can."""
    if measurement.stopped == "crashed":
        return "The engine was lost before it was measured to the end."
    if _positive(measurement.flops_per_second):
        if _positive(measurement.bytes):
            return ""
        return "How many bytes it moves is not known, and so neither is its intensity."
    moves_only = not _positive(measurement.flops)
    if moves_only and _positive(measurement.bytes_per_second):
        return ""
    texts = {note.flag: note.text for note in measurement.notes}
    said = next((texts[flag] for flag in UNRATED if flag in texts), "")
    if said:
        return f"It has no rate. {said}"
    if moves_only and not _positive(measurement.bytes):
        return "Neither its flops nor its bytes are known."
    return "It has no rate: too few calls were timed."


def _moving(measurement: Measurement, roofs: RoofsMeasured) -> Place:
    """An op without arithmetic: only the memory can limit it."""
    roof = bandwidth_roof(roofs)
    if roof is None:
        return Place(measurement, why_not=_missing(None, roofs))
    return Place(
        measurement,
        rate=measurement.bytes_per_second,
        roof=roof,
        limit=roof.per_second,
        bound="memory",
        cached=_cached(measurement, roofs),
        cache_bytes=roofs.cache_bytes,
    )


def _computing(measurement: Measurement, roofs: RoofsMeasured) -> Place:
    assert measurement.flops is not None
    assert measurement.bytes is not None
    intensity = measurement.flops / measurement.bytes
    memory, compute = bandwidth_roof(roofs), compute_roof(measurement.case, roofs)
    if memory is None:
        return Place(measurement, why_not=_missing(None, roofs))
    allowed = intensity * memory.per_second
    if not 0 < allowed < math.inf:
        return Place(measurement, why_not="Its intensity is beyond all measure.")
    if compute is None and not _surely_by_memory(allowed, compute_roofs(roofs)):
        return Place(measurement, why_not=_missing(kind(measurement.case), roofs))
    by_memory = compute is None or allowed <= compute.per_second
    roof = memory if compute is None or by_memory else compute
    return Place(
        measurement,
        intensity=intensity,
        rate=measurement.flops_per_second,
        roof=roof,
        limit=allowed if by_memory else roof.per_second,
        bound="memory" if by_memory else "compute",
        cached=_cached(measurement, roofs),
        cache_bytes=roofs.cache_bytes,
    )


def _surely_by_memory(allowed: float, known: Sequence[Roof]) -> bool:
    """Whether arithmetic as slow as the slowest that is known would not limit it."""
    return bool(known) and allowed <= known[-1].per_second


def _missing(of: RoofDtype | None, roofs: RoofsMeasured) -> str:
    why = next((one.why for one in roofs.missing if one.of == of), "")
    name = "memory roof"
    if of is not None:
        precise = "" if of.precision == "default" else f" {of.precision}"
        name = f"compute roof for {of.dtype}{precise}"
    return f"There is no {name}: {why or 'it was not measured.'}"


def _cached(measurement: Measurement, roofs: RoofsMeasured) -> bool:
    if roofs.cache_bytes is None or measurement.bytes is None:
        return False
    # Every argument is read once and every result written once: that is their size.
    return measurement.bytes <= roofs.cache_bytes


def _usable(roof: Roof) -> bool:
    return _positive(roof.per_second)


def _positive(value: float | None) -> bool:
    return value is not None and 0 < value < math.inf
