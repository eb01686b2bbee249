"""The detection of hangs: a process says nothing and uses no CPU time.

A compile of many minutes says nothing either, but works. A process that was stopped, a
driver that never comes back and a chip that hangs do neither.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

PATIENCE_SECONDS = 60.0
"""Seconds that it may do nothing beyond what its work was to take."""

WORK_SECONDS = 1800.0
"""Seconds that it may work and say nothing, beyond that: no compile takes longer."""

NARRATED_SECONDS = 20.0
"""After so much silence people are told."""

_LOOK_SECONDS = 1.0

_WORKING_SECONDS = 1.0
"""CPU seconds since the last sign that count as work; waiting threads use a
hundredth."""


class Limits(NamedTuple):
    """Seconds that silence may last."""

    idle: float = PATIENCE_SECONDS
    """Without CPU time."""
    working: float = WORK_SECONDS
    """Seconds with CPU time, or where it is unknown."""


def cpu_seconds(group: int) -> float | None:
    """CPU time of a process group; ``None`` where the system does not tell."""
    if sys.platform != "linux":
        return None
    ticks = 0
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return None
    for number in numbers:
        try:
            with open(f"/proc/{number}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it has ended
            continue
        if len(fields) > 14 and int(fields[2]) == group:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


async def hangs(
    heard: Callable[[], object],
    spent: Callable[[], float | None],
    limits: Callable[[], Limits],
    concerned: Callable[[], bool],
    say: Callable[[float, float], object],
) -> float | None:
    """Wait for a silence that is too long.

    Args:
        heard: changes with every sign of the process.
        spent: its CPU seconds.
        limits: of now.
        concerned: whether whoever waits still is.
        say: told once of a silence that lasts, its seconds and those that are left.

    Returns:
        The limit that has passed, seconds; ``None`` as soon as nobody is concerned.
    """
    from asyncio import sleep  # the engine imports this module, too

    last, sign, mark = monotonic(), heard(), None
    idle = working = 0.0
    reported = False
    while concerned():
        # Where this process was stopped itself, nothing counts that passed meanwhile.
        now = monotonic()
        passed, last = min(now - last, 2 * _LOOK_SECONDS), now
        if (new := heard()) != sign:
            sign, mark, reported = new, None, False
            idle = working = 0.0
        elif passed:
            idle += passed
            working += passed
            mark = spent() if mark is None else mark
        limit = limits()
        due = limit.idle if reported else min(NARRATED_SECONDS, limit.idle)
        if idle >= due:
            used = spent()
            if used is None or mark is None or used - mark >= _WORKING_SECONDS:
                idle, mark = 0.0, used
        for seconds, most in ((idle, limit.idle), (working, limit.working)):
            if seconds >= most:
                return most
        if idle >= due:
            reported, due = True, limit.idle
            say(idle, limit.idle - idle)
        left = min(due - idle, limit.working - working)
        await sleep(min(max(left, 0.0), _LOOK_SECONDS))
    return None
