"""Processes of jaxtui's own beside the engine, which end with whoever started them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jaxtui.child import command
from jaxtui.engine.process import KILL_SECONDS


@asynccontextmanager
async def running(
    module: str, *arguments: str, python: tuple[str, ...] = (), **options: Any
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that runs ``main`` of a module; it is killed at the end of the block.

    Args:
        module: its full name.
        *arguments: of the process.
        python: another interpreter.
        **options: of ``asyncio.create_subprocess_exec``.

    Raises:
        OSError: The interpreter cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *command(module, python), *arguments, **options
    )
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
