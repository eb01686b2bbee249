"""How busy the host is: what a machine at rest has to show."""

from __future__ import annotations

from typing import NamedTuple

import psutil


class Load(NamedTuple):
    cpu: float
    """Share of all cores that was in use since the reading before."""
    memory_used_bytes: int
    """Not available to a program that starts now."""
    memory_total_bytes: int


def read() -> Load | None:
    """As the system tells it; ``None`` where it does not, as without ``/proc``."""
    try:
        memory = psutil.virtual_memory()
        share = psutil.cpu_percent(interval=None) / 100
    except (OSError, psutil.Error):
        return None
    return Load(share, memory.total - memory.available, memory.total)
