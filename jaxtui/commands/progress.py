"""One line on stderr that says how far a run is."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TextIO

from jaxtui.commands.terminal import is_ascii, is_terminal
from jaxtui.engine import startup
from jaxtui.state import State
from jaxtui.text import visible

REDRAW_SECONDS = 0.25
"""Often enough to look alive, and nothing that a measurement or a slow line feels."""

_BAR_CELLS = 20

Draw = Callable[[int, bool], str]
"""The line for so many columns; with ``True``, of nothing beyond ASCII."""


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
