"""Processes, device files and makers of accelerators, in words."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.machine.pci import Maker
from jaxtui.model import Holder

COMMAND_CHARACTERS = 60
"""What is shown of a command, which may be a whole program."""

NAMES: dict[Maker, str] = {"tpu": "TPU", "cuda": "NVIDIA GPU", "rocm": "AMD GPU"}


def process(holder: Holder) -> str:
    """``process 7 of ada (python train.py, for 1:01:40)``."""
    user = f" of {holder.user}" if holder.user else ""
    age = (
        f", for {fmt.duration(holder.age_seconds)}"
        if holder.age_seconds is not None
        else ""
    )
    command = " ".join(holder.command.split()) or "unknown"
    if len(command) > COMMAND_CHARACTERS:
        command = f"{command[: COMMAND_CHARACTERS - 1]}…"
    return f"process {holder.pid}{user} ({command}{age})"


def paths(found: Sequence[str]) -> str:
    """``/dev/nvidia0 and 3 more``."""
    return found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more"


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
