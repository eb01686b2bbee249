"""Writes what an engine measures into the history, without delaying anything."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec

from jaxtui.core.format import plural
from jaxtui.core.history.store import WAIT_SECONDS, Entry, History, HistoryError, busy
from jaxtui.core.model import (
    HOST,
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Device,
    Event,
    Host,
    Measurement,
    Ready,
    RunFinished,
    Sampled,
)
from jaxtui.core.model.machine import members
from jaxtui.core.model.own import is_own
from jaxtui.core.places import NoHomeError

_Item = tuple[Host, "Device | None", Measurement, float]

Past = Mapping[Case, Sequence[Entry]]
"""Earlier measurements by case."""


class _Question(msgspec.Struct, frozen=True):
    """A request for the measurements of these cases before what is written after it."""

    cases: Sequence[Case]
    hostname: str


class Recording:
    """Takes in every event of an engine, and keeps what it measured.

    Of a run that was interrupted that is all that its document shows, with the samples
    that there are; the interval says how much they are worth. Only what an engine was
    measuring when it died is not kept: a death is no evidence.

    A thread does the writing, so that a slow disk or a locked file costs the screen
    nothing. What goes wrong is said once; measuring continues.
    """

    def __init__(
        self,
        warn: Callable[[str], object],
        written: Callable[[], None] = lambda: None,
        history: History | None = None,
        know: Callable[[Past], object] = lambda past: None,
    ) -> None:
        """Take what to do with trouble of the history, and with its growth.

        Args:
            warn: called from whichever thread finds out, seldom more than once.
            written: called from another thread after each measurement that is kept.
            history: where to; by default the one of this user.
            know: given from another thread what ``look_back`` has asked for.
        """
        self._know = know
        self._warn = warn
        self._written = written
        self._history = history
        self._host: Host | None = None
        self._hosts: dict[str, Host] = {}
        """The host of each process, by name, where there are several."""
        self._devices: dict[str, Device] = {}
        self._sampled: dict[int, Measurement] = {}
        """The cases of the run that are being timed, by their index."""
        self._taken = 0
        """Measurements that are to be kept; counted by whoever observes."""
        self._kept = 0
        """Measurements that are on disk; counted by the thread."""
        self._queue: queue.SimpleQueue[_Item | _Question | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._warned = False
        self._homeless = False
        """True once it was reported that there is no place for a history; nothing is
        lost."""

    def observe(self, event: Event) -> None:
        """Keep it, if it is a measurement."""
        match event:
            case Ready():
                self._host = event.host
                self._hosts = {host.hostname: host for host in event.hosts}
                self._devices = {device.name: device for device in event.devices}
            case CaseStarted() | CaseFailed():
                self._sampled.pop(event.index, None)
            case Sampled() if not event.measurement.case.target:  # no link is kept
                self._sampled[event.index] = event.measurement
            case CaseMeasured() if not event.measurement.case.target:
                self._sampled.pop(event.index, None)
                self._keep(event.measurement)
            case RunFinished(outcome="crashed"):
                self._sampled.clear()
            case RunFinished():
                self._break_off()

    def look_back(self, cases: Iterable[Case]) -> None:
        """Find what was measured of some cases before; does not wait for it.

        A function of a file may be another one by now, so it is left out. Where the
        file cannot be read there is no answer: whoever writes to it says why.
        """
        lasting = [case for case in cases if not is_own(case.op)]
        if lasting and self._host is not None:
            self._put(_Question(lasting, self._host.hostname))

    def close(self, patience: float = WAIT_SECONDS) -> str:
        """Wait until everything is written.

        Args:
            patience: seconds to wait at most, which is how long it takes where another
                process has locked the file. The thread goes on trying while this
                process lives.

        Returns:
            How much could not be kept; empty if all was.
        """
        self._break_off()
        if self._thread is None:
            return ""
        self._queue.put(None)
        self._thread.join(patience)
        if self._thread.is_alive() and self._history and not self._warned:
            self._warned = True
            self._warn(str(busy(self._history.path)))
        self._thread = None
        count = 0 if self._homeless else self._taken - self._kept
        if not count:
            return ""
        return f"Could not save {plural(count, 'measurement')} in the history."

    def _break_off(self) -> None:
        """Keep what there is of cases that nothing has ended but the run."""
        for measurement in self._sampled.values():
            if measurement.ready is not None:
                self._keep(msgspec.structs.replace(measurement, stopped="cancelled"))
        self._sampled.clear()

    def _keep(self, measurement: Measurement) -> None:
        if self._host is None or measurement.stopped == "crashed":
            return
        name = measurement.case.device
        device = None if name == HOST else self._devices.get(members(name)[0])
        self._taken += 1
        host = self._hosts.get(measurement.hostname or "", self._host)
        self._put((host, device, measurement, time.time()))

    def _put(self, item: _Item | _Question) -> None:
        self._queue.put(item)
        if self._thread is None:
            history = self._history = self._history or History()
            self._thread = threading.Thread(
                target=self._write, args=(history,), name="history", daemon=True
            )
            self._thread.start()

    def _write(self, history: History) -> None:
        while (item := self._queue.get()) is not None:
            if isinstance(item, _Question):
                with suppress(HistoryError):
                    self._know(history.earlier(item.cases, item.hostname))
            else:
                self._add(history, item)

    def _add(self, history: History, item: _Item) -> None:
        try:
            history.add([item])
        except HistoryError as error:
            if not self._warned:
                self._warned = True
                self._homeless = isinstance(error.__cause__, NoHomeError)
                self._warn(str(error))
        else:
            self._kept += 1
            self._written()
