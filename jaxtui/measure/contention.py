"""Who else used the CPU: Linux ``/proc``, parsed by pure functions.

Where ``/proc`` does not exist nothing is said, because nothing is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

WAITED_AT_MOST = 0.01
"""Share of the time in which a task may wait for a core unremarked."""

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class CpuTime(NamedTuple):
    """Seconds since boot, summed over all cores."""

    busy: float
    """In any process of this machine."""
    idle: float
    steal: float
    """Runnable, but the hypervisor ran another machine."""
    cores: int


class Usage(NamedTuple):
    seconds: float
    """Wall time."""
    others: float
    """Cores used by other processes, on average."""
    steal: float
    """Share of the CPU time that the hypervisor took."""
    cores: int


def parse_stat(text: str) -> CpuTime:
    """Read ``/proc/stat`` (proc(5): user nice system idle iowait irq softirq steal)."""
    lines = text.splitlines()
    fields = [int(field) / TICKS_PER_SECOND for field in lines[0].split()[1:]]
    user, nice, system, idle, iowait, irq, softirq, *rest = fields
    cores = sum(line.startswith("cpu") for line in lines) - 1
    return CpuTime(
        busy=user + nice + system + irq + softirq,
        idle=idle + iowait,
        steal=rest[0] if rest else 0.0,
        cores=cores,
    )


def parse_own_stat(text: str) -> float:
    """CPU seconds of a process, from ``/proc/self/stat`` (fields 14 and 15).

    The command name in field 2 may hold spaces and brackets, so fields are counted from
    the last bracket.
    """
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def parse_pressure(text: str) -> float:
    """Seconds since boot in which some task had to wait for a core.

    The ``total`` (µs) of the ``some`` line of ``/proc/pressure/cpu``; its averages lag.
    """
    for line in text.splitlines():
        if line.startswith("some"):
            fields = dict(part.split("=") for part in line.split()[1:])
            return int(fields["total"]) * 1e-6
    return 0.0


class Reading(NamedTuple):
    cpu: CpuTime
    own: float
    """CPU seconds of this process."""
    waited: float | None
    """Seconds in which some task waited for a core; ``None`` where not known."""


def usage(before: Reading, after: Reading) -> Usage:
    """What others did between two readings.

    Where nothing had to wait for a core, what else ran took nothing away, so it does
    not count. Counters tick every 10 ms: over a short time ``others`` may be negative.
    """
    cores = after.cpu.cores
    total = sum(after.cpu[:3]) - sum(before.cpu[:3])
    if total <= 0:
        return Usage(0.0, 0.0, 0.0, cores)
    seconds = total / cores
    busy = (after.cpu.busy - before.cpu.busy) - (after.own - before.own)
    waited = before.waited is None or after.waited is None
    if before.waited is not None and after.waited is not None:
        waited = after.waited - before.waited > WAITED_AT_MOST * seconds
    steal = (after.cpu.steal - before.cpu.steal) / total
    return Usage(seconds, busy / seconds if waited else 0.0, steal, cores)


class Meter:
    """Adds up what others used during the turns of one case.

    Ticks are 10 ms, so a single turn says little and the sum over a case enough.
    """

    def __init__(self, read: Callable[[str], str | None] | None = None) -> None:
        self._read = read or _read_proc
        self._before: Reading | None = None
        self._turns: list[Usage] = []

    def start(self) -> None:
        self._before = self._reading()

    def stop(self) -> None:
        after = self._reading()
        if self._before is not None and after is not None:
            self._turns.append(usage(self._before, after))

    @property
    def usage(self) -> Usage:
        """The average over the turns so far, weighted by their length."""
        seconds = sum(turn.seconds for turn in self._turns)
        if not seconds:
            return Usage(0.0, 0.0, 0.0, 1)
        others = sum(turn.others * turn.seconds for turn in self._turns) / seconds
        steal = sum(turn.steal * turn.seconds for turn in self._turns) / seconds
        return Usage(seconds, max(0.0, others), steal, self._turns[-1].cores)

    def _reading(self) -> Reading | None:
        stat, own = self._read("stat"), self._read("self/stat")
        if stat is None or own is None:
            return None
        pressure = self._read("pressure/cpu")
        waited = None if pressure is None else parse_pressure(pressure)
        return Reading(parse_stat(stat), parse_own_stat(own), waited)


def _read_proc(name: str) -> str | None:
    try:
        return Path("/proc", name).read_text()
    except OSError:
        return None
