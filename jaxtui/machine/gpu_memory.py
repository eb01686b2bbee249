"""How much of each GPU's memory is in use, from outside JAX.

The kernel tells it for AMD's cards. For NVIDIA's, ``nvidia-smi`` does, which may take a
second: it is started before JAX and read when JAX is up.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxtui.machine.files import text
from jaxtui.machine.pci import Chip
from jaxtui.model import Record

COMMAND = (
    "nvidia-smi",
    "--query-gpu=index,memory.used,memory.total",
    "--format=csv,noheader,nounits",
)
"""Asks for all of NVIDIA's cards."""

_ROW = re.compile(r"(\d+), *(\d+), *(\d+)")

_MEBIBYTE = 1024**2
"""The unit of nvidia-smi, which it calls MiB."""


class GpuMemory(Record, frozen=True):
    """One card."""

    name: str
    """``GPU 0``, counted as its vendor's tool does."""
    used_bytes: int
    total_bytes: int
    source: str
    """Who says so."""


class Question:
    """The state of all cards at one moment; NVIDIA's is being asked for meanwhile.

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
                self._process = _started(command)

    def answer(self, within_seconds: float) -> tuple[GpuMemory, ...]:
        """What is known by then; a program that hangs is ended."""
        process, self._process = self._process, None
        if process is None:
            return self._amd
        try:
            said, _ = process.communicate(timeout=within_seconds)
        except subprocess.TimeoutExpired:
            # A driver that hangs keeps even a killed process; nobody waits for that.
            process.kill()
            return self._amd
        return (*self._amd, *parsed(said))


def _started(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
    )


def parsed(said: str) -> Iterator[GpuMemory]:
    """The rows of nvidia-smi; those with ``[N/A]`` are left out."""
    for row in said.splitlines():
        if found := _ROW.fullmatch(row.strip()):
            used, total = (int(number) * _MEBIBYTE for number in found.groups()[1:])
            yield GpuMemory(f"GPU {found[1]}", used, total, "`nvidia-smi`")


def of_amd(chips: Sequence[Chip], sys: Path = Path("/sys")) -> Iterator[GpuMemory]:
    """AMD's cards, as their driver tells."""
    cards = [chip for chip in chips if chip.maker == "rocm"]
    for number, chip in enumerate(cards):
        folder = sys / "bus/pci/devices" / chip.address
        used = text(folder / "mem_info_vram_used").strip()
        total = text(folder / "mem_info_vram_total").strip()
        if used.isdigit() and total.isdigit():
            source = f"{chip.address}/mem_info_vram_used under /sys"
            yield GpuMemory(f"GPU {number}", int(used), int(total), source)
