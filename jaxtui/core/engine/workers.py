"""Child processes: what they answer is read, and they end when their parent does."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping

import msgspec

from jaxtui.core import child
from jaxtui.core.model.base import Record

_PR_SET_PDEATHSIG = 1

ENDING_SECONDS = 2.0
"""Seconds that a process which has closed its pipe gets to end."""

POLL_SECONDS = 0.05
"""Seconds between two looks at ``stop``."""


def signal_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent dies. Linux only.

    Where C code holds the GIL, no Python code would notice.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


class Child:
    """A process of this package: it is sent records, and answers with lines.

    Args:
        module: its ``main`` is run.
        environment: variables to set for it; ``None`` takes one away.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, module: str, environment: Mapping[str, str | None]) -> None:
        self.process = subprocess.Popen(
            child.command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={
                name: value
                for name, value in {**os.environ, **environment}.items()
                if value is not None
            },
        )

    def send(self, record: Record) -> None:
        """Write a record; a process that is gone shows by its end, not here."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(msgspec.json.encode(record) + b"\n")

    def answers(self, stop: Callable[[], bool]) -> Iterator[bytes]:
        """Yield the lines of its output until it ends or ``stop`` returns true."""
        assert self.process.stdout is not None
        fd, rest = self.process.stdout.fileno(), b""
        while not stop():
            if not select.select((fd,), (), (), POLL_SECONDS)[0]:
                continue
            chunk = os.read(fd, 1 << 16)
            if not chunk:
                return
            *complete, rest = (rest + chunk).split(b"\n")
            yield from complete

    def ending(self) -> int:
        """The status with which it ended; negative for a signal.

        One that has closed its pipe and lives on is killed.
        """
        try:
            return self.process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def close(self) -> None:
        with self.process:
            self.process.kill()


def sender() -> Callable[[object], None]:
    """Return a function that writes an answer: one line of JSON, flushed at once, as
    the child may abort next.

    They go to fd 1, and what C code prints there goes to fd 2.
    """
    fd = os.dup(1)
    os.dup2(2, 1)
    os.set_inheritable(fd, False)
    pipe = os.fdopen(fd, "wb")

    def send(answer: object) -> None:
        pipe.write(msgspec.json.encode(answer) + b"\n")
        pipe.flush()

    return send


def end_with_input() -> None:
    """End this process as soon as the other side closes its standard input."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
