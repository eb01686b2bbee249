"""Keeps the housekeeping of Python and of malloc out of timed windows."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from jaxtui.scripts.allocator import SETTINGS


def settle_allocator() -> None:
    """Have malloc keep what is freed, in one arena for all threads (Linux only).

    Until then glibc may return the memory of arrays to the system at the end of every
    call, depending on what ran earlier and on which thread. Threads that have an arena
    already keep it: call this before JAX starts its own. ``give_back`` ends the hoard.
    """
    if not keeps_freed():
        return
    libc = ctypes.CDLL(None)
    for parameter, value in SETTINGS.items():
        libc.mallopt(parameter, value)


def keeps_freed() -> bool:
    """Whether ``settle_allocator`` can do anything here: not without glibc."""
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt")


def give_back() -> None:
    """Return what malloc keeps to the system; what is in use stays."""
    if keeps_freed():
        ctypes.CDLL(None).malloc_trim(0)


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
        give_back()
