"""Runs someone's program under watch, in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from jaxtui.child import command
from jaxtui.model.audit import Witness

MODULE = "jaxtui.measure.audit"


async def watch(
    program: Sequence[str],
    python: tuple[str, ...] = (),
    *,
    started: Callable[[asyncio.subprocess.Process], None] = lambda _: None,
    **streams: Any,
) -> tuple[int, Witness | None]:
    """The exit status of a program, that of a signal as shells count it, and what was
    seen; ``None`` if it was killed. Who is cancelled kills it.

    Args:
        program: the arguments of ``python``: a path or ``-m`` and a module, and those
            of the program.
        python: another interpreter.
        started: is given the process.
        **streams: of ``asyncio.create_subprocess_exec``.

    Raises:
        OSError: The interpreter cannot be started.
    """
    with TemporaryDirectory(prefix="jaxtui-audit-") as folder:
        result = Path(folder) / "witness.json"
        process = await asyncio.create_subprocess_exec(
            *command(MODULE, python), str(result), *program, **streams
        )
        started(process)
        try:
            status = await process.wait()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                if streams.get("start_new_session"):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
            await process.wait()
            raise
        try:
            witness = msgspec.json.decode(result.read_bytes(), type=Witness)
        except (OSError, msgspec.DecodeError):
            witness = None
    return 128 - status if status < 0 else status, witness
