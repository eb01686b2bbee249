"""Stdout and stderr: what is written to them, and how much the other end can show."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Any, TextIO

from jaxtui.text import PLAIN, visible


class _Descriptor(io.RawIOBase):
    """A descriptor that never refuses a write: what it cannot take is lost."""

    def __init__(self, fd: int | None) -> None:
        """Take the descriptor; ``None`` is one that was closed from the start."""
        self._fd = fd
        self.lost = ""
        """Why something was not written; empty if all of it was."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return super().fileno() if self._fd is None else self._fd

    def isatty(self) -> bool:
        return self._fd is not None and os.isatty(self._fd)

    def write(self, data: Any) -> int:
        if self._fd is None:
            self.lost = "stdout is closed"
        if self._fd is not None and not self.lost:
            try:
                return os.write(self._fd, data)
            except BlockingIOError:  # the process at the other end made it so
                select.select([], [self._fd], [])
                return self.write(data)
            except BrokenPipeError:
                self.lost = "its reader has closed stdout"
            except OSError as error:
                self.lost = f"stdout: {error.strerror}"
        return memoryview(data).nbytes


def guard_streams() -> None:
    """Let stdout and stderr take whatever is written, also if they are closed or full.

    An error in the middle would cost what is still to be done, such as the files of
    ``--export`` or the history; ``lost`` tells of it at the end. On stderr it is of no
    consequence.
    """
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is not getattr(sys, f"__{name}__"):
            continue  # a test or a notebook has its own
        raw = _Descriptor(None if stream is None else stream.fileno())
        guarded = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=stream.encoding if stream else "utf-8",
            errors=PLAIN,
            line_buffering=name == "stderr" or raw.isatty(),
        )
        setattr(sys, name, guarded)


def lost() -> str:
    """Why something is missing on stdout; empty if all of it was written."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if not isinstance(raw, _Descriptor):
        return ""
    sys.stdout.flush()
    return raw.lost


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream; no one looks at a closed one."""
    return stream is not None and not stream.closed and stream.isatty()


def takes_codes(stream: TextIO | None) -> bool:
    """Whether a person looks at it on a terminal that knows more than lines."""
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def in_colour() -> bool:
    """Whether stdout takes colours."""
    return takes_codes(sys.stdout) and not os.environ.get("NO_COLOR")


def wipe() -> None:
    """Take a progress line off the terminal: what follows stays."""
    if takes_codes(sys.stderr):
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def say(text: str) -> None:
    """Write lines to stderr."""
    wipe()
    if sys.stderr is not None:
        print(visible(text), file=sys.stderr, flush=True)  # noqa: T201


def put(text: str) -> None:
    """Write a result to stdout; characters that its encoding lacks become ASCII."""
    text = visible(text)
    put_bytes(text.encode(sys.stdout.encoding or "ascii", errors=PLAIN) + b"\n")


def put_bytes(data: bytes) -> None:
    wipe()
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
