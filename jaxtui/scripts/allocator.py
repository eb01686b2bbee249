"""How malloc has to be set, for a process that measures and for the scripts alike."""

from __future__ import annotations

SETTINGS = {-8: 1, -4: 0, -1: -1}
"""Arguments of glibc's ``mallopt``: M_ARENA_MAX, M_MMAP_MAX and M_TRIM_THRESHOLD.

By default a block of 32 MiB or more is mapped anew in every call, unless what ran
before has left that much room, and a smaller one may be if it stands alone in a heap of
its thread (``mallopt(3)``). New pages are cleared by the kernel: a sigmoid of 16 MiB
took 4.5 ms or 1.1 ms, by process, and a Fourier transform of 32 MiB 33 ms or 9 ms.
"""

ALWAYS_MAPPED = 2**25
"""Bytes: by default glibc maps a block of this size whenever one is asked for."""

SETTLED = """\
if sys.platform == "linux":
    # Otherwise malloc may give the arrays of every call back to the system and get new
    # pages for the next, which can take longer than the work, or may not, by process.
    malloc = ctypes.CDLL(None)
    malloc.mallopt(-8, 1)  # one arena for all threads,
    malloc.mallopt(-4, 0)  # for blocks of every size,
    malloc.mallopt(-1, -1)  # which keeps what is freed
"""
"""The same as Python: after the imports and before JAX starts its threads."""
