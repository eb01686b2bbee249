"""How malloc has to be set, for a process that measures and for the scripts alike."""

from __future__ import annotations

SETTINGS = {-8: 1, -3: 2**25, -1: -1}
"""Arguments of glibc's ``mallopt``: M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD.

By default each thread gets heaps of its own of 64 MiB (``mallopt(3)``). A large array
that stands alone in one is unmapped whole when it is freed, so that every call clears
new pages for its result: a sigmoid of 16 MiB took 4.5 ms or 1.1 ms, by process.
"""

SETTLED = """\
if sys.platform == "linux":
    # Otherwise malloc may give the arrays of every call back to the system, and clear
    # new pages for the next: one process is fast then, and another is slow.
    malloc = ctypes.CDLL(None)
    malloc.mallopt(-8, 1)  # one arena for all threads,
    malloc.mallopt(-3, 2**25)  # for all blocks below 32 MiB,
    malloc.mallopt(-1, -1)  # which keeps what is freed
"""
"""The same as Python: after the imports and before JAX starts its threads."""
