"""Keeping what the app measures, without holding up the screen or the exit."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from jaxtui.history.recording import Recording

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp

PATIENCE_SECONDS = 0.5
"""How long leaving may wait for the history."""

UNFINISHED = (
    "The history did not take everything in time: the last measurements may not be"
    " in it."
)


class Recorder:
    """The recording of one app, which lists what is kept and says what goes wrong."""

    def __init__(self, app: JaxtuiApp) -> None:
        """Take the app, inside of its loop, and listen to its engine."""
        self._app = app
        self._loop = asyncio.get_running_loop()
        self._late: list[str] = []
        self._recording = Recording(self._warn, self._written)
        app.session.observers.append(self._recording.observe)

    def close(self) -> list[str]:
        """Wait a moment for what is still to be written.

        Returns:
            What went wrong since the screen was left, for the terminal.
        """
        if not self._recording.close(PATIENCE_SECONDS):
            self._late.append(UNFINISHED)
        return self._late

    def _warn(self, sentence: str) -> None:
        if self._app.leaving:
            self._late.append(sentence)
        else:
            self._on_screen(partial(self._app.session.say, sentence))

    def _written(self) -> None:
        self._on_screen(self._app.look_again)

    def _on_screen(self, act: Callable[[], object]) -> None:
        # The thread that writes must not wait for the screen, which may wait for it.
        with contextlib.suppress(RuntimeError):  # the loop has just been closed
            self._loop.call_soon_threadsafe(act)
