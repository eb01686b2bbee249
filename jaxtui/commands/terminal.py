"""What the commands write, and how much of it the other end can show."""

from __future__ import annotations

import io
import os
import select
import shutil
import sys
from typing import TYPE_CHECKING, TextIO, TypedDict

from jaxtui.text import visible

if TYPE_CHECKING:
    from typing_extensions import Buffer


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

    def write(self, data: Buffer) -> int:
        if self._fd is None:
            self.lost = "stdout is closed"
        if self._fd is not None and not self.lost:
            try:
                return os.write(self._fd, data)
            except BlockingIOError:  # whoever has the other end made it so
                select.select([], [self._fd], [])
                return self.write(data)
            except BrokenPipeError:
                self.lost = "nobody reads stdout any more"
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
            continue  # somebody else's
        raw = _Descriptor(None if stream is None else stream.fileno())
        guarded = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=stream.encoding if stream else "utf-8",
            errors="replace",
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
    """Whether a person looks at this stream; a closed one has nobody."""
    return stream is not None and not stream.closed and stream.isatty()


def in_colour(stream: TextIO) -> bool:
    """Whether to write colours: to a terminal, unless ``NO_COLOR`` or a dumb one."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(stream) and not plain


def is_ascii(stream: TextIO) -> bool:
    """Whether the stream's encoding has no box drawing, Braille or ``±``."""
    try:
        "█⣿±µ".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


class Look(TypedDict):
    """What a plot has to know of the terminal that it is drawn for."""

    width: int
    """Columns."""
    colour: bool
    ascii_only: bool


def look(stream: TextIO) -> Look:
    """How to draw for this stream."""
    return Look(
        width=shutil.get_terminal_size().columns,
        colour=in_colour(stream),
        ascii_only=is_ascii(stream),
    )


def say(text: str) -> None:
    """Writes a line to stderr, where narration goes."""
    if sys.stderr is not None:
        print(visible(text), file=sys.stderr, flush=True)  # noqa: T201


def put(text: str) -> None:
    """Writes a result to stdout; characters that it lacks become ``?``."""
    text = visible(text)
    put_bytes(text.encode(sys.stdout.encoding or "ascii", errors="replace") + b"\n")


def put_bytes(data: bytes) -> None:
    """Writes a result to stdout as it is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


async def typed_line() -> str:
    """The next line of stdin; unlike a blocking read a signal breaks it off."""
    import asyncio

    loop, there = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), there.set)
    try:
        await there.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()
