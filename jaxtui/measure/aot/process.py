"""The process that compiles: answers on a file descriptor of its own, and its end."""

from __future__ import annotations

import os
import resource

import msgspec

from jaxtui.measure.orphans import signal_with_parent
from jaxtui.model.ahead import AheadAnswer


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
    signal_with_parent()
