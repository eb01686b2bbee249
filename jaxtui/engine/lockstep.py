"""Processes that run a case in step: the first of them decides, the others read."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from jaxtui.machine.hosts import heartbeat_seconds
from jaxtui.measure.errors import headline
from jaxtui.measure.hosts import Store, path
from jaxtui.measure.pace import Pace
from jaxtui.model import (
    Fact,
    Remark,
)

WAIT_SECONDS = 1.0
"""For what is about to come, over and over."""

ENTER_HEARTBEATS = 6
"""How far a process may be behind the others in a collective before it counts as
stuck. What keeps it may be a compile; gloo itself gives up after 30 s."""

LOOK_SECONDS = 0.5
"""How often it is looked for such a process."""

_Value = TypeVar("_Value")


class Group(Protocol):
    """Who is told that a process is lost."""

    def lost(self, process: int, code: str, **facts: Fact) -> Remark: ...

    def give_up(self, remark: Remark) -> None: ...


class Lockstep(Pace):
    """Of processes that do a task in step; the first of them decides."""

    shared = True

    def __init__(
        self,
        group: Group,
        store: Store,
        number: int,
        processes: Sequence[int],
        process: int,
    ) -> None:
        self._group, self._store, self._number = group, store, number
        self._others, self._process = processes[1:], process
        self._decides = process == processes[0]
        self._step, self._since = 0, time.monotonic()
        self._watching = self._decides
        if self._decides:
            threading.Thread(target=self._watch, name="step", daemon=True).start()

    def decide(self, value: Callable[[], _Value], kind: Any) -> _Value:
        key = self._next()
        if self._decides:
            decided = value()
            self._store.put(key, msgspec.json.encode(decided))
            return decided
        found: _Value = msgspec.json.decode(self._await(key), type=kind)
        return found

    def gather(self, value: _Value, kind: Any) -> list[_Value]:
        key = self._next()
        if not self._decides:
            self._store.put(f"{key}/{self._process}", msgspec.json.encode(value))
            return [value]
        others = (self._await(f"{key}/{process}") for process in self._others)
        return [value, *(msgspec.json.decode(data, type=kind) for data in others)]

    def fail(self, error: BaseException) -> None:
        # What a dead process leaves of a collective is an error as well, and which one
        # it was the heartbeat tells: jaxlib ends this process then.
        time.sleep(heartbeat_seconds(os.environ) + LOOK_SECONDS)
        remark = self._group.lost(
            self._process, "collective-broken", error=headline(error)
        )
        self._group.give_up(remark)

    def close(self) -> None:
        """The end of the task: all have read what was decided."""
        self.gather(0, int)
        self._watching = False
        if self._decides:
            self._store.delete(path("step", self._number))

    def _next(self) -> str:
        self._step, self._since = self._step + 1, time.monotonic()
        if not self._decides:
            at = path("at", self._number, self._process)
            self._store.put(at, str(self._step).encode(), again=True)
        return path("step", self._number, self._step)

    def _await(self, key: str) -> bytes:
        while (data := self._store.get(key, WAIT_SECONDS)) is None:
            pass
        return data

    def _watch(self) -> None:
        """Look for a process that is behind the others for too long."""
        limit = ENTER_HEARTBEATS * heartbeat_seconds(os.environ)
        while self._watching:
            time.sleep(LOOK_SECONDS)
            step = self._step
            if time.monotonic() - self._since < limit:
                continue
            for process in self._others:
                at = self._store.get(path("at", self._number, process), 0.0)
                if int(at or 0) < step and step == self._step and self._watching:
                    lost = self._group.lost(
                        process, "collective-not-entered", seconds=limit
                    )
                    self._group.give_up(lost)
