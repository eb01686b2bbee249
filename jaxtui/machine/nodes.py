"""The device files through which accelerators are opened, and who may open them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from jaxtui.machine.files import names
from jaxtui.machine.pci import Maker
from jaxtui.model import Record

_NODES: tuple[tuple[Maker, str, re.Pattern[str]], ...] = (
    ("tpu", ".", re.compile(r"accel\d+")),
    ("tpu", "vfio", re.compile(r"\d+")),
    ("cuda", ".", re.compile(r"nvidia(\d+|ctl|-uvm)")),
    ("rocm", ".", re.compile(r"kfd")),
)
"""Platform, folder under /dev, and the names in it."""


class Node(Record, frozen=True):
    """One device file."""

    path: str
    """As it is under /dev."""
    maker: Maker
    usable: bool
    """This user may open it for reading and writing."""
    owner: str
    """User and group, as ``ls -l`` writes them."""


def nodes(dev: Path = Path("/dev")) -> tuple[Node, ...]:
    """Every device file of an accelerator; vfio files also serve other devices."""
    return tuple(_all(dev))


def _all(dev: Path) -> Iterator[Node]:
    for maker, folder, pattern in _NODES:
        for name in names(dev / folder):
            if pattern.fullmatch(name):
                path = dev / folder / name
                shown = f"/dev/{path.relative_to(dev)}"
                usable = os.access(path, os.R_OK | os.W_OK)
                yield Node(shown, maker, usable, _owner(path))


def _owner(path: Path) -> str:
    try:
        return f"{path.owner()}:{path.group()}"
    except (OSError, KeyError):
        return "unknown"
