"""A UI that can be killed: starts an engine, says its pid, waits.

The argument is the op that the engine shall be timing, or ``-`` for none.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from jaxtui.engine.client import EngineClient, EngineOptions
from jaxtui.model import Case, Experiment, Hello, PhaseStarted, Ready

CORE = Path(__file__).with_name("fake_core.py")


async def show(op: str) -> None:
    engine = EngineClient(EngineOptions(command=(sys.executable, str(CORE))))
    await engine.start()
    if op != "-":
        case = Case(op=op, size=1, dtype="float32", device="cpu:0", mode="jit")
        await engine.run(Experiment(cases=(case,)))
    pid = 0
    async for envelope in engine.events():
        event = envelope.event
        if isinstance(event, Hello):
            pid = event.pid
        if isinstance(event, Ready) and op == "-":
            break
        if isinstance(event, PhaseStarted) and event.phase == "turn":
            break
    print(pid, flush=True)
    if "--close" in sys.argv:
        await engine.close()
        return
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(show(sys.argv[1]))
