"""Who has a TPU open, read from Linux's /proc without jax; nothing is opened here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from jaxtui.model import Holder

_DEVICE_FILE = re.compile(r"/dev/(?:accel|vfio/)\d+")
_GOOGLE = "0x1ae0"
_TPUS = frozenset(
    f"0x{number:04x}"
    for number in (0x27, 0x56, 0x5E, 0x62, 0x63, 0x6F, 0x76, 0x7C, 0x83)
)
"""PCI ids of TPUs, as jax knows them; Google's network cards have the same vendor."""


def holders(proc: Path = Path("/proc")) -> tuple[Holder, ...]:
    """Every other process that has an accelerator's device file open.

    Processes that may not be looked into are left out; without /proc nobody is found.
    """
    found = []
    for directory in _processes(proc):
        paths = _open_devices(directory)
        if paths:
            found.append(_holder(directory, paths))
    return tuple(sorted(found, key=lambda holder: holder.pid))


def tpu_present(sys: Path = Path("/sys")) -> bool:
    """Whether a TPU sits on the PCI bus, whoever uses it."""
    return any(
        _text(device / "vendor").strip() == _GOOGLE
        and _text(device / "device").strip() in _TPUS
        for device in _entries(sys / "bus/pci/devices")
    )


def blocking(
    environment: dict[str, str],
    proc: Path = Path("/proc"),
    sys: Path = Path("/sys"),
    dev: Path = Path("/dev"),
) -> tuple[Holder, ...]:
    """The processes because of which this one cannot have the TPU.

    Nobody blocks where the environment chooses other platforms or a share of the
    chips, and vfio files count only where there is a TPU behind them. Where there are
    no device files at all, the search through every process is left out.
    """
    platforms = environment.get("JAX_PLATFORMS", "")
    if platforms and "tpu" not in platforms.split(","):
        return ()
    if "TPU_VISIBLE_CHIPS" in environment or "TPU_VISIBLE_DEVICES" in environment:
        return ()
    if not any(dev.glob("accel[0-9]*")) and not (dev / "vfio").is_dir():
        return ()
    found = holders(proc)
    if not found or tpu_present(sys):
        return found
    return tuple(
        holder
        for holder in found
        if any(path.startswith("/dev/accel") for path in holder.paths)
    )


def _processes(proc: Path) -> Iterator[Path]:
    own = str(os.getpid())
    for entry in _entries(proc):
        if entry.name.isdigit() and entry.name != own:
            yield entry


def _open_devices(process: Path) -> tuple[str, ...]:
    directory = str(process / "fd")
    try:
        links = os.listdir(directory)
    except OSError:
        return ()
    targets = {_target(f"{directory}/{link}") for link in links}
    return tuple(sorted(path for path in targets if _DEVICE_FILE.fullmatch(path)))


def _holder(process: Path, paths: tuple[str, ...]) -> Holder:
    words = _text(process / "cmdline").split("\0")
    command = " ".join(word for word in words if word)
    return Holder(
        pid=int(process.name),
        user=_user(process),
        command=command or _text(process / "comm").strip(),
        paths=paths,
    )


def _user(process: Path) -> str | None:
    import pwd  # only Unix has it, and only here is it needed

    try:
        return pwd.getpwuid(process.stat().st_uid).pw_name
    except (OSError, KeyError):
        return None


def _entries(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
