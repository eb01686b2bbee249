"""A learner's guess, asked for at a terminal."""

from __future__ import annotations

import asyncio
import sys

from jaxtui.commands.terminal import is_terminal


def can_ask() -> bool:
    """Whether somebody reads the question and can answer it."""
    return all(map(is_terminal, (sys.stdin, sys.stdout, sys.stderr)))


async def guess(choices: int) -> int | None:
    """Index of the choice that was typed; ``None`` if there was none.

    Waits for the terminal in the event loop, so that Ctrl-C works as ever.
    """
    while True:
        sys.stderr.write(f"your guess (1-{choices}, Enter to skip): ")
        sys.stderr.flush()
        typed = (await _line()).strip()
        if not typed:
            return None
        if typed.isdecimal() and 1 <= int(typed) <= choices:
            return int(typed) - 1


async def _line() -> str:
    """The next line of stdin."""
    loop = asyncio.get_running_loop()
    there = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), there.set)
    try:
        await there.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()
