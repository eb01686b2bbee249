"""The engine ends when its UI ends, even if the interpreter is stuck in C code."""

from __future__ import annotations

import ctypes
import signal
import sys

from jaxtui.measure.orphans import signal_with_parent


def die_with_parent() -> None:
    """Have the kernel end this process one second after its parent's death.

    The control thread ends it sooner unless a C call holds the GIL. For that case no
    Python code can help, so the kernel is told to send SIGHUP when the parent dies, and
    the handler of SIGHUP, whose number is 1, is libc's ``alarm``: it asks for SIGALRM,
    which kills, in 1 second. Linux only.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    alarm = ctypes.cast(libc.alarm, ctypes.c_void_p)
    libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    libc.signal.restype = ctypes.c_void_p
    libc.signal(int(signal.SIGHUP), alarm)
    signal_with_parent(signal.SIGHUP)


def end_within(seconds: float) -> None:
    """End this process by SIGALRM after ``seconds`` unless it has ended by then."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
