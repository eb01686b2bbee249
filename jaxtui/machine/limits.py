"""The cores and memory that this process may use, by affinity and cgroups.

A container sees all of its machine; what it was given stands in its control groups, of
version 1 or 2.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path

from jaxtui.machine.hardware import read_text

ROOT = Path("/")

_SHORT_OF = (
    (
        re.compile(
            "failed to map segment|annot allocate memory|bad_alloc|MemoryError"
            "|emory allocation (still )?failed|Unable to allocate|ENOMEM"
        ),
        {"RLIMIT_AS": "v", "RLIMIT_DATA": "d"},
    ),
    (
        re.compile(
            "Resource temporarily unavailable|can't start new thread|pthread_create"
            "|Thread creation via"
        ),
        {"RLIMIT_NPROC": "u"},
    ),
    (re.compile("Too many open files|EMFILE"), {"RLIMIT_NOFILE": "n"}),
    (re.compile("File too large|EFBIG"), {"RLIMIT_FSIZE": "f"}),
)
"""Patterns of programs that are short of something, and its limits in ``ulimit``."""


def cores(root: Path = ROOT) -> float | None:
    """Return the cores that this process may use; a quota may not be whole."""
    count: float | None = os.cpu_count()
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        count = len(os.sched_getaffinity(0))
    quotas = [*_quotas(root), *([count] if count else [])]
    return min(quotas, default=None)


def free_memory(root: Path = ROOT) -> int | None:
    """Bytes that a new allocation may use by cgroups and ``ulimit -v``.

    The page cache counts as used but gives way to an allocation.

    Returns:
        ``None`` without such a limit.
    """
    free = []
    for limit, used, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        for group in _groups(root, "memory"):
            most, now = _number(group / limit), _number(group / used)
            # Version 1 writes 2^63, rounded to pages, for none.
            if most is None or now is None or most >= 1 << 62:
                continue
            stat = read_text(group / "memory.stat")
            match = re.search(rf"^{cache} (\d+)", stat, re.MULTILINE)
            free.append(most - now + (int(match[1]) if match else 0))
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = read_text(root / "proc/self/statm").split()
    if most != resource.RLIM_INFINITY and pages:
        free.append(most - int(pages[0]) * resource.getpagesize())
    return max(0, min(free)) if free else None


def reached(text: str) -> tuple[str, str] | None:
    """The limit of this process that a message tells of, such as ``ulimit -v`` and its
    value; ``None`` for any other text, or where nothing is limited.
    """
    for pattern, names in _SHORT_OF:
        for name, letter in names.items() if pattern.search(text) else ():
            most = resource.getrlimit(getattr(resource, name))[0]
            if most != resource.RLIM_INFINITY:
                value = most // 1024 if letter in "vdf" else most
                return f"ulimit -{letter}", str(value)
    return None


def _quotas(root: Path) -> Iterator[float]:
    """Cores that the control groups of this process give it."""
    for group in _groups(root, "cpu"):
        quota, period = [*read_text(group / "cpu.max").split(), "", ""][:2]
        if not quota:
            quota = read_text(group / "cpu.cfs_quota_us").strip()
            period = read_text(group / "cpu.cfs_period_us").strip()
        if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The control groups of this process that may limit it, from the inside out.

    Where a container hides the groups around its own, those of its path do not exist,
    and its own is the outermost.
    """
    mounts = root / "sys/fs/cgroup"
    for line in read_text(root / "proc/self/cgroup").splitlines():
        _, names, path = [*line.split(":", 2), "", ""][:3]
        if not names:
            places = [mounts, mounts / "unified"]
        elif controller in names.split(","):
            places = [mounts / names, mounts / controller]
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for place in places:
            for length in range(len(parts), -1, -1):
                yield place.joinpath(*parts[:length])


def _number(path: Path) -> int | None:
    text = read_text(path).strip()
    return int(text) if text.isdigit() else None
