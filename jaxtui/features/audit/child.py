"""Runs someone's program under watch, in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from jaxtui.core.engine import children
from jaxtui.features.audit.messages import Witness

MODULE = "jaxtui.features.audit.measure"


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
        async with children.running(
            MODULE, str(result), *program, python=python, holds=True, **streams
        ) as process:
            started(process)
            code = await process.wait()
        try:
            witness = msgspec.json.decode(result.read_bytes(), type=Witness)
        except (OSError, msgspec.DecodeError):
            witness = None
    return children.status(code), witness
