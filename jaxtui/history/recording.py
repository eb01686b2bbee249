"""Writes what an engine measures into the history, without delaying anything."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.history.store import Entry, History, HistoryBusyError, HistoryError
from jaxtui.model import (
    HOST,
    Case,
    CaseMeasured,
    Device,
    Event,
    Host,
    Measurement,
    Ready,
)
from jaxtui.model.own import is_own

FINISHED = ("target", "budget", "noise floor")
"""How a case has ended whose figure is worth keeping: not by a stop or a crash."""

_Item = tuple[Host, "Device | None", Measurement, float]

Past = Mapping[Case, Sequence[Entry]]
"""What was measured before of some cases."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What was measured of these before what is written after it?"""

    cases: Sequence[Case]
    hostname: str


class Recording:
    """Takes in every event of an engine, and keeps its finished measurements.

    A thread does the writing, so that a slow disk or a locked file costs the screen
    nothing. What goes wrong is said once; measuring continues without a history. Where
    another process holds the file, what is measured waits until it lets go.
    """

    def __init__(
        self,
        warn: Callable[[str], None],
        written: Callable[[], None] = lambda: None,
        history: History | None = None,
        found: Callable[[Past], object] = lambda past: None,
    ) -> None:
        """Take what to do with a sentence about the history, and with its growth.

        Args:
            warn: called from whichever thread finds out, seldom more than once.
            written: called from another thread after each measurement that is kept.
            history: where to; by default the one of this user.
            found: given from another thread what ``look_back`` has asked for.
        """
        self._found = found
        self._warn = warn
        self._written = written
        self._history = history
        self._host: Host | None = None
        self._devices: dict[str, Device] = {}
        self._queue: queue.SimpleQueue[_Item | _Question | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._told: set[str] = set()

    def observe(self, event: Event) -> None:
        """Keep it, if it is a finished measurement."""
        match event:
            case Ready():
                self._host = event.host
                self._devices = {device.name: device for device in event.devices}
            case CaseMeasured(measurement=measurement) if (
                self._host is not None and measurement.stopped in FINISHED
            ):
                name = measurement.case.device
                device = None if name == HOST else self._devices.get(name)
                self._keep((self._host, device, measurement, time.time()))

    def look_back(self, cases: Iterable[Case]) -> None:
        """Find what was measured of some cases before; does not wait for it.

        A function of a file may be another one by now, so it is left out. Where the
        file cannot be read there is no answer: whoever writes to it says why.
        """
        asked = [case for case in cases if not is_own(case.op)]
        if asked and self._host is not None:
            self._keep(_Question(asked, self._host.hostname))

    def close(self, patience: float | None = None) -> bool:
        """Wait until everything is written.

        Args:
            patience: seconds to wait at most; ``None`` is as long as it takes, which
                is seconds where another process has locked the file.

        Returns:
            Whether it is written. If not, the thread continues while this process
            lives.
        """
        if self._thread is None:
            return True
        self._queue.put(None)
        self._thread.join(patience)
        done = not self._thread.is_alive()
        self._thread = None
        return done

    def _keep(self, item: _Item | _Question) -> None:
        self._queue.put(item)
        if self._thread is None:
            history = self._history = self._history or History()
            self._thread = threading.Thread(
                target=self._write, args=(history,), name="history", daemon=True
            )
            self._thread.start()

    def _write(self, history: History) -> None:
        waiting: list[_Item] = []
        usable = more = True
        while more:
            taken = [self._queue.get()]
            # One attempt for all: each may have to wait for seconds.
            while waiting and not self._queue.empty():
                taken.append(self._queue.get())
            more = None not in taken
            for item in taken:
                if isinstance(item, _Question):
                    # What the run before has measured is earlier, too.
                    if waiting:
                        usable = self._add(history, waiting)
                    self._answer(history, item)
                elif item is not None and usable:
                    waiting.append(item)
            if waiting:
                usable = self._add(history, waiting)
        if waiting:
            self._warn(
                "The history was in use by another process to the end:"
                f" {fmt.plural(len(waiting), 'measurement')} could not be kept."
            )

    def _answer(self, history: History, asked: _Question) -> None:
        try:
            past = history.earlier(asked.cases, asked.hostname)
        except HistoryError:
            return
        self._found(past)

    def _add(self, history: History, waiting: list[_Item]) -> bool:
        """Write what waits, and empty the list unless another process has the file.

        Returns:
            Whether there is any use in writing to this history.
        """
        try:
            history.add(waiting)
        except HistoryBusyError as error:
            self._say(f"{error} Measuring goes on; it is tried again.")
            return True
        except HistoryError as error:
            waiting.clear()
            self._warn(f"{error} Measuring goes on; nothing more is kept.")
            return False
        for _ in waiting:
            self._written()
        waiting.clear()
        if history.moved:
            self._say(history.moved)
        return True

    def _say(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._warn(sentence)
