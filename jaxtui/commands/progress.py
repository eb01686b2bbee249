"""One line on stderr that says how far a run is."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TextIO

from jaxtui.commands.terminal import is_ascii, is_terminal
from jaxtui.tui.state import State

REDRAW_SECONDS = 0.25
"""Often enough to look alive, and nothing that a measurement or a slow line feels."""

_BAR_CELLS = 20


def progress_line(
    state: State, since_seconds: float, width: int, *, ascii_only: bool
) -> str:
    """The line for a snapshot, never wider than ``width``.

    Args:
        state: what the engine has said.
        since_seconds: since its last event, so that the clock also moves in a compile.
        width: columns.
        ascii_only: draw the bar with ``#`` and ``-``.
    """
    going = state.going
    if going is None:
        return "" if state.devices else "starting JAX"[:width]
    elapsed = going.elapsed_seconds + since_seconds
    remaining = max(0.0, going.remaining_seconds - since_seconds)
    whole = elapsed + remaining
    share = elapsed / whole if going.doing and whole > 0 else 0.0
    filled = round(share * _BAR_CELLS)
    full, empty = ("#", "-") if ascii_only else ("█", "░")
    bar = full * filled + empty * (_BAR_CELLS - filled)
    left = f", at most {remaining:.0f} s left" if going.doing else ""
    return f"{bar} {elapsed:.0f} s{left}  {going.doing}"[:width].rstrip()


@asynccontextmanager
async def progress(stream: TextIO, state: Callable[[], State]) -> AsyncIterator[None]:
    """Shows the line while the block runs and wipes it at the end.

    Nothing is written when the stream is no terminal.
    """
    if not is_terminal(stream):
        yield
        return
    ticker = asyncio.create_task(_tick(stream, state))
    try:
        yield
    finally:
        ticker.cancel()
        await asyncio.gather(ticker, return_exceptions=True)
        stream.write("\r\x1b[K")
        stream.flush()


async def _tick(stream: TextIO, state: Callable[[], State]) -> None:
    seen, since = state(), time.monotonic()
    ascii_only = is_ascii(stream)
    while True:
        now = state()
        if now is not seen:
            seen, since = now, time.monotonic()
        # One column stays free: a full last column would wrap the line.
        width = shutil.get_terminal_size().columns - 1
        passed = time.monotonic() - since
        line = progress_line(now, passed, width, ascii_only=ascii_only)
        stream.write(f"\r{line}\x1b[K")
        stream.flush()
        await asyncio.sleep(REDRAW_SECONDS)
