"""Ctrl-C while an engine works for a command."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Stop = Callable[[], "Coroutine[Any, Any, None] | None"]
"""Begins to stop what is going on; ``None`` if nothing is."""


@dataclass
class Interrupt:
    """Whether somebody pressed Ctrl-C."""

    happened: bool = False


@contextmanager
def ctrl_c(interrupt: Interrupt, stop: Stop) -> Iterator[None]:
    """Ctrl-C stops the run in good order, and a second one at once.

    Without a run there is nothing to wait for: the first one ends everything, by
    cancelling the task that is in the block.
    """
    loop = asyncio.get_running_loop()
    whole = asyncio.current_task()
    stops: list[asyncio.Task[None]] = []

    def pressed() -> None:
        stopping = None if interrupt.happened else stop()
        if stopping is not None:
            stops.append(loop.create_task(stopping))
        elif whole:
            whole.cancel()
        interrupt.happened = True

    loop.add_signal_handler(signal.SIGINT, pressed)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
