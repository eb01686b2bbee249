"""The process that compiles: answers on a file descriptor of its own, and its end."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading

import msgspec

from jaxtui.model.ahead import AheadAnswer

_PR_SET_PDEATHSIG = 1


class Answers:
    """One JSON object per line, apart from whatever is printed."""

    def __init__(self, fd: int) -> None:
        """Write to ``fd``."""
        os.set_inheritable(fd, False)
        self._stream = os.fdopen(fd, "wb")

    def send(self, answer: AheadAnswer) -> None:
        """Write an answer at once: the next step may abort the process."""
        self._stream.write(msgspec.json.encode(answer) + b"\n")
        self._stream.flush()


def prepare() -> None:
    """Have this process end with whoever asked, and leave no core file behind.

    The compiler holds no lock of Python's while it works, so a thread notices the end
    of the other side; where C code does hold it, the kernel kills (Linux only).
    """
    resource.setrlimit(
        resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1])
    )
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def end_with_input() -> None:
    """End this process as soon as the other side closes the pipe of requests."""
    threading.Thread(target=_await_end, daemon=True).start()


def _await_end() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)
