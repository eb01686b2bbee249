"""The load of the host, and the figures of a machine at rest."""

from __future__ import annotations

from typing import NamedTuple

import psutil


class Load(NamedTuple):
    cpu: float
    """Share of all cores that was in use since the reading before."""
    memory_used_bytes: int
    """Bytes not available to a program that starts now."""
    memory_total_bytes: int


def read() -> Load | None:
    """Read the load; ``None`` where the system has none, as without ``/proc``."""
    try:
        memory = psutil.virtual_memory()
        share = psutil.cpu_percent(interval=None) / 100
    except (OSError, psutil.Error):
        return None
    return Load(share, memory.total - memory.available, memory.total)
