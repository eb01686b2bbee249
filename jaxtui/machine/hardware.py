"""Accelerators as Linux shows them without JAX: chips on the PCI bus, device files.

Nothing is opened, whoever uses them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from jaxtui.core.model import Record

Maker = Literal["tpu", "cuda", "rocm"]
"""The platform of JAX that drives it."""

_GOOGLE, _NVIDIA, _AMD = "0x1ae0", "0x10de", "0x1002"

_TPUS = {
    "0x0027": "TPU v2 or v3",
    "0x0056": "TPU (0x0056)",
    "0x005e": "TPU v4",
    "0x0062": "TPU v5p",
    "0x0063": "TPU v5e",
    "0x006f": "TPU v6e",
    "0x0076": "TPU7x",
    "0x007c": "TPU8t",
    "0x0083": "TPU8i",
}
"""Device ids as JAX knows them (``jax._src.hardware_utils``); Google's network cards
have the same vendor and another device id."""

_SUBSYSTEMS = {"0x004e": "TPU v2", "0x004f": "TPU v3"}
"""Subsystem ids that tell v2 from v3, as Google's tpu-info knows them."""

_COMPUTE_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
"""VGA and 3D controllers, other displays, processing accelerators: the PCI classes that
GPUs have, and their sound or USB functions do not."""

NAMES: dict[Maker, str] = {"tpu": "TPU", "cuda": "NVIDIA GPU", "rocm": "AMD GPU"}

PLUGINS: dict[Maker, str] = {
    "tpu": "libtpu",
    "cuda": "JAX's CUDA plugin",
    "rocm": "JAX's ROCm plugin",
}
"""The packages that JAX needs to use a chip."""

_MAKERS: dict[str, Maker] = {_NVIDIA: "cuda", _AMD: "rocm"}


class Chip(Record, frozen=True):
    address: str
    """The address on the bus: ``0000:00:05.0``."""
    maker: Maker
    kind: str
    """``TPU v5e``; for a GPU the maker and its PCI id."""


def chips(sys: Path = Path("/sys")) -> tuple[Chip, ...]:
    """Every accelerator on the bus, by address; empty where there is no /sys."""
    devices = sys / "bus/pci/devices"
    devices_read = (_chip(devices / address) for address in list_names(devices))
    return tuple(chip for chip in devices_read if chip is not None)


def in_words(chips: Sequence[Chip]) -> str:
    """``8 TPU v5e chips``, ``1 NVIDIA 0x2335 GPU``; several kinds joined by ``and``."""
    counts: dict[tuple[str, str], int] = {}
    for chip in chips:
        noun = "chip" if chip.maker == "tpu" else "GPU"
        counts[noun, chip.kind] = counts.get((noun, chip.kind), 0) + 1
    return " and ".join(
        f"{count} {kind} {noun}{'s' if count > 1 else ''}"
        for (noun, kind), count in counts.items()
    )


def _chip(device: Path) -> Chip | None:
    vendor, number = _word(device / "vendor"), _word(device / "device")
    if vendor == _GOOGLE and number in _TPUS:
        kind = _TPUS[number]
        if number == "0x0027":
            kind = _SUBSYSTEMS.get(_word(device / "subsystem_device"), kind)
        return Chip(device.name, "tpu", kind)
    maker, kind = _MAKERS.get(vendor), _word(device / "class")
    if maker is None or not kind.startswith(_COMPUTE_CLASSES):
        return None
    name = "NVIDIA" if maker == "cuda" else "AMD"
    return Chip(device.name, maker, f"{name} {number}")


def _word(path: Path) -> str:
    return read_text(path).strip().lower()


_FILES: tuple[tuple[Maker, re.Pattern[str]], ...] = (
    ("tpu", re.compile(r"/dev/(accel|vfio/)\d+")),
    ("cuda", re.compile(r"/dev/(nvidia(\d+|ctl|-uvm)|dxg|nvhost-gpu)")),
    ("rocm", re.compile(r"/dev/kfd")),
)

WSL, WSL_DRIVER = "/dev/dxg", "usr/lib/wsl/lib/libcuda.so.1"
"""The file by which Windows offers its GPUs to WSL2, whoever made them, and NVIDIA's
driver for Windows; no GPU is on the bus there."""

JETSON = "/dev/nvhost-gpu"
"""The GPU of one, which is on no bus."""

CONTROL_FILES = ("/dev/nvidiactl", "/dev/nvidia-uvm")
"""Files of a driver, not of a chip: a program that only asks for its state opens them,
too."""


def maker_of(path: str) -> Maker | None:
    """Return the maker of a device file; a vfio file may serve other devices."""
    return next((maker for maker, names in _FILES if names.fullmatch(path)), None)


class Node(Record, frozen=True):
    path: str
    """The path under /dev."""
    maker: Maker
    usable: bool
    """True if this user may open it for reading and writing."""
    owner: str
    """User and group, as ``ls -l`` writes them."""


def nodes(dev: Path = Path("/dev")) -> Iterator[Node]:
    for folder in ("", "vfio/"):
        for name in list_names(dev / folder):
            path, label = dev / folder / name, f"/dev/{folder}{name}"
            if maker := maker_of(label):
                usable = os.access(path, os.R_OK | os.W_OK)
                try:
                    owner = f"{path.owner()}:{path.group()}"
                except (OSError, KeyError):
                    owner = "unknown"
                yield Node(label, maker, usable, owner)


def read_text(path: Path) -> str:
    """The file's text; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def list_names(directory: Path) -> list[str]:
    """List a directory in order; empty if it cannot be read."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []
