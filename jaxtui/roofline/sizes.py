"""Sizes at which a roofline says something: past the caches, and past the hand-over."""

from __future__ import annotations

from jaxtui.model import OpInfo, PlannedCase
from jaxtui.model.roofs import RoofsMeasured
from jaxtui.roofline.needs import is_counted
from jaxtui.roofline.placing import bandwidth_roof, compute_roof

CACHES = 1.75
"""How many times the last cache the arrays of a memory-bound case are at least. No more
than need be: where malloc cannot be told to keep it, memory from 32 MiB on is new to
the process in every call."""

SHORTEST = 1e-3
"""Seconds of a call at its roof: much shorter ones are hidden by their hand-over, on an
accelerator altogether."""

LONGEST = 0.02
"""Nothing grows beyond that: most ops stay below their roof, and take longer."""

FAR = 0.25
"""Of what is wanted; below that a size is doubled, which may be four times the work."""


def larger(planned: PlannedCase, info: OpInfo, roofs: RoofsMeasured) -> int:
    """The next size to try; the same one where it is large enough.

    Args:
        planned: the case at the size that was tried last.
        info: its op.
        roofs: of the device.
    """
    size, memory = planned.case.size, bandwidth_roof(roofs)
    if memory is None or not planned.bytes or not is_counted(info.flops):
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
    return max(size, min(size + _step(size, reached), info.maximum))


def _step(size: int, reached: float) -> int:
    """As much again, or an eighth of the power of two below: sizes stay round."""
    return size if reached < FAR else max(1, 2 ** size.bit_length() // 16)
