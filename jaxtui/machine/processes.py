"""The holders of an accelerator, from Linux's /proc and libtpu's lock; nothing is
taken.

libtpu takes a POSIX write lock on a file. The file stays behind when its process ends
and does no harm, unless its mode keeps the next user from opening it: then libtpu says
that the TPU is in use.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from jaxtui.core.model import Holder, Record
from jaxtui.core.model.remark import Fact
from jaxtui.machine.hardware import CONTROL_FILES, list_names, maker_of, read_text

LOCK_FILE = "tmp/libtpu_lockfile"
"""Under the root."""


def holders(proc: Path = Path("/proc")) -> tuple[Holder, ...]:
    """Every other process that is seen to have an accelerator's device file open.

    They come by number; without /proc there are none.
    """
    holding = []
    for name in list_names(proc):
        if name.isdigit() and name != str(os.getpid()):
            paths = _open_devices(proc / name)
            if paths:
                holding.append(_holder(proc / name, paths))
    return tuple(sorted(holding, key=lambda holder: holder.pid))


def holder(pid: int, proc: Path = Path("/proc")) -> Holder:
    """Return the facts about a process, whether or not it has a device open."""
    directory = proc / str(pid)
    return _holder(directory, _open_devices(directory))


def facts(holder: Holder) -> dict[str, Fact]:
    """Return the facts of a process for a remark."""
    return {
        "pid": holder.pid,
        "user": holder.user,
        "command": holder.command,
        "age_seconds": holder.age_seconds,
    }


def _open_devices(process: Path) -> tuple[str, ...]:
    """The device files that it is seen to have open."""
    directory, paths = str(process / "fd"), set()
    try:
        links = os.listdir(directory)
    except OSError:  # it has ended, or is another user's
        return ()
    for link in links:
        try:
            path = os.readlink(f"{directory}/{link}")
        except OSError:  # it is closed
            continue
        if maker_of(path) and path not in CONTROL_FILES:
            paths.add(path)
    return tuple(sorted(paths))


def _holder(process: Path, paths: tuple[str, ...]) -> Holder:
    words = read_text(process / "cmdline").split("\0")
    command = " ".join(word for word in words if word)
    try:
        user = pwd.getpwuid(process.stat().st_uid).pw_name
    except (OSError, KeyError):
        user = None
    # Field 22 (proc(5)), after a name in parentheses that may hold anything.
    fields = read_text(process / "stat").rpartition(")")[2].split()
    uptime = read_text(process.parent / "uptime").split()
    age = None
    if len(fields) >= 20 and uptime:
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        age = max(0.0, float(uptime[0]) - began)
    return Holder(
        pid=int(process.name),
        user=user,
        command=command or read_text(process / "comm").strip(),
        paths=paths,
        age_seconds=age,
    )


class Lock(Record, frozen=True):
    """The visible state of libtpu's lock."""

    holders: tuple[Holder, ...] = ()
    """The processes that hold it."""
    closed_by: str = ""
    """The owner of the file, if no holder is visible and this user may not open it."""


def lock(root: Path = Path("/")) -> Lock:
    """Look at libtpu's lock; it is not taken."""
    file = root / LOCK_FILE
    try:
        inode = str(file.stat().st_ino)
    except OSError:
        return Lock()
    pids = set()
    for line in read_text(root / "proc/locks").splitlines():
        # 1: POSIX  ADVISORY  WRITE 4242 fe:00:131 0 EOF
        words = line.split()
        if len(words) >= 6 and words[5].rpartition(":")[2] == inode:
            pids.add(int(words[4]))
    # A number below 1 is a process of another PID namespace.
    if pids := {pid for pid in pids if pid > 0 and pid != os.getpid()}:
        return Lock(tuple(holder(pid, root / "proc") for pid in sorted(pids)))
    if not os.access(file, os.R_OK | os.W_OK):
        try:
            return Lock(closed_by=file.owner())
        except (OSError, KeyError):
            return Lock(closed_by="another user")
    return Lock()
