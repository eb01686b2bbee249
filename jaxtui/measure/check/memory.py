"""How much memory a device has, and how much of it is free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from jaxtui import format as fmt
from jaxtui.measure import peaks
from jaxtui.measure.check.base import Context, by_device, reading
from jaxtui.measure.devices import memory_of, name
from jaxtui.measure.host import available_host_bytes, total_host_bytes
from jaxtui.model import Expected, Reading, RunEvent


def test(context: Context) -> Iterator[RunEvent]:
    """Read the statistics of every device; the test allocates nothing itself."""

    def read(_: Context, device: jax.Device, seconds: float) -> Iterator[Reading]:
        if device.platform == "cpu":
            yield of_host(name(device), available_host_bytes(), total_host_bytes())
        else:
            stats = memory_of(device) or {}
            yield of_device(name(device), str(device.device_kind), stats)

    yield from by_device(context, "reading memory statistics", read)


def of_host(device: str, available: int | None, total: int | None) -> Reading:
    """The reading of a CPU device, whose memory is the host's."""
    if available is None:
        return _free(device, skipped="This system does not say what is free.")
    of = "" if total is None else f" of {fmt.bytes_text(total)}"
    text = f"{fmt.bytes_text(available)}{of} of the host's memory can be had"
    return _free(device, available, said=f"{text}; CPU devices and NumPy share it.")


def of_device(device: str, kind: str, stats: dict[str, int]) -> Reading:
    """The reading of a device with memory of its own, beside what is published."""
    limit = stats.get("bytes_limit")
    if not limit:
        return _free(device, skipped="The runtime tells nothing about the memory.")
    reserved = stats.get("bytes_reserved", 0)
    used = stats.get("bytes_in_use", 0) + reserved
    said = f"{fmt.bytes_text(used)} of {fmt.bytes_text(limit)} in use"
    if reserved:
        said += f", {fmt.bytes_text(reserved)} of that reserved"
    # 0 is what a pool says that has not taken its memory yet.
    if largest := stats.get("largest_free_block_bytes"):
        said += f", largest free block {fmt.bytes_text(largest)}"
    published, expected = peaks.memory(kind), None
    if published is not None:
        size, source = published
        expected = Expected(value=size, kind="peak", source=source)
    return _free(device, max(0, limit - used), expected=expected, said=f"{said}.")


def _free(device: str, free: int | None = None, **facts: Any) -> Reading:
    return reading("memory", device, "free memory", free, unit="bytes", **facts)
