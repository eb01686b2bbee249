"""The app ends when it is told to, even where Textual cannot."""

from __future__ import annotations

import os
import threading


def exit_within(seconds: float, code: int) -> None:
    """End this process after ``seconds`` unless it has ended by then.

    Textual's shutdown waits for the thread that writes to the terminal, and writing to
    one that is gone or that nobody reads lasts for ever. The engine then misses a
    goodbye and ends as well, and the terminal is restored as after a kill.
    """
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
