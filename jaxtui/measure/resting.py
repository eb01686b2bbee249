"""Waiting until the threads of this process have come to rest."""

from __future__ import annotations

from time import perf_counter, process_time, sleep

PAUSE_SECONDS = 0.004
"""Between two looks."""

BUSY_SHARE = 0.25
"""Of a core; threads that use less are at rest."""

LOOKS = 3
"""So many in a row must find them at rest: others may have had the core in one."""

LONGEST_SECONDS = 0.3
"""Some threads may never rest."""


def rest(at_most: float = LONGEST_SECONDS) -> float:
    """Wait until no thread of this process is busy; gives the seconds that it took.

    The threads of OpenBLAS, which multiplies for NumPy, go on spinning for 0.1 s after
    a product, in case there is another one: meanwhile a product of JAX takes twice as
    long on two cores.

    Args:
        at_most: seconds.
    """
    start, quiet = perf_counter(), 0
    while (waited := perf_counter() - start) < at_most and quiet < LOOKS:
        before, used = perf_counter(), process_time()
        sleep(PAUSE_SECONDS)
        busy = process_time() - used >= BUSY_SHARE * (perf_counter() - before)
        quiet = 0 if busy else quiet + 1
    return waited
