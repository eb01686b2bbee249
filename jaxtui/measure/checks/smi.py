"""What nvidia-smi knows of a GPU's memory: that of other processes, too."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from jaxtui.measure.checks import children

PROGRAM = "nvidia-smi"

LIMIT_SECONDS = 5.0
"""Without its persistence daemon the driver takes a second for each GPU."""

GPUS = "--query-gpu=index,uuid,memory.used,memory.total"
PROCESSES = "--query-compute-apps=gpu_uuid,pid,used_memory"
FORMAT = "--format=csv,noheader,nounits"

MEBIBYTE = 1024**2
"""Its unit of memory."""

CONTEXT_BYTES = 1024**3
"""More than a CUDA context and its kernels take beside the arrays, some 500 MB."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU."""

    index: int
    uuid: str
    used_bytes: int | None
    """By all processes and the driver; ``None`` where it does not say."""
    total_bytes: int | None


@dataclass(frozen=True, slots=True)
class Process:
    """A process that computes on a GPU."""

    uuid: str
    """The GPU's."""
    pid: int
    """In the host's numbering: in a container it is another one than here."""
    used_bytes: int | None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything it said."""

    gpus: tuple[Gpu, ...] = ()
    processes: tuple[Process, ...] = ()

    def gpu(self, ordinal: int | None, visible: str | None) -> Gpu | None:
        """The GPU behind a device.

        Args:
            ordinal: The device's ``local_hardware_id``, CUDA's number for it.
            visible: ``CUDA_VISIBLE_DEVICES``, where it is set.

        Returns:
            ``None`` where that cannot be told.
        """
        if ordinal is None:
            return None
        if visible is None:
            # CUDA puts the fastest first; only among equals is its order that of
            # nvidia-smi.
            return self._find(str(ordinal))
        names = [name.strip() for name in visible.split(",")]
        return self._find(names[ordinal]) if ordinal < len(names) else None

    def _find(self, name: str) -> Gpu | None:
        for gpu in self.gpus:
            # CUDA takes the beginning of a UUID for the whole.
            if name == str(gpu.index) or (
                name.startswith("GPU-") and gpu.uuid.startswith(name)
            ):
                return gpu
        return None


@dataclass(frozen=True, slots=True)
class Others:
    """What everybody but this process has of a GPU's memory."""

    used_bytes: int
    processes: tuple[Process, ...]
    """The largest first; this one is among them where its number is not known."""


def query(
    program: str = PROGRAM, limit_seconds: float = LIMIT_SECONDS
) -> Report | None:
    """Ask nvidia-smi.

    Args:
        program: Its name or path.
        limit_seconds: It hangs where the driver does.

    Returns:
        ``None`` if there is none here, or it failed or did not answer in time.
    """
    path = shutil.which(program)
    if path is None:
        return None

    def ask(what: str) -> str | None:
        return _output([path, what, FORMAT], limit_seconds)

    with ThreadPoolExecutor(2) as both:
        gpus, processes = both.map(ask, (GPUS, PROCESSES))
    if gpus is None:
        return None
    return Report(parse_gpus(gpus), parse_processes(processes or ""))


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """The answer to ``GPUS``; lines that say something else are left out."""
    return tuple(
        Gpu(int(index), uuid, _bytes(used), _bytes(total))
        for index, uuid, used, total in _rows(text, 4)
        if index.isdigit()
    )


def parse_processes(text: str) -> tuple[Process, ...]:
    """The answer to ``PROCESSES``, which is empty or a sentence where there is none."""
    return tuple(
        Process(uuid, int(pid), _bytes(used))
        for uuid, pid, used in _rows(text, 3)
        if pid.isdigit()
    )


def others(report: Report, gpu: Gpu, own_pid: int, own_bytes: int) -> Others | None:
    """What others have of a GPU's memory; ``None`` where nobody can tell.

    Args:
        report: What nvidia-smi said.
        gpu: One of its GPUs.
        own_pid: This process.
        own_bytes: What JAX has taken of the GPU in this process. That is used with an
            allowance where nvidia-smi does not list the process.
    """
    if gpu.used_bytes is None:
        return None
    mine, rest = own_bytes + CONTEXT_BYTES, []
    for process in report.processes:
        if process.uuid == gpu.uuid and process.pid == own_pid:
            mine = max(process.used_bytes or 0, own_bytes)
        elif process.uuid == gpu.uuid:
            rest.append(process)
    rest.sort(key=lambda process: process.used_bytes or 0, reverse=True)
    return Others(max(0, gpu.used_bytes - mine), tuple(rest))


def _output(command: Sequence[str], limit_seconds: float) -> str | None:
    try:
        ended = children.run(command, limit_seconds)
    except OSError:
        return None
    return ended.output if ended.code == 0 else None


def _rows(text: str, columns: int) -> Iterator[list[str]]:
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == columns:
            yield cells


def _bytes(cell: str) -> int | None:
    """``[N/A]``, ``[Not Supported]``, ``[Insufficient Permissions]`` are no numbers."""
    return int(cell) * MEBIBYTE if cell.isdigit() else None
