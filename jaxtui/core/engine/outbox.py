"""The engine's side of the event pipe: a full pipe never holds up the timing."""

from __future__ import annotations

import os
import select
import threading
from collections import deque

import msgspec

from jaxtui.core.engine.protocol import Envelope, encode
from jaxtui.core.model import Event, Progress, Sampled

MAX_WAITING_BYTES = 4 * 1024 * 1024
"""Bytes that may wait for a UI that does not read before live points are dropped."""


class Outbox:
    """Sends events without ever waiting; any thread may send, ``drain`` waits."""

    def __init__(
        self, fd: int, generation: int, max_waiting_bytes: int = MAX_WAITING_BYTES
    ) -> None:
        """Take the write end of the event pipe and make it non-blocking."""
        os.set_blocking(fd, False)
        self._fd = fd
        self._generation = generation
        self._maximum = max_waiting_bytes
        self._shed_at = max_waiting_bytes
        self._lock = threading.Lock()
        self._partial = b""
        self._waiting: deque[tuple[Envelope, bytes]] = deque()
        self._waiting_bytes = 0

    def send(self, event: Event, run: int | None = None) -> None:
        """Write the event, or keep it for later if the pipe is full."""
        envelope = Envelope(generation=self._generation, run=run, event=event)
        with self._lock:
            self._append(envelope, encode(envelope))
            self._flush()
            if self._waiting_bytes > self._shed_at:
                self._shed()
                # What cannot be given up must not be gone through at every event.
                self._shed_at = max(self._maximum, 2 * self._waiting_bytes)

    def drain(self) -> None:
        """Wait until everything is written; call it only when nothing is timed."""
        while True:
            with self._lock:
                self._flush()
                if not self._partial and not self._waiting:
                    self._shed_at = self._maximum
                    return
            select.select((), (self._fd,), ())

    def _append(self, envelope: Envelope, line: bytes) -> None:
        self._waiting.append((envelope, line))
        self._waiting_bytes += len(line)

    def _flush(self) -> None:
        try:
            while self._partial or self._waiting:
                if not self._partial:
                    self._partial = self._waiting.popleft()[1]
                    self._waiting_bytes -= len(self._partial)
                self._partial = self._partial[os.write(self._fd, self._partial) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # The UI is gone; the control thread learns of it and ends the process.
            self._partial = b""
            self._waiting.clear()
            self._waiting_bytes = 0

    def _shed(self) -> None:
        """Keep one ``Sampled`` per case, without points, and the last ``Progress``."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        last = {_slot(envelope): envelope for envelope, _ in waiting}
        for envelope, line in waiting:
            slot = _slot(envelope)
            if slot is None:
                self._append(envelope, line)
            elif envelope is last[slot]:
                thin = _without_points(envelope)
                self._append(thin, encode(thin))


def _slot(envelope: Envelope) -> tuple[int | None, int] | None:
    """Return the slot in which a later event replaces this one, if any."""
    match envelope.event:
        case Sampled(index=index):
            return envelope.run, index
        case Progress():
            return envelope.run, -1
        case _:
            return None


def _without_points(envelope: Envelope) -> Envelope:
    if not isinstance(envelope.event, Sampled):
        return envelope
    event = msgspec.structs.replace(envelope.event, dispatch=(), ready=())
    return msgspec.structs.replace(envelope, event=event)
