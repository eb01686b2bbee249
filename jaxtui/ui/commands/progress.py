"""The line on a terminal that says how far a run is, and questions to its user."""

from __future__ import annotations

import asyncio
import math
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from jaxtui.core import format as fmt
from jaxtui.core.model.remark import SelectionError
from jaxtui.core.state import State
from jaxtui.core.text import visible
from jaxtui.ui.commands.terminal import (
    is_secondary_process,
    is_terminal,
    takes_codes,
    wipe,
)
from jaxtui.ui.progress import job_text, starting
from jaxtui.ui.text import meter, plain

REDRAW_SECONDS = 0.25
"""Often enough to look alive, and nothing that a measurement or a slow line feels."""

_BAR_CELLS = 20

# Questions.


async def _typed_line() -> str:
    """The next line of stdin; unlike a blocking read a signal breaks it off."""
    loop, there = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), there.set)
    try:
        await there.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()


async def confirm(what: str) -> bool:
    """Ask the user, and return whether the answer is yes.

    Raises:
        SelectionError: if there is no terminal to ask on.
    """
    if not is_terminal(sys.stdin) or not is_terminal(sys.stderr):
        raise SelectionError(f"{what}: add --yes to go on.")
    sys.stderr.write(visible(f"{what}. Go on? [y/N] "))
    sys.stderr.flush()
    return (await _typed_line()).strip().lower() in ("y", "yes")


def can_ask() -> bool:
    """Return whether a person sees a question and can answer it."""
    return all(map(is_terminal, (sys.stdin, sys.stdout, sys.stderr)))


async def guess(letters: str) -> int | None:
    """Index of the letter that was typed; ``None`` if there was none."""
    while True:
        sys.stderr.write(f"your guess ({letters[0]}-{letters[-1]}, Enter to skip): ")
        sys.stderr.flush()
        typed = (await _typed_line()).strip().lower()
        if not typed:
            return None
        if len(typed) == 1 and typed in letters:
            return letters.index(typed)


# The line.


def bar(share: float) -> str:
    return plain(meter(share, _BAR_CELLS))


def progress_line(state: State, since_seconds: float) -> str:
    """The line for a snapshot.

    Args:
        state: what the engine has said.
        since_seconds: since it last said how far it is, or since the start before
            that, so that the clock also moves in a compile.
    """
    job = state.job
    if job is None:
        if state.devices:
            return ""
        return f"{starting(state.start)}, {since_seconds:.0f} s"
    elapsed = job.elapsed_seconds + since_seconds
    if not job.doing:
        return f"{bar(0.0)} {elapsed:.0f} s"
    doing = job_text(job)
    if job.preparing:
        return f"{elapsed:.0f} s  {doing}, {since_seconds:.0f} s"
    remaining = job.remaining_seconds - since_seconds
    if not job.limited:
        return f"{elapsed:.0f} s  {doing}"
    if remaining <= 0:  # a full bar would say that it is done
        return f"{elapsed:.0f} s, {fmt.left(remaining)}  {doing}"
    done = bar(elapsed / (elapsed + remaining))
    return f"{done} {elapsed:.0f} s, at most {math.ceil(remaining)} s left  {doing}"


@asynccontextmanager
async def progress(
    state: Callable[[], State], place: Callable[[State], str] | None = None
) -> AsyncIterator[None]:
    """Show the line of a run on stderr while the block runs; of a series its place."""

    def seen(now: State) -> object:
        job = now.job
        return job and (job.number, job.elapsed_seconds, job.doing)

    last, since = seen(state()), time.monotonic()

    def draw(_: float) -> str:
        nonlocal last, since
        now = state()
        if seen(now) != last:
            last, since = seen(now), time.monotonic()
        line = progress_line(now, time.monotonic() - since)
        return f"{place(now)}  {line}" if place and now.job else line

    async with live_line(draw):
        yield


@asynccontextmanager
async def live_line(draw: Callable[[float], str]) -> AsyncIterator[None]:
    """Show a line on stderr while the block runs, and wipe it at the end.

    Nothing is written when stderr is no terminal, or a dumb one.

    Args:
        draw: makes the line, given the seconds since the block began; what is too wide
            for the terminal is cut off.
    """
    if not takes_codes(sys.stderr):
        yield
        return
    ticker = asyncio.create_task(_tick(draw))
    try:
        yield
    finally:
        ticker.cancel()
        await asyncio.gather(ticker, return_exceptions=True)
        wipe()


async def _tick(draw: Callable[[float], str]) -> None:
    began = time.monotonic()
    while True:
        # One column stays free: a full last column would wrap the line.
        columns = shutil.get_terminal_size().columns - 1
        await asyncio.sleep(REDRAW_SECONDS)
        if is_secondary_process():
            continue
        text = visible(draw(time.monotonic() - began), line=True)
        sys.stderr.write(f"\r{text[:columns]}\x1b[K")
        sys.stderr.flush()
