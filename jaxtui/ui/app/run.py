"""The app from the outside: run it on an engine, and end that engine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from jaxtui.core.history.recording import Past, Recording
from jaxtui.core.signals import interrupt
from jaxtui.core.text import visible
from jaxtui.ui.app import plain_text
from jaxtui.ui.app.app import JaxtuiApp

if TYPE_CHECKING:
    from jaxtui.core.engine.client import EngineClient
    from jaxtui.core.engine.process import EngineOptions, EngineProcess


PATIENCE_SECONDS = 0.5
"""Seconds that leaving may wait for the history."""


class Recorder:
    """The recording of one app, which lists what is kept and says what goes wrong."""

    def __init__(self, app: JaxtuiApp) -> None:
        """Take the app, inside of its loop, and listen to its engine."""
        self._app = app
        self._loop = asyncio.get_running_loop()
        self._late: list[str] = []
        self._recording = Recording(self._warn, self._list_again, know=self._know)
        app.session.observers.append(self._recording.observe)
        app.session.look_back = self._recording.look_back
        app.recording = True

    def close(self) -> list[str]:
        """Wait a moment for what is still to be written.

        Returns:
            What went wrong since the screen was left, for the terminal.
        """
        missing = self._recording.close(PATIENCE_SECONDS)
        return [*self._late, *filter(None, [missing])]

    def _warn(self, text: str) -> None:
        if self._app.leaving:
            self._late.append(text)
        else:
            self._on_screen(partial(self._app.session.say, text))

    def _know(self, past: Past) -> None:
        self._on_screen(partial(self._app.session.know, past))

    def _list_again(self) -> None:
        self._on_screen(self._app.list_again)

    def _on_screen(self, act: Callable[[], object]) -> None:
        # The thread that writes must not wait for the screen, which may wait for it.
        with contextlib.suppress(RuntimeError):  # the loop has just been closed
            self._loop.call_soon_threadsafe(act)


def crash_report(error: BaseException) -> str:
    """Return a sentence on the crash; the traceback goes to a file that it names."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    sentence = f"jaxtui: internal error: {type(error).__name__}: {error}."
    try:
        # A new name, readable by its owner only.
        descriptor, path = tempfile.mkstemp(prefix="jaxtui-crash-", suffix=".log")
        with os.fdopen(
            descriptor, "w", encoding="utf-8", errors="backslashreplace"
        ) as log:
            log.write(trace)
    except OSError:
        return f"{sentence}\n{trace}"
    return f"{sentence} The traceback is in {path}."


def run_app(
    options: EngineOptions,
    process: EngineProcess | None,
    *,
    hold: bool = False,
    fps: float | None = None,
    record: bool = False,
    classroom: bool = False,
) -> int:
    """Run the app on an engine and end that engine, whatever happens.

    Args:
        options: how to start engines.
        process: the engine that was started already.
        hold: keep the accelerator without input.
        fps: redraws per second at most.
        record: keep what is measured in the history.
        classroom: open the class view.

    Returns:
        The exit code: 0, 70 after a crash, 130 after Ctrl-C, or 128 plus a signal.
    """
    plain_text.prepare(sys.__stderr__)
    # The client's modules are needed only now; the engine has been started long ago.
    from jaxtui.core.engine.client import EngineClient

    with interrupt.handled():
        # The terminal must not be left as the app has set it.
        interrupt.heed(signal.SIGQUIT)
        engine = EngineClient(options, process)
        open_app = partial(JaxtuiApp, engine, hold=hold, fps=fps, classroom=classroom)
        return asyncio.run(_run(engine, open_app, record))


async def _run(
    engine: EngineClient, open_app: Callable[[], JaxtuiApp], record: bool
) -> int:
    app = open_app()
    recorder = Recorder(app) if record else None
    try:
        await app.run_async()
    finally:
        await engine.close()
    for sentence in recorder.close() if recorder else ():
        print(visible(sentence), file=sys.__stderr__)
    if app.crash is not None:
        sentence = visible(crash_report(app.crash))
        print(sentence, file=sys.__stderr__)
    return app.return_code or 0
