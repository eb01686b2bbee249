"""Stdout and stderr: what is written to them, and how much the other end can show."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING, TextIO

from jaxtui.core.signals import interrupt
from jaxtui.core.text import PLAIN, visible, wrap
from jaxtui.ui.commands import CannotRun

if TYPE_CHECKING:
    import asyncio


def prepare_streams() -> None:
    """Have characters that an encoding lacks written as ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person looks at this stream; no one looks at a closed one."""
    return stream is not None and not stream.closed and stream.isatty()


def width_of(stream: TextIO | None) -> int | None:
    """Cells of a line; ``None`` for a file or a pipe."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else None


def takes_codes(stream: TextIO | None) -> bool:
    """Return whether a person looks at it on a terminal that knows more than lines."""
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def in_colour() -> bool:
    """Return whether stdout takes colours."""
    return takes_codes(sys.stdout) and not os.environ.get("NO_COLOR")


def wipe() -> None:
    """Take a progress line off the terminal: what follows stays."""
    if takes_codes(sys.stderr):
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


STDERR = 2
"""The descriptor: a program writes to it, whatever Python has made of it."""

MOST_SIGNALS = 3
"""Signals that a program gets; the next one kills it, and with it its audit."""


class PassedOn:
    """Passes the signals of this process on to a program that runs for its user."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._count = 0

    def started(self, process: asyncio.subprocess.Process) -> None:
        """Take the process, and tell it what has come while it was started."""
        self._process = process
        if interrupt.happened:
            process.send_signal(interrupt.last)

    async def tell(self) -> None:
        """Tell it of the last signal; a terminal has sent Ctrl-C to it as well."""
        process, number = self._process, interrupt.last
        self._count += 1
        if process is None or process.returncode is not None:
            return
        if self._count > MOST_SIGNALS:
            process.kill()
        elif number != signal.SIGINT or not is_terminal(sys.stdin):
            process.send_signal(number)


def say(text: str, *, fails: bool = False) -> None:
    """Write lines to stderr; errors on a closed stderr are ignored.

    On a terminal they are broken between words.

    Args:
        text: the lines.
        fails: this process fails for this reason; else process 0 says the same.
    """
    if is_secondary_process() and not fails:
        return
    with contextlib.suppress(OSError):
        wipe()
        if (width := width_of(sys.stderr)) is not None:
            # Only now: the app's engine is started before this is imported.

            lines = text.split("\n")
            text = "\n".join(
                line if len(line) <= width else wrap(line, width, "  ")
                for line in lines
            )
        if sys.stderr is not None:
            print(visible(text), file=sys.stderr, flush=True)  # noqa: T201


def print_stdout(text: str) -> None:
    """Write a result to stdout; characters that its encoding lacks become ASCII.

    Raises:
        CannotRun: It could not be written.
    """
    text = visible(text)
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    put_bytes(text.encode(encoding, errors=PLAIN) + b"\n")


_process = 0
"""The number of this process among those that it has joined."""


def joined_as(process: int) -> None:
    """Take note of which of several processes this is: the first prints for all."""
    global _process
    _process = process


def is_secondary_process() -> bool:
    """Return whether another process prints for all but failures."""
    return _process > 0


def put_bytes(data: bytes) -> None:
    """Raises ``CannotRun`` if not all could be written."""
    if is_secondary_process():
        return
    wipe()
    if sys.stdout is None:
        raise CannotRun("Could not print: stdout is closed.")
    try:
        sys.stdout.flush()
        # Where Python's streams are unbuffered, a signal ends a write in its middle.
        while data:
            data = data[sys.stdout.buffer.write(data) :]
        sys.stdout.flush()
    except OSError as error:
        raise broken(error) from error


def broken(error: OSError) -> CannotRun:
    """Explain that stdout takes no more."""
    return CannotRun(f"Could not print everything: {error.strerror}.")


def settle() -> None:
    """Give up what stdout and stderr do not take: Python would complain at its end."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
