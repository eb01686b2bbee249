"""The CPU time of other processes: Linux ``/proc``, read before and after each turn.

Where ``/proc`` does not exist nothing is said, because nothing is known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from jaxtui.machine.hardware import read_text

WAITED_AT_MOST = 0.01
"""Share of the time in which a task may wait for a core unremarked."""

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    seconds: float
    """Wall time."""
    others: float
    """Cores used by other processes, on average."""
    steal: float
    """Share of the CPU time that the hypervisor took."""
    cores: int


class _Counters(NamedTuple):
    """Seconds since boot, those of the CPU summed over all cores."""

    busy: float
    """CPU seconds of all processes of this machine."""
    idle: float
    steal: float
    """Runnable, but the hypervisor ran another machine."""
    cores: int
    own: float
    """CPU seconds of this process."""
    waited: float | None
    """Some task waited for a core; ``None`` where not known."""


class Meter:
    """Adds up what others used during the turns of one case.

    Ticks are 10 ms, so a single turn says little (of a short one ``others`` may be
    negative) and the sum over a case enough. Where nothing had to wait for a core, what
    else ran took nothing away, so it does not count.
    """

    def __init__(self, read: Callable[[str], str | None] | None = None) -> None:
        self._read = read or (lambda name: read_text(Path("/proc", name)) or None)
        self._before: _Counters | None = None
        self._seconds = self._others = self._steal = 0.0
        self._cores = 1

    def start(self) -> None:
        self._before = self._counters()

    def stop(self) -> None:
        before, after = self._before, self._counters()
        if before is None or after is None:
            return
        total = sum(after[:3]) - sum(before[:3])
        if total <= 0:
            return
        seconds, waited = total / after.cores, True
        if before.waited is not None and after.waited is not None:
            waited = after.waited - before.waited > WAITED_AT_MOST * seconds
        others = (after.busy - before.busy) - (after.own - before.own)
        steal = (after.steal - before.steal) / total
        self._seconds += seconds
        self._others += others if waited else 0.0
        self._steal += steal * seconds
        self._cores = after.cores

    @property
    def usage(self) -> Usage:
        """The average over the turns so far, weighted by their length."""
        seconds = self._seconds or 1.0
        others, steal = self._others / seconds, self._steal / seconds
        return Usage(self._seconds, max(0.0, others), steal, self._cores)

    def _counters(self) -> _Counters | None:
        stat, own = self._read("stat"), self._read("self/stat")
        if stat is None or own is None:
            return None
        # proc(5): user nice system idle iowait irq softirq steal.
        of_all, *lines = stat.splitlines()
        ticks = [int(field) / TICKS_PER_SECOND for field in of_all.split()[1:]]
        user, nice, system, idle, iowait, irq, softirq, *rest = ticks
        # Fields 14 and 15, counted from the command's name, which may hold brackets.
        fields = own.rpartition(")")[2].split()
        # In µs; the averages beside it lag.
        pressure = self._read("pressure/cpu")
        total = re.search(r"^some .*\btotal=(\d+)", pressure or "", re.MULTILINE)
        waited = int(total[1]) * 1e-6 if total else 0.0
        return _Counters(
            busy=user + nice + system + irq + softirq,
            idle=idle + iowait,
            steal=rest[0] if rest else 0.0,
            cores=sum(line.startswith("cpu") for line in lines),
            own=(int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND,
            waited=None if pressure is None else waited,
        )
