"""What the commands write and ask, and how much of it the other end can show."""

from __future__ import annotations

import asyncio
import io
import os
import select
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TextIO, TypedDict

from jaxtui.engine import startup
from jaxtui.selection import Extent, SelectionError
from jaxtui.state import State
from jaxtui.text import PLAIN, visible

if TYPE_CHECKING:
    from typing_extensions import Buffer

DECLINED = "Nothing was measured."

REDRAW_SECONDS = 0.25
"""Often enough to look alive, and nothing that a measurement or a slow line feels."""

_BAR_CELLS = 20

Draw = Callable[[int, bool], str]
"""The line for so many columns; with ``True``, of nothing beyond ASCII."""


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


def look(stream: TextIO) -> Look:
    """How to draw for this stream."""
    return Look(
        width=shutil.get_terminal_size().columns,
        colour=in_colour(stream),
    )


def say(text: str) -> None:
    """Writes a line to stderr, where narration goes."""
    if sys.stderr is not None:
        print(visible(text), file=sys.stderr, flush=True)  # noqa: T201


def put(text: str) -> None:
    """Writes a result to stdout; characters that it lacks become ``?``."""
    text = visible(text)
    put_bytes(text.encode(sys.stdout.encoding or "ascii", errors=PLAIN) + b"\n")


def put_bytes(data: bytes) -> None:
    """Writes a result to stdout as it is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


async def typed_line() -> str:
    """The next line of stdin; unlike a blocking read a signal breaks it off."""
    loop, there = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), there.set)
    try:
        await there.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()


# Questions.


async def may_start(extent: Extent, *, sure: bool) -> bool:
    """Whether to start what comes to so much; asks only if it is large.

    Args:
        extent: how much it is.
        sure: ``--yes`` was typed, so that nobody is asked.

    Raises:
        SelectionError: if nobody is there to be asked.
    """
    if sure or not extent.is_large:
        return True
    if not is_terminal(sys.stdin) or not is_terminal(sys.stderr):
        raise SelectionError(f"{extent.text}: add --yes if it is meant.")
    sys.stderr.write(visible(f"{extent.text}. Go on? [y/N] "))
    sys.stderr.flush()
    return (await typed_line()).strip().lower() in ("y", "yes")


def can_ask() -> bool:
    """Whether somebody reads the question and can answer it."""
    return all(map(is_terminal, (sys.stdin, sys.stdout, sys.stderr)))


async def guess(choices: int) -> int | None:
    """Index of the choice that was typed; ``None`` if there was none."""
    while True:
        sys.stderr.write(f"your guess (1-{choices}, Enter to skip): ")
        sys.stderr.flush()
        typed = (await typed_line()).strip()
        if not typed:
            return None
        if typed.isdecimal() and 1 <= int(typed) <= choices:
            return int(typed) - 1


# The line that says how far a run is.


def bar(share: float, *, ascii_only: bool) -> str:
    """How much is done, drawn.

    Args:
        share: from 0 to 1.
        ascii_only: draw with ``#`` and ``-``.
    """
    filled = round(share * _BAR_CELLS)
    full, empty = ("#", "-") if ascii_only else ("█", "░")
    return full * filled + empty * (_BAR_CELLS - filled)


def progress_line(
    state: State, since_seconds: float, width: int, *, ascii_only: bool
) -> str:
    """The line for a snapshot, never wider than ``width``.

    Args:
        state: what the engine has said.
        since_seconds: since it last said how far it is, or since the start before
            that, so that the clock also moves in a compile.
        width: columns.
        ascii_only: draw the bar with ``#`` and ``-``.
    """
    job = state.job
    if job is None:
        if state.devices:
            return ""
        return f"{startup.doing(state.start)}, {since_seconds:.0f} s"[:width]
    elapsed = job.elapsed_seconds + since_seconds
    remaining = max(0.0, job.remaining_seconds - since_seconds)
    whole = elapsed + remaining
    share = elapsed / whole if job.doing and whole > 0 else 0.0
    drawn = bar(share, ascii_only=ascii_only)
    left = f", at most {remaining:.0f} s left" if job.doing else ""
    return f"{drawn} {elapsed:.0f} s{left}  {job.doing}"[:width].rstrip()


@asynccontextmanager
async def progress(stream: TextIO, state: Callable[[], State]) -> AsyncIterator[None]:
    """Shows the line of a run while the block runs and wipes it at the end.

    Nothing is written when the stream is no terminal.
    """
    seen, since = _seen(state()), time.monotonic()

    def draw(width: int, ascii_only: bool) -> str:
        nonlocal seen, since
        now = state()
        if _seen(now) != seen:
            seen, since = _seen(now), time.monotonic()
        passed = time.monotonic() - since
        return progress_line(now, passed, width, ascii_only=ascii_only)

    async with live_line(stream, draw):
        yield


def _seen(state: State) -> tuple[object, ...] | None:
    job = state.job
    return (job.number, job.elapsed_seconds, job.doing) if job is not None else None


@asynccontextmanager
async def live_line(stream: TextIO, draw: Draw) -> AsyncIterator[None]:
    """Shows a line while the block runs, anew every now and then; wipes it at the end.

    Nothing is written when the stream is no terminal.
    """
    if not is_terminal(stream):
        yield
        return
    ticker = asyncio.create_task(_tick(stream, draw))
    try:
        yield
    finally:
        ticker.cancel()
        await asyncio.gather(ticker, return_exceptions=True)
        wipe(stream)


def wipe(stream: TextIO) -> None:
    """Makes room where the line is, for text that stays."""
    if is_terminal(stream):
        stream.write("\r\x1b[K")
        stream.flush()


async def _tick(stream: TextIO, draw: Draw) -> None:
    ascii_only = is_ascii(stream)
    while True:
        # One column stays free: a full last column would wrap the line.
        columns = shutil.get_terminal_size().columns - 1
        line = draw(columns, ascii_only)
        stream.write(f"\r{visible(line, line=True)[:columns]}\x1b[K")
        stream.flush()
        await asyncio.sleep(REDRAW_SECONDS)


def narrate(text: str) -> None:
    """Lines on stderr, where a progress line may be."""
    wipe(sys.stderr)
    say(text)
