"""Child processes: what they answer is read, and they end when their parent does."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from time import perf_counter

_PR_SET_PDEATHSIG = 1

POLL_SECONDS = 0.05
"""How long a stop may go unnoticed."""


def signal_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent dies. Linux only.

    Where C code holds the GIL, no Python code would notice.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def end_with_input() -> None:
    """End this process as soon as the other side closes its standard input."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def lines(
    fd: int, stop: Callable[[], bool], seconds: float = float("inf")
) -> Iterator[bytes]:
    """The lines from a pipe, until it ends or is stopped.

    Raises:
        TimeoutError: So many seconds have passed.
    """
    limit, rest = perf_counter() + seconds, b""
    while not stop():
        if perf_counter() > limit:
            raise TimeoutError("it did not answer")
        if not select.select((fd,), (), (), POLL_SECONDS)[0]:
            continue
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            return
        *complete, rest = (rest + chunk).split(b"\n")
        yield from complete
