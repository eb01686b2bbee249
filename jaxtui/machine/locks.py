"""libtpu's lock, which only one process at a time can have: who holds it, if anybody.

libtpu takes a POSIX write lock on a file. The file stays behind when its process ends
and does no harm, unless its mode keeps the next user from opening it: then libtpu says
that the TPU is in use.
"""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

from jaxtui.machine.files import text
from jaxtui.model import Record

LOCK_FILE = "tmp/libtpu_lockfile"
"""Under the root."""

_FLOCK = "hhqqi4x"
"""``struct flock`` of 64-bit Linux: l_type, l_whence, l_start, l_len, l_pid."""


class Lock(Record, frozen=True):
    """What can be seen of the lock."""

    holders: tuple[int, ...] = ()
    """The processes that hold it."""
    unseen: bool = False
    """Somebody holds it whom this process cannot see, e.g. in another container."""
    closed_by: str = ""
    """Nobody is seen to hold it, but this user may not open the file: whose it is."""


def lock(root: Path = Path("/")) -> Lock:
    """Look at the lock; it is not taken.

    The file is opened for a moment to ask the kernel, where /proc/locks does not tell.
    Closing it gives up a lock that this very process may have on it, so ask before
    libtpu is loaded, or after it has failed.
    """
    file = root / LOCK_FILE
    try:
        inode = file.stat().st_ino
    except OSError:
        return Lock()
    found = _listed(root, inode) - {os.getpid()}
    if found:
        return Lock(tuple(sorted(found)))
    if not os.access(file, os.R_OK | os.W_OK):
        return Lock(closed_by=_owner(file))
    pid = _asked(file)
    if pid is None:
        return Lock()
    return Lock((pid,)) if pid > 0 else Lock(unseen=True)


def lock_holders(root: Path = Path("/")) -> tuple[int, ...]:
    """The processes that hold the lock now; empty if none is seen."""
    return lock(root).holders


def _listed(root: Path, inode: int) -> set[int]:
    """The holders by /proc/locks, which leaves out those of other PID namespaces."""
    found = set()
    for line in text(root / "proc/locks").splitlines():
        # 1: POSIX  ADVISORY  WRITE 4242 fe:00:131 0 EOF
        words = line.split()
        if len(words) >= 6 and words[5].rpartition(":")[2] == str(inode):
            found.add(int(words[4]))
    return {pid for pid in found if pid > 0}


def _asked(file: Path) -> int | None:
    """The process that keeps others from locking the file; 0 if that has no number
    here, ``None`` if nobody does.
    """
    if sys.platform != "linux":
        return None
    import fcntl

    question = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        with file.open("rb") as opened:
            answer = fcntl.fcntl(opened, fcntl.F_GETLK, question)
        kind, _, _, _, pid = struct.unpack(_FLOCK, answer)
    except (OSError, struct.error):
        return None
    return None if kind == fcntl.F_UNLCK else max(0, int(pid))


def _owner(file: Path) -> str:
    try:
        return file.owner()
    except (OSError, KeyError):
        return "another user"
