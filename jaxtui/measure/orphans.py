"""Processes that end when their parent does, even while C code runs."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1


def signal_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent dies. Linux only.

    Where C code holds the GIL, no Python code would notice.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def end_with_input() -> None:
    """End this process as soon as the other side closes its standard input."""
    threading.Thread(target=_await_end, daemon=True).start()


def _await_end() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)
