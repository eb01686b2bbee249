"""A thread that waits for results and notes when each was ready."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from jaxtui.measure.loops.results import block


class Watcher:
    """Blocks on each result in the order in which it got them.

    Handing a result over costs the loop about 0.1 µs while the watcher waits for an
    earlier one, which is nearly always. Whoever waits for a result holds no lock of
    Python's, so the loop goes on meanwhile. A result is let go once it was seen: kept,
    it would cost each later call a fresh allocation.
    """

    def __init__(self, wait: Callable[[Any], object] = block) -> None:
        """Take what waits for a result; by default for one that is an array."""
        self.ready: list[float] = []
        """When each result was ready, by ``perf_counter``."""
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self.watch = self._queue.put
        """Takes the next result of the loop."""
        self._wait = wait
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watcher:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Wait until every result was ready.

        Raises:
            Exception: What the first result raised that has no value, unless the loop
                itself has failed.
        """
        self._queue.put(None)
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def _run(self) -> None:
        take, wait, seen = self._queue.get, self._wait, self.ready.append
        try:
            while (result := take()) is not None:
                wait(result)
                seen(perf_counter())
                result = None
        except Exception as error:  # whatever the runtime raises belongs to the loop
            self._error = error
