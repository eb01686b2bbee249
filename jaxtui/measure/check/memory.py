"""How much memory a device has, how much of it is free, and whether others use it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import jax

from jaxtui import format as fmt
from jaxtui.machine.gpu_memory import (
    CARDS,
    PROCESSES,
    GpuMemory,
    GpuProcess,
    Smi,
    nvidia,
    processes,
)
from jaxtui.machine.hardware import maker_of
from jaxtui.machine.survey import PLATFORMS
from jaxtui.measure.check.base import Context, by_device, reading
from jaxtui.measure.devices import memory_of, name, probe
from jaxtui.measure.host import available_host_bytes, total_host_bytes
from jaxtui.model import Holder, Reading, RunEvent

MUCH = 0.1
"""The share of a device's memory from which on it matters that others use it."""

LITTLE = 0.1
"""The share of the host's memory that should be free."""

SMI_SECONDS = 5.0
"""Without its persistence daemon the driver takes a second for each GPU."""

CONTEXT_BYTES = 1024**3
"""More than a CUDA context and its kernels take beside the arrays, some 500 MB."""


def test(context: Context) -> Iterator[RunEvent]:
    """Read the statistics of every device; the test allocates nothing itself."""
    with_smi = any(device.platform in PLATFORMS["cuda"] for device in context.devices)
    report = query_smi() if with_smi else None

    def read(_: Context, device: jax.Device, seconds: float) -> Iterator[Reading]:
        if device.platform == "cpu":
            yield of_host(name(device), available_host_bytes(), total_host_bytes())
            return
        holders = [one for one in context.seen.holders if one.pid != os.getpid()]
        stats, others = memory_of(device) or {}, None
        if report is not None and device.platform in PLATFORMS["cuda"]:
            ordinal = probe(lambda: device.local_hardware_id)
            gpu = report.gpu(ordinal, os.environ.get("CUDA_VISIBLE_DEVICES"))
            own = stats.get("pool_bytes") or stats.get("bytes_in_use", 0)
            others = report.others(gpu, os.getpid(), own) if gpu else None
        yield of_device(name(device), stats, holders, others)

    yield from by_device(context, "reading memory statistics", read)


def of_host(device: str, available: int | None, total: int | None) -> Reading:
    """The reading of a CPU device, whose memory is the host's."""
    if available is None:
        return _free(device, skipped="This system does not say what is free.")
    of = "" if total is None else f" of {fmt.bytes_text(total)}"
    text = f"{fmt.bytes_text(available)}{of} of the host's memory can be had"
    doubt = ""
    if total and available < LITTLE * total:
        doubt = (
            f"Only {text}, {fmt.percent(available / total)}: programs that use the rest"
            " slow this machine down."
        )
    said = f"{text}; CPU devices and NumPy share it."
    return _free(device, available, doubt=doubt, said=said)


def of_device(
    device: str,
    stats: dict[str, int],
    holders: Sequence[Holder] = (),
    others: Others | None = None,
) -> Reading:
    """The reading of a device with memory of its own."""
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
    doubt = ""
    tpu = device.startswith("tpu:")
    mine = ", ".join(
        f"process {one.pid} ({one.command or 'unknown'})"
        for one in holders
        if any((maker_of(path) == "tpu") == tpu for path in one.paths)
    )
    if others is not None and others.used_bytes > MUCH * others.total_bytes:
        doubt = others.sentence
    elif used > MUCH * limit and mine:
        doubt = (
            f"{fmt.percent(used / limit)} of the memory was in use before the first"
            f" test, and the device is held by {mine}."
        )
    return _free(device, max(0, limit - used), doubt=doubt, said=f"{said}.")


def _free(device: str, free: int | None = None, **facts: Any) -> Reading:
    return reading("memory", device, "free memory", free, unit="bytes", **facts)


# nvidia-smi, which knows the memory of other processes, too.


@dataclass(frozen=True, slots=True)
class Others:
    """What all processes but this one have of a GPU's memory."""

    used_bytes: int
    total_bytes: int
    processes: tuple[GpuProcess, ...]
    """The largest first; this one is among them where its number is not known."""

    @property
    def sentence(self) -> str:
        who = ", ".join(
            f"process {one.pid} ({fmt.bytes_text(one.used_bytes)})"
            for one in self.processes[:3]
            if one.used_bytes is not None
        )
        return (
            f"Others use {fmt.bytes_text(self.used_bytes)} of the"
            f" {fmt.bytes_text(self.total_bytes)} of this GPU, says nvidia-smi"
            f"{f': {who}' if who else ''}."
        )


@dataclass(frozen=True, slots=True)
class SmiReport:
    gpus: tuple[GpuMemory, ...] = ()
    processes: tuple[GpuProcess, ...] = ()

    def gpu(self, ordinal: int | None, visible: str | None) -> GpuMemory | None:
        """The GPU behind a device; ``None`` where that cannot be told.

        ``ordinal`` is the device's ``local_hardware_id``, CUDA's number for it, and
        ``visible`` is ``CUDA_VISIBLE_DEVICES``, where that is set.
        """
        if ordinal is None:
            return None
        # CUDA puts the fastest first; only among equals is its order that of
        # nvidia-smi.
        wanted = str(ordinal)
        if visible is not None:
            names = [name.strip() for name in visible.split(",")]
            wanted = names[ordinal] if ordinal < len(names) else ""
        for gpu in self.gpus:
            # CUDA takes the beginning of a UUID for the whole.
            is_uuid = wanted.startswith("GPU-") and gpu.uuid.startswith(wanted)
            if wanted == str(gpu.index) or is_uuid:
                return gpu
        return None

    def others(self, gpu: GpuMemory, own_pid: int, own_bytes: int) -> Others | None:
        """What others have of a GPU's memory; ``None`` where that cannot be told.

        What JAX has taken of the GPU in this process is used with an allowance where
        nvidia-smi does not list the process.
        """
        if gpu.used_bytes is None or gpu.total_bytes is None:
            return None
        mine, rest = own_bytes + CONTEXT_BYTES, []
        for process in self.processes:
            if process.uuid == gpu.uuid and process.pid == own_pid:
                mine = max(process.used_bytes or 0, own_bytes)
            elif process.uuid == gpu.uuid:
                rest.append(process)
        rest.sort(key=lambda process: process.used_bytes or 0, reverse=True)
        return Others(max(0, gpu.used_bytes - mine), gpu.total_bytes, tuple(rest))


def query_smi(
    limit_seconds: float = SMI_SECONDS, program: str = "nvidia-smi"
) -> SmiReport | None:
    """Ask nvidia-smi.

    Returns:
        ``None`` if there is none here, or it failed or did not answer in time.
    """
    end = monotonic() + limit_seconds
    asked = [Smi(question, program) for question in (CARDS, PROCESSES)]
    cards, apps = (one.answer(end - monotonic()) for one in asked)
    return None if cards is None else SmiReport((*nvidia(cards),), (*processes(apps),))
