"""Keeps the housekeeping of Python and of malloc out of timed windows."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from jaxtui.scripts.allocator import LARGEST_BLOCK


def settle_allocator() -> None:
    """Have malloc keep what is freed, whatever this process has done before.

    Until a larger block has been freed, glibc may return the memory of arrays to the
    system at the end of every call: one and the same NumPy expression then takes 1.6 ms
    or 2.7 ms, depending on what ran earlier.
    """
    bytes(LARGEST_BLOCK)


@contextmanager
def quiet_collector() -> Iterator[None]:
    """No garbage collection meanwhile; what exists already is never looked through."""
    settle_allocator()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
