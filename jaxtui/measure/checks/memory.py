"""How much memory a device has, how much of it is free, and whether others use it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import jax

from jaxtui import format as fmt
from jaxtui.measure.checks import smi
from jaxtui.measure.checks.base import Context, by_device, name
from jaxtui.measure.devices import memory_of
from jaxtui.measure.host import available_host_bytes, total_host_bytes
from jaxtui.measure.probe import probe
from jaxtui.model import Holder, Reading, RunEvent

WHAT = "free memory"

MUCH = 0.1
"""The share of a device's memory from which on it matters that others use it."""

LITTLE = 0.1
"""The share of the host's memory that should be free."""

TPU_FILES = ("/dev/accel", "/dev/vfio")

GPUS = ("gpu", "cuda")


def test(context: Context) -> Iterator[RunEvent]:
    """Read the statistics of every device; the test allocates nothing itself."""
    with_smi = any(device.platform in GPUS for device in context.devices)
    report = smi.query() if with_smi else None

    def job(device: jax.Device, seconds: float) -> Iterator[Reading]:
        if device.platform == "cpu":
            yield of_host(name(device), available_host_bytes(), total_host_bytes())
            return
        holders = [one for one in context.seen.holders if one.pid != os.getpid()]
        stats = memory_of(device) or {}
        yield of_device(name(device), stats, holders, _others(device, stats, report))

    yield from by_device(context, "reading memory statistics", job)


def of_host(device: str, available: int | None, total: int | None) -> Reading:
    """The reading of a CPU device, whose memory is the host's.

    Args:
        device: Its name.
        available: Bytes of host memory that can be had; ``None`` if nobody says.
        total: Bytes of host memory in all; ``None`` if nobody says.
    """
    if available is None:
        return _reading(device, None, skipped="This system does not say what is free.")
    of = "" if total is None else f" of {fmt.bytes_text(total)}"
    said = (
        f"{fmt.bytes_text(available)}{of} of the host's memory can be had; CPU devices"
        " and NumPy share it."
    )
    doubt = ""
    if total and available < LITTLE * total:
        doubt = (
            f"Only {fmt.bytes_text(available)}{of} of the host's memory can be had,"
            f" {fmt.percent(available / total)}: programs that use the rest slow this"
            " machine down."
        )
    return _reading(device, available, doubt=doubt, said=said)


def of_device(
    device: str,
    stats: dict[str, int],
    holders: Sequence[Holder] = (),
    others: tuple[smi.Others, int] | None = None,
) -> Reading:
    """The reading of a device with memory of its own.

    Args:
        device: Its name.
        stats: Its ``memory_stats()``.
        holders: Other processes that have accelerators open.
        others: What nvidia-smi says that others use of the GPU, and its size in bytes.
    """
    limit = stats.get("bytes_limit")
    if not limit:
        return _reading(
            device, None, skipped="The runtime tells nothing about the memory."
        )
    used = stats.get("bytes_in_use", 0) + stats.get("bytes_reserved", 0)
    said = [f"{fmt.bytes_text(used)} of {fmt.bytes_text(limit)} in use"]
    if stats.get("bytes_reserved"):
        said.append(f"{fmt.bytes_text(stats['bytes_reserved'])} of that reserved")
    # 0 is what a pool says that has not taken its memory yet.
    if stats.get("largest_free_block_bytes"):
        largest = fmt.bytes_text(stats["largest_free_block_bytes"])
        said.append(f"largest free block {largest}")
    return _reading(
        device,
        max(0, limit - used),
        doubt=_shared_gpu(others) or _held(device, used, limit, holders),
        said=f"{', '.join(said)}.",
    )


def _shared_gpu(others: tuple[smi.Others, int] | None) -> str:
    if others is None:
        return ""
    taken, total = others
    if taken.used_bytes <= MUCH * total:
        return ""
    who = ", ".join(
        f"process {one.pid} ({fmt.bytes_text(one.used_bytes)})"
        for one in taken.processes[:3]
        if one.used_bytes is not None
    )
    return (
        f"Others use {fmt.bytes_text(taken.used_bytes)} of the"
        f" {fmt.bytes_text(total)} of this GPU, says nvidia-smi"
        f"{f': {who}' if who else ''}."
    )


def _held(device: str, used: int, limit: int, holders: Sequence[Holder]) -> str:
    """Much is in use, and somebody else has such a device open."""
    tpu = device.startswith("tpu:")
    mine = [
        one
        for one in holders
        if any(path.startswith(TPU_FILES) == tpu for path in one.paths)
    ]
    if used <= MUCH * limit or not mine:
        return ""
    who = ", ".join(f"process {one.pid} ({one.command or 'unknown'})" for one in mine)
    return (
        f"{fmt.percent(used / limit)} of the memory was in use before the first test,"
        f" and the device is held by {who}."
    )


def _others(
    device: jax.Device, stats: dict[str, int], report: smi.Report | None
) -> tuple[smi.Others, int] | None:
    if report is None or device.platform not in GPUS:
        return None
    ordinal = probe(lambda: device.local_hardware_id)
    gpu = report.gpu(ordinal, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if gpu is None or gpu.total_bytes is None:
        return None
    own = stats.get("pool_bytes") or stats.get("bytes_in_use", 0)
    taken = smi.others(report, gpu, os.getpid(), own)
    return None if taken is None else (taken, gpu.total_bytes)


def _reading(
    device: str,
    measured: int | None,
    doubt: str = "",
    skipped: str = "",
    said: str = "",
) -> Reading:
    return Reading(
        test="memory",
        device=device,
        what=WHAT,
        unit="bytes",
        measured=measured,
        doubt=doubt,
        skipped=skipped,
        said=said,
    )
