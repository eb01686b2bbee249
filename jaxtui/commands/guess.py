"""A learner's guess, asked for at a terminal."""

from __future__ import annotations

import sys

from jaxtui.commands.terminal import is_terminal, typed_line


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
