"""Reads a trace in a process of its own: it needs no JAX, and may be any file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from jaxtui.core.engine import children, silence
from jaxtui.core.model import Remark, WorkFailed
from jaxtui.core.model.profile import Profile
from jaxtui.core.model.remark import Fact

MODULE = "jaxtui.features.profile.measure"


async def read(
    path: Path, say: Callable[[Remark], object] = lambda _: None
) -> Profile | WorkFailed:
    """The profile of a file or folder; a reader that hangs is ended, as is one whose
    caller is cancelled.

    Args:
        path: of the trace.
        say: is told that the process does nothing.
    """

    def silent(seconds: float, left: float) -> None:
        facts: dict[str, Fact] = {"of": "reader", "seconds": seconds, "left": left}
        say(Remark("engine-silent", facts, "warning"))

    async with children.running(
        MODULE,
        str(path),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # What ends this process may leave it to be read on.
        start_new_session=True,
    ) as process:
        answer = asyncio.ensure_future(process.communicate())
        watch = asyncio.ensure_future(
            silence.hangs(
                lambda: None,
                lambda: silence.cpu_seconds(process.pid),
                silence.Limits,
                lambda: True,
                silent,
            )
        )
        try:
            await asyncio.wait({answer, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                hung: dict[str, Fact] = {"seconds": watch.result() or 0.0}
                return WorkFailed(remark=Remark("reader-hung", hung, "error"))
            printed, errors = answer.result()
        finally:
            answer.cancel()
            watch.cancel()
    try:
        return msgspec.json.decode(printed, type=Profile | WorkFailed)
    except msgspec.DecodeError:
        facts: dict[str, int] = {"status": process.returncode or 0}
        detail = errors.decode(errors="replace").strip()
        return WorkFailed(remark=Remark("reader-died", {**facts}, "error", detail))
