"""Processes that time a part of a work in step: the first of them decides."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from jaxtui.core.engine.hosts import LOOK_SECONDS, Hosts
from jaxtui.core.engine.protocol import encode
from jaxtui.machine.hosts import heartbeat_seconds
from jaxtui.timing.pace import Pace

ENTER_HEARTBEATS = 6
"""Heartbeats that a process may be behind the others in a collective before it counts
as stuck. A compile may keep it; gloo itself gives up after 30 s."""

CLEAR_STEPS = 32
"""Decisions after which all have read them, and they are deleted."""

REQUEST_SECONDS = 60e-6
"""Seconds of process 0 per request, measured; a turn is 20 times what a
decision takes."""

_Value = TypeVar("_Value")


class Lockstep(Pace):
    """The pace of processes that do a part in step; the first of them decides."""

    shared = True

    def __init__(self, hosts: Hosts, key: str, processes: Sequence[int]) -> None:
        self._hosts, self._store, self._key = hosts, hosts.store, key
        self._others, self._me = processes[1:], hosts.me
        self.decides = hosts.me == processes[0]
        self.turn_seconds = 20 * REQUEST_SECONDS * len(processes)
        self._step, self._cleared = 0, 0
        self._since = time.monotonic()
        self._watching = True
        threading.Thread(target=self._watch, name="step", daemon=True).start()

    def decide(self, value: Callable[[], _Value], kind: Any) -> _Value:
        if self._step - self._cleared >= CLEAR_STEPS:
            self.gather(0, int)
        key = self._next()
        if self.decides:
            decided = value()
            self._store.put(key, encode(decided))
            return decided
        theirs: _Value = msgspec.json.decode(self._hosts.wait(key), type=kind)
        return theirs

    def gather(self, value: _Value, kind: Any) -> list[_Value]:
        key = self._next()
        if not self.decides:
            self._store.put(f"{key}/{self._me}", encode(value))
            self._cleared = self._step
            return [value]
        others = [self._hosts.take(f"{key}/{process}") for process in self._others]
        # Whoever has sent this has read all that was decided before.
        for step in range(self._cleared + 1, self._step):
            self._store.delete(f"{self._key}/{step}")
        self._cleared = self._step
        return [value, *(msgspec.json.decode(data, type=kind) for data in others)]

    def fail(self, error: BaseException) -> None:
        self._hosts.fail(error)

    def close(self) -> None:
        """The end of the part: all have read what was decided."""
        self.gather(0, int)
        self._watching = False

    def _next(self) -> str:
        self._step, self._since = self._step + 1, time.monotonic()
        return f"{self._key}/{self._step}"

    def _watch(self) -> None:
        """Look for a process that is behind the others for too long.

        One that has waited long enough says how far it is; the first compares.
        """
        limit = ENTER_HEARTBEATS * heartbeat_seconds(os.environ)
        reported = -1
        while self._watching:
            time.sleep(LOOK_SECONDS)
            step, seconds = self._step, time.monotonic() - self._since
            if not self.decides:
                if seconds >= limit / 2 and reported != step:
                    at = f"{self._key}/at/{self._me}"
                    self._store.put(at, str(step).encode(), again=True)
                    reported = step
                continue
            if seconds < limit:
                continue
            for process in self._others:
                data = self._store.get(f"{self._key}/at/{process}", 0.0)
                behind = data is not None and int(data) < step
                if behind and step == self._step and self._watching:
                    code = "collective-not-entered"
                    self._hosts.give_up(self._hosts.lost(process, code, seconds=limit))
