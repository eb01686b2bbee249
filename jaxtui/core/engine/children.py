"""Processes of jaxtui's own beside the engine, which end with whoever started them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jaxtui.core.child import command
from jaxtui.core.engine.process import KILL_SECONDS
from jaxtui.core.signals import SIGNALS


@asynccontextmanager
async def running(
    module: str,
    *arguments: str,
    python: tuple[str, ...] = (),
    holds: bool = False,
    **options: Any,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that runs ``main`` of a module; it is killed at the end of the block.

    Args:
        module: its full name.
        *arguments: of the process.
        python: another interpreter.
        holds: signals come to the process only when it asks for them.
        **options: of ``asyncio.create_subprocess_exec``.

    Raises:
        OSError: The interpreter cannot be started.
    """
    # A process inherits what its parent holds back.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS if holds else ())
    try:
        process = await asyncio.create_subprocess_exec(
            *command(module, python), *arguments, **options
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                if options.get("start_new_session"):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
            # A driver that hangs keeps even a killed process.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), KILL_SECONDS)


def status(code: int) -> int:
    """An exit status, that of a signal as shells count it."""
    return 128 - code if code < 0 else code
