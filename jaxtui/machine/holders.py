"""Who has an accelerator open, from Linux's /proc; nothing is opened here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from jaxtui.machine import pci
from jaxtui.machine.files import names, target, text
from jaxtui.model import Holder, Record

_DEVICE_FILE = re.compile(r"/dev/(?:accel\d+|vfio/\d+|nvidia\d+|kfd)")
_HIDEPID = re.compile(r"hidepid=(?:[124]|noaccess|invisible|ptraceable)")
_CONTAINER_MARKS = (".dockerenv", "run/.containerenv")
_TPU_FILE = re.compile(r"/dev/(?:accel|vfio/)\d+")


class Search(Record, frozen=True):
    """What a look through the processes found, and what it could not see."""

    holders: tuple[Holder, ...]
    hidden: int
    """Processes that this user may not look into."""


def search(proc: Path = Path("/proc")) -> Search:
    """Every other process that has an accelerator's device file open.

    Without /proc nobody is found.
    """
    found, hidden = [], 0
    for directory in _processes(proc):
        paths = _open_devices(directory)
        if paths is None:
            hidden += 1
        elif paths:
            found.append(_holder(directory, paths, proc))
    return Search(tuple(sorted(found, key=lambda holder: holder.pid)), hidden)


def holders(proc: Path = Path("/proc")) -> tuple[Holder, ...]:
    """The processes of ``search``; those that may not be looked into are left out."""
    return search(proc).holders


def holder(pid: int, proc: Path = Path("/proc")) -> Holder:
    """What is known of one process, whether or not it has a device open."""
    directory = proc / str(pid)
    return _holder(directory, _open_devices(directory) or (), proc)


def in_container(environment: Mapping[str, str], root: Path = Path("/")) -> bool:
    """Whether this is known to be a container, which shows a part of its host."""
    marked = any((root / mark).exists() for mark in _CONTAINER_MARKS)
    return marked or "KUBERNETES_SERVICE_HOST" in environment


def unseen(root: Path = Path("/")) -> tuple[str, ...]:
    """Why some processes are not in /proc, in words; empty if no reason is seen."""
    reasons = []
    for line in text(root / "proc/mounts").splitlines():
        words = line.split()
        if len(words) > 3 and words[1] == "/proc" and _HIDEPID.search(words[3]):
            reasons.append("/proc is mounted with hidepid")
    return tuple(reasons)


def tpu_present(sys: Path = Path("/sys")) -> bool:
    """Whether a TPU sits on the PCI bus, whoever uses it."""
    return any(chip.maker == "tpu" for chip in pci.chips(sys))


def refused(environment: Mapping[str, str]) -> bool:
    """Whether the environment chooses other platforms, or a share of the chips."""
    platforms = environment.get("JAX_PLATFORMS", "")
    if platforms and "tpu" not in platforms.split(","):
        return True
    return "TPU_VISIBLE_CHIPS" in environment or "TPU_VISIBLE_DEVICES" in environment


def blocking(
    environment: Mapping[str, str],
    proc: Path = Path("/proc"),
    sys: Path = Path("/sys"),
    dev: Path = Path("/dev"),
) -> tuple[Holder, ...]:
    """The processes because of which this one cannot have the TPU.

    Nobody blocks where the environment chooses other platforms or a share of the
    chips, and vfio files count only where there is a TPU behind them. Where there are
    no device files at all, the search through every process is left out.
    """
    if refused(environment):
        return ()
    if not any(dev.glob("accel[0-9]*")) and not (dev / "vfio").is_dir():
        return ()
    found = [one for one in holders(proc) if any(map(_TPU_FILE.fullmatch, one.paths))]
    if not found or tpu_present(sys):
        return tuple(found)
    return tuple(
        one for one in found if any(path.startswith("/dev/accel") for path in one.paths)
    )


def _processes(proc: Path) -> Iterator[Path]:
    own = str(os.getpid())
    for name in names(proc):
        if name.isdigit() and name != own:
            yield proc / name


def _open_devices(process: Path) -> tuple[str, ...] | None:
    """The device files that it has open; ``None`` if this user may not see that."""
    directory = str(process / "fd")
    try:
        links = os.listdir(directory)
    except PermissionError:
        return None
    except OSError:  # it has ended
        return ()
    targets = {target(f"{directory}/{link}") for link in links}
    return tuple(sorted(path for path in targets if _DEVICE_FILE.fullmatch(path)))


def _holder(process: Path, paths: tuple[str, ...], proc: Path) -> Holder:
    words = text(process / "cmdline").split("\0")
    command = " ".join(word for word in words if word)
    return Holder(
        pid=int(process.name),
        user=_user(process),
        command=command or text(process / "comm").strip(),
        paths=paths,
        age_seconds=_age(process, proc),
    )


def _age(process: Path, proc: Path) -> float | None:
    """Seconds since it began, by field 22 of its stat (proc(5)) and the uptime."""
    # The second field is a name in parentheses that may hold anything.
    fields = text(process / "stat").rpartition(")")[2].split()
    uptime = text(proc / "uptime").split()
    if len(fields) < 20 or not uptime:
        return None
    began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return max(0.0, float(uptime[0]) - began)


def _user(process: Path) -> str | None:
    import pwd  # only Unix has it, and only here is it needed

    try:
        return pwd.getpwuid(process.stat().st_uid).pw_name
    except (OSError, KeyError):
        return None
