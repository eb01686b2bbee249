"""How much memory a device has, and how much of it is free."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import jax

from jaxtui.measure import peaks
from jaxtui.measure.check.base import Context, by_device, reading
from jaxtui.measure.devices import memory_of, name
from jaxtui.measure.host import available_host_bytes
from jaxtui.model import Reading, Remark, RunEvent

_POOL_SHARE = "0.75"
"""docs.jax.dev/en/latest/gpu_memory_allocation.html"""

_POOLS = ("", "default", "bfc")


def test(context: Context) -> Iterator[RunEvent]:
    """Read the statistics of every device; the test allocates nothing itself."""

    def read(_: Context, device: jax.Device, seconds: float) -> Iterator[Reading]:
        if device.platform == "cpu":
            yield of_host(name(device), available_host_bytes())
        else:
            stats = memory_of(device) or {}
            yield of_device(name(device), str(device.device_kind), stats)

    yield from by_device(context, read)


def of_host(device: str, available: int | None) -> Reading:
    """The reading of a CPU device, whose memory is the host's."""
    if available is None:
        return _free(device, remarks=(Remark("no-memory-figure"),))
    return _free(device, available)


def of_device(device: str, kind: str, stats: dict[str, int]) -> Reading:
    """The reading of a device with memory of its own, beside what is published."""
    limit = stats.get("bytes_limit")
    if not limit:
        return _free(device, remarks=(Remark("no-memory-figure"),))
    used = stats.get("bytes_in_use", 0) + stats.get("bytes_reserved", 0)
    remarks: list[Remark] = []
    if used:
        remarks.append(Remark("memory-in-use", {"used": used, "limit": limit}))
    if device.startswith("gpu:") and (share := _pool_share(os.environ)) is not None:
        remarks.append(Remark("memory-pool", {"limit": limit, "share": share}))
    free = max(0, limit - used)
    return _free(device, free, expected=peaks.memory(kind), remarks=tuple(remarks))


def _pool_share(environment: Mapping[str, str]) -> float | None:
    """Of a GPU, what JAX's allocator takes at most; ``None`` of one without a pool."""
    if environment.get("XLA_PYTHON_CLIENT_ALLOCATOR", "default") not in _POOLS:
        return None
    names = ("XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION")
    typed = next(filter(None, map(environment.get, names)), _POOL_SHARE)
    with suppress(ValueError):
        return float(typed)
    return None


def _free(device: str, free: int | None = None, **facts: Any) -> Reading:
    return reading("memory", device, "free memory", free, unit="bytes", **facts)
