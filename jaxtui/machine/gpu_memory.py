"""How much of each GPU's memory is in use, from outside JAX.

The kernel tells it for AMD's cards. For NVIDIA's, ``nvidia-smi`` does, which may take a
second: it is started before JAX and read when JAX is up.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxtui.machine.hardware import Chip, read_text
from jaxtui.model import Record

COMMAND = (
    "nvidia-smi",
    "--query-gpu=index,uuid,memory.used,memory.total",
    "--format=csv,noheader,nounits",
)
"""Asks for all of NVIDIA's cards."""

PROCESSES_COMMAND = (
    "nvidia-smi",
    "--query-compute-apps=gpu_uuid,pid,used_memory",
    "--format=csv,noheader,nounits",
)
"""Asks for the processes that compute on them."""


class GpuMemory(Record, frozen=True):
    index: int
    """As its vendor's tool counts."""
    used_bytes: int | None
    """By all processes and the driver; ``None`` where that is not said."""
    total_bytes: int | None
    source: str
    """What says so."""
    uuid: str = ""
    """NVIDIA's."""


class GpuProcess(Record, frozen=True):
    """A process that computes on a card of NVIDIA's."""

    uuid: str
    """The card's."""
    pid: int
    """In the host's numbering: in a container it is another one than here."""
    used_bytes: int | None


class MemoryQuery:
    """The state of all cards at one moment; NVIDIA's is awaited meanwhile.

    Args:
        chips: what is on the bus; AMD's are looked up at once.
        sys: where /sys is.
        command: what to ask for NVIDIA's, ``None`` for nothing; where there is no such
            program, they are left out.
    """

    def __init__(
        self,
        chips: Sequence[Chip],
        sys: Path = Path("/sys"),
        command: Sequence[str] | None = COMMAND,
    ) -> None:
        self._amd = tuple(of_amd(chips, sys))
        self._process: subprocess.Popen[str] | None = None
        if command is not None:
            with contextlib.suppress(OSError):
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    errors="replace",
                )

    def result(self, within_seconds: float) -> tuple[GpuMemory, ...]:
        """What is known by then; a program that hangs is ended."""
        process, self._process = self._process, None
        if process is None:
            return self._amd
        try:
            output, _ = process.communicate(timeout=within_seconds)
        except subprocess.TimeoutExpired:
            # A driver that hangs keeps even a killed process, so it is not awaited.
            process.kill()
            return self._amd
        return (*self._amd, *parse_nvidia_smi(output))


def parse_nvidia_smi(output: str) -> Iterator[GpuMemory]:
    for index, uuid, used, total in _rows(output, 4):
        if index.isdigit():
            sizes = _bytes(used), _bytes(total)
            yield GpuMemory(int(index), *sizes, "`nvidia-smi`", uuid)


def parse_processes(output: str) -> Iterator[GpuProcess]:
    for uuid, pid, used in _rows(output, 3):
        if pid.isdigit():
            yield GpuProcess(uuid, int(pid), _bytes(used))


def _rows(output: str, columns: int) -> Iterator[list[str]]:
    """The cells of each line; lines that say something else are left out."""
    for line in output.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == columns:
            yield cells


def _bytes(cell: str) -> int | None:
    """``[N/A]``, ``[Not Supported]``, ``[Insufficient Permissions]`` are no numbers."""
    return int(cell) * 1024**2 if cell.isdigit() else None


def of_amd(chips: Sequence[Chip], sys: Path = Path("/sys")) -> Iterator[GpuMemory]:
    """AMD's cards, as their driver tells."""
    cards = [chip for chip in chips if chip.maker == "rocm"]
    for number, chip in enumerate(cards):
        folder = sys / "bus/pci/devices" / chip.address
        used = read_text(folder / "mem_info_vram_used").strip()
        total = read_text(folder / "mem_info_vram_total").strip()
        if used.isdigit() and total.isdigit():
            source = f"{chip.address}/mem_info_vram_used under /sys"
            yield GpuMemory(number, int(used), int(total), source)
