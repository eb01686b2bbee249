"""The app from the outside: run it on an engine, and end that engine."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from jaxtui.signals import interrupt
from jaxtui.text import visible
from jaxtui.tui import plain_text
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.recorder import Recorder

if TYPE_CHECKING:
    from jaxtui.engine.client import EngineClient
    from jaxtui.engine.process import EngineOptions, EngineProcess


def run_app(
    options: EngineOptions,
    process: EngineProcess | None,
    *,
    hold: bool = False,
    fps: float | None = None,
    record: bool = False,
) -> int:
    """Run the app on an engine and end that engine, whatever happens.

    Args:
        options: how to start engines.
        process: the engine that was started already.
        hold: keep the accelerator when nobody does anything.
        fps: redraws per second at most.
        record: keep what is measured in the history.

    Returns:
        The exit code: 0, 70 after a crash, 130 after Ctrl-C, or 128 plus a signal.
    """
    plain_text.prepare(sys.__stderr__)
    # The client's modules are needed only now; the engine has been started long ago.
    from jaxtui.engine.client import EngineClient

    with interrupt.heeded():
        return asyncio.run(_run(EngineClient(options, process), hold, fps, record))


async def _run(
    engine: EngineClient, hold: bool, fps: float | None, record: bool
) -> int:
    app = JaxtuiApp(engine, hold=hold, fps=fps)
    recorder = Recorder(app) if record else None
    try:
        await app.run_async()
    finally:
        await engine.close()
    for sentence in recorder.close() if recorder else ():
        print(visible(sentence), file=sys.__stderr__)
    if app.crash is not None:
        from jaxtui.tui import crashes

        sentence = visible(crashes.report(app.crash))
        print(sentence, file=sys.__stderr__)
    return app.return_code or 0
