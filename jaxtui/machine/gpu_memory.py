"""The used memory of each GPU, from outside JAX.

The kernel reports it for AMD's cards, ``nvidia-smi`` for NVIDIA's.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxtui.core.model import Record
from jaxtui.machine.hardware import Chip, Maker, read_text
from jaxtui.machine.survey import Survey

_SMI = (
    *("nvidia-smi", "--query-gpu=index,uuid,memory.used,memory.total"),
    "--format=csv,noheader,nounits",
)

_SMI_SECONDS = 2.0
"""Seconds for the vendor's tool, which takes up to one for each card."""


class GpuMemory(Record, frozen=True):
    index: int
    """Its number in its vendor's tool."""
    used_bytes: int | None
    """Bytes used by all processes and the driver; ``None`` if unknown."""
    total_bytes: int | None
    maker: Maker = "cuda"
    uuid: str = ""
    """``GPU-`` and a number; empty where that is not known."""

    @property
    def free_bytes(self) -> int | None:
        if self.used_bytes is None or self.total_bytes is None:
            return None
        return max(0, self.total_bytes - self.used_bytes)


def nvidia() -> Iterator[GpuMemory]:
    """NVIDIA's cards; none where ``nvidia-smi`` is not there, fails or hangs."""
    try:
        process = subprocess.Popen(
            _SMI,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
    except OSError:
        return
    try:
        output, _ = process.communicate(timeout=_SMI_SECONDS)
    except subprocess.TimeoutExpired:
        # A driver that hangs keeps even a killed process, so it is not awaited.
        process.kill()
        return
    for line in output.splitlines() if process.returncode == 0 else ():
        cells = [cell.strip() for cell in line.split(",")]
        # Lines that say something else are left out.
        if len(cells) == 4 and cells[0].isdigit():
            used, total = map(_bytes, cells[2:])
            yield GpuMemory(int(cells[0]), used, total, uuid=cells[1])


def of(survey: Survey) -> Iterator[GpuMemory]:
    """The cards that JAX may use, as of now, in the order in which it numbers them."""
    cards = [*amd(survey.chips)]
    if not cards and survey.present("cuda") and survey.wanted("cuda"):
        cards = [*nvidia()]
    chosen = survey.visible(cards[0].maker) if cards else ()
    if chosen is None:
        yield from cards
        return
    for name in chosen:
        for card in cards:
            if name == str(card.index) or (card.uuid and card.uuid.startswith(name)):
                yield card


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
            yield GpuMemory(number, int(used), int(total), "rocm")
