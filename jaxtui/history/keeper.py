"""Writes what an engine measured into the history, without holding anybody up."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from jaxtui.history.store import History, HistoryError
from jaxtui.model import HOST, CaseMeasured, Device, Event, Host, Measurement, Ready

FINISHED = ("target", "budget", "noise floor")
"""How a case has ended whose figure is worth keeping: not by a stop or a crash."""

_Item = tuple[Host, "Device | None", Measurement]


class Keeper:
    """Takes in events, and keeps every measurement that is finished.

    A thread does the writing, so that a slow disk or a locked file costs the screen
    nothing. What goes wrong is said once; measuring goes on without a history.
    """

    def __init__(self, history: History, warn: Callable[[str], None]) -> None:
        """Take the file, and what to do with a sentence about it.

        Args:
            history: Where to.
            warn: Called from the writing thread, at most twice.
        """
        self._history = history
        self._warn = warn
        self._host: Host | None = None
        self._devices: dict[str, Device] = {}
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._told = False

    def observe(self, event: Event) -> None:
        """Keep it, if it is a finished measurement."""
        match event:
            case Ready():
                self._host = event.host
                self._devices = {device.name: device for device in event.devices}
            case CaseMeasured(measurement=measurement):
                self._keep(measurement)

    def close(self, patience: float | None = None) -> bool:
        """Wait until everything is written.

        Args:
            patience: Seconds to wait at most; ``None`` is as long as it takes, which
                is seconds where another process has locked the file.

        Returns:
            Whether it is written. If not, the thread goes on while this process lives.
        """
        if self._thread is None:
            return True
        self._queue.put(None)
        self._thread.join(patience)
        done = not self._thread.is_alive()
        self._thread = None
        return done

    def _keep(self, measurement: Measurement) -> None:
        if self._host is None or measurement.stopped not in FINISHED:
            return
        name = measurement.case.device
        device = None if name == HOST else self._devices.get(name)
        self._queue.put((self._host, device, measurement))
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._write, name="history", daemon=True
            )
            self._thread.start()

    def _write(self) -> None:
        usable = True
        while (item := self._queue.get()) is not None:
            if not usable:
                continue
            try:
                self._history.add(*item)
            except HistoryError as error:
                usable = False
                self._warn(f"{error} Measuring goes on; nothing more is kept.")
            if self._history.moved and not self._told:
                self._told = True
                self._warn(self._history.moved)
