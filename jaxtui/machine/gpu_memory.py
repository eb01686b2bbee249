"""How much of each GPU's memory is in use, and by whom, from outside JAX.

The kernel tells the former for AMD's cards. For NVIDIA's, ``nvidia-smi`` tells both,
which takes up to a second for each card: it is asked, and the answer is awaited later.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxtui.machine.hardware import Chip, read_text
from jaxtui.model import Record

CARDS = "--query-gpu=index,uuid,memory.used,memory.total"
PROCESSES = "--query-compute-apps=gpu_uuid,pid,used_memory"
"""The questions: for all of NVIDIA's cards, and for what computes on them."""


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


class Smi:
    """A question to ``nvidia-smi``, which answers meanwhile.

    Args:
        question: ``CARDS`` or ``PROCESSES``.
        program: what to ask; there need not be any.
    """

    def __init__(self, question: str, program: str = "nvidia-smi") -> None:
        self._process: subprocess.Popen[str] | None = None
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [program, question, "--format=csv,noheader,nounits"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
            )

    def answer(self, within_seconds: float) -> str | None:
        """What it has said by then; ``None`` if it is not there, fails or hangs."""
        if self._process is None:
            return None
        try:
            output, _ = self._process.communicate(timeout=max(0.0, within_seconds))
        except subprocess.TimeoutExpired:
            # A driver that hangs keeps even a killed process, so it is not awaited.
            self._process.kill()
            return None
        return output if self._process.returncode == 0 else None


def nvidia(output: str | None) -> Iterator[GpuMemory]:
    """Its answer to ``CARDS``."""
    for index, uuid, used, total in _rows(output, 4):
        if index.isdigit():
            sizes = _bytes(used), _bytes(total)
            yield GpuMemory(int(index), *sizes, "`nvidia-smi`", uuid)


def processes(output: str | None) -> Iterator[GpuProcess]:
    """Its answer to ``PROCESSES``."""
    for uuid, pid, used in _rows(output, 3):
        if pid.isdigit():
            yield GpuProcess(uuid, int(pid), _bytes(used))


def _rows(output: str | None, columns: int) -> Iterator[list[str]]:
    """The cells of each line; lines that say something else are left out."""
    for line in (output or "").splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == columns:
            yield cells


def _bytes(cell: str) -> int | None:
    """``[N/A]``, ``[Not Supported]``, ``[Insufficient Permissions]`` are no numbers."""
    return int(cell) * 1024**2 if cell.isdigit() else None


def amd(chips: Sequence[Chip], sys: Path = Path("/sys")) -> Iterator[GpuMemory]:
    """AMD's cards, as their driver tells."""
    cards = [chip for chip in chips if chip.maker == "rocm"]
    for number, chip in enumerate(cards):
        folder = sys / "bus/pci/devices" / chip.address
        used = read_text(folder / "mem_info_vram_used").strip()
        total = read_text(folder / "mem_info_vram_total").strip()
        if used.isdigit() and total.isdigit():
            source = f"{chip.address}/mem_info_vram_used under /sys"
            yield GpuMemory(number, int(used), int(total), source)
