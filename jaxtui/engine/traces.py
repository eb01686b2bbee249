"""Reads a trace in a process of its own: it needs no JAX, and may be any file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from jaxtui.engine import children
from jaxtui.model import Remark, WorkFailed
from jaxtui.model.profile import Profile

MODULE = "jaxtui.measure.profile"


async def read(path: Path) -> Profile | WorkFailed:
    """The profile of a file or folder; whoever is cancelled ends the process."""
    async with children.running(
        MODULE,
        str(path),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # What ends this process may leave it to be read on.
        start_new_session=True,
    ) as process:
        printed, told = await process.communicate()
    try:
        return msgspec.json.decode(printed, type=Profile | WorkFailed)
    except msgspec.DecodeError:
        facts: dict[str, int] = {"status": process.returncode or 0}
        detail = told.decode(errors="replace").strip()
        return WorkFailed(remark=Remark("reader-died", {**facts}, "error", detail))
