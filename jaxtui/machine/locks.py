"""Who holds the lock of libtpu, which only one process at a time can have."""

from __future__ import annotations

from pathlib import Path

from jaxtui.machine.files import text

LOCK_FILE = "tmp/libtpu_lockfile"
"""Under the root. The file stays behind when its process ends and does no harm."""


def lock_holders(root: Path = Path("/")) -> tuple[int, ...]:
    """The processes that hold the lock now, by /proc/locks; empty if there are none."""
    try:
        inode = (root / LOCK_FILE).stat().st_ino
    except OSError:
        return ()
    found = set()
    for line in text(root / "proc/locks").splitlines():
        # 1: POSIX  ADVISORY  WRITE 4242 fe:00:131 0 EOF
        words = line.split()
        if len(words) >= 6 and words[5].rpartition(":")[2] == str(inode):
            found.add(int(words[4]))
    return tuple(sorted(found))
