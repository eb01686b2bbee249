"""The memory of a device, in total and free."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import jax
from msgspec.structs import replace

from jaxtui.core.model import CheckRead, Reading, Remark, RunEvent
from jaxtui.core.model.remark import Fact
from jaxtui.features.bench.measure.rates import reading
from jaxtui.features.check.measure.base import Context, visit
from jaxtui.machine import gpu_memory, processes
from jaxtui.machine.findings import gpu_holders
from jaxtui.machine.gpu_memory import GpuMemory
from jaxtui.machine.survey import Survey
from jaxtui.tasks.devices import memory_of, name, probe
from jaxtui.tasks.host import available_host_bytes
from jaxtui.xla import peaks

_POOL_SHARE = "0.75"
"""docs.jax.dev/en/latest/gpu_memory_allocation.html"""

_POOLS = ("", "default", "bfc")


def memory(context: Context) -> Iterator[RunEvent]:
    """Read the statistics of every device; the test allocates nothing itself."""
    cards = tuple(gpu_memory.of(context.survey))
    holders = processes.holders() if cards else ()
    survey = replace(context.survey, holders=holders)

    def read(
        _: Context, group: Sequence[jax.Device], seconds: float
    ) -> Iterator[RunEvent]:
        for device in group:
            yield CheckRead(reading=_of(device, cards, survey))

    yield from visit(context, read, in_turn=True)


def _of(device: jax.Device, cards: Sequence[GpuMemory], survey: Survey) -> Reading:
    if device.platform == "cpu":
        return of_host(name(device), available_host_bytes())
    stats, number = memory_of(device) or {}, probe(lambda: device.local_hardware_id)
    card = None
    if device.platform != "tpu" and number is not None and number < len(cards):
        card = cards[number]
    return of_device(name(device), str(device.device_kind), stats, card, survey)


def of_host(device: str, available: int | None) -> Reading:
    """The reading of a CPU device, whose memory is the host's."""
    if available is None:
        return _free(device, remarks=(Remark("no-memory-figure"),))
    return _free(device, available)


def of_device(
    device: str,
    kind: str,
    stats: dict[str, int],
    card: GpuMemory | None = None,
    survey: Survey | None = None,
) -> Reading:
    """The reading of a device with memory of its own, beside what is published.

    Args:
        device: its name.
        kind: as JAX has it.
        stats: JAX's own.
        card: the GPU, whose memory others may have; ``None`` where that is not known.
        survey: who has it open.
    """
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
    if card is not None and card.free_bytes is not None:
        # What JAX's pool has taken from the card already is free as well.
        free_bytes = card.free_bytes + max(0, stats.get("pool_bytes", 0) - used)
        free = min(free, free_bytes)
        remarks += _taken(free_bytes, card, survey or Survey())
    return _free(device, free, expected=peaks.memory(kind), remarks=tuple(remarks))


def _taken(free_bytes: int, card: GpuMemory, survey: Survey) -> Iterator[Remark]:
    """Yield a remark if other processes leave less than half of a card."""
    if not card.total_bytes or free_bytes >= card.total_bytes / 2:
        return
    holders = gpu_holders(survey, card.index)
    facts: dict[str, Fact] = processes.facts(holders[0]) if holders else {}
    facts |= {"used": card.used_bytes, "total": card.total_bytes}
    yield Remark("card-taken", {**facts, "more": len(holders) - 1}, "warning")


def _pool_share(environment: Mapping[str, str]) -> float | None:
    """Return the fraction of a GPU for JAX's pool; ``None`` without a pool."""
    if environment.get("XLA_PYTHON_CLIENT_ALLOCATOR", "default") not in _POOLS:
        return None
    names = ("XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION")
    typed = next(filter(None, map(environment.get, names)), _POOL_SHARE)
    with suppress(ValueError):
        return float(typed)
    return None


def _free(device: str, free: int | None = None, **facts: Any) -> Reading:
    return reading("memory", device, "free memory", free, unit="bytes", **facts)
