"""A process that follows: it waits for tasks, does its part, sends what that yields."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator

import msgspec

from jaxtui.engine.active import Ledger
from jaxtui.engine.hosts import LIVE, WATCH_SECONDS, Answer, Farewell, Here, Hosts, Task
from jaxtui.measure.errors import headline
from jaxtui.measure.hosts import path
from jaxtui.model import (
    Dismissed,
    Fact,
    Following,
    HostLost,
    Remark,
    RunEvent,
    RunFinished,
    Sampled,
)

TASK_SECONDS = 10.0
"""Of a follower that waits for the next task, over and over: each wait is a message."""

STOP_LOOK_SECONDS = 0.1
"""How often a follower looks whether a task is to stop."""

SEND_SECONDS = 0.2
"""How often a follower sends what it has measured, with up to ``LIVE`` processes."""


class Follower(Hosts):
    """A process that does what the leader asks for, until that needs it no longer."""

    @property
    def following(self) -> Following:
        return Following(
            process=self._place.process,
            processes=self._place.processes,
            leader=self.arrivals[0].hostname,
        )

    def tasks(self) -> Iterator[tuple[int, Task]]:
        """What is asked of this process, for ever."""
        number, me = 0, self._place.process
        while True:
            try:
                data = self._store.get(path("task", number), TASK_SECONDS)
            # The store is gone, and the leader with it.
            except Exception:
                self._end(HostLost(remark=self.lost(0, "leader-lost")))
                return
            if data is None:
                continue
            task = msgspec.json.decode(data, type=Task)
            if me in task.to:
                if task.apart:
                    data = self._store.get(path("own", number, me), TASK_SECONDS)
                    task = msgspec.json.decode(data or b"", type=Task)
                yield number, task
            number += 1

    def answer(self, number: int, answer: Answer) -> None:
        key = path("answer", number, self._place.process)
        self._store.put(key, msgspec.json.encode(answer))

    def run(self, number: int, task: Task, here: Here) -> None:
        """Do a part of a work, and send what it yields, unless another one does."""
        work = task.work
        assert work is not None
        pace = self.pace(number, task.to)
        if pace is not None and task.to[0] != self._place.process:
            try:
                for _ in here(work, self._stop(number), pace):
                    pass
                pace.close()
            # It has told the others, who end.
            except Exception as error:
                pace.fail(error)
            return
        interval = SEND_SECONDS * max(1.0, self._place.processes / LIVE)
        waiting: list[RunEvent] = []
        sent, due, live = 0, 0.0, self._place.processes <= LIVE

        def send() -> None:
            nonlocal sent, due
            key = path("part", number, self._place.process, sent)
            self._store.put(key, msgspec.json.encode(waiting))
            waiting.clear()
            sent, due = sent + 1, time.perf_counter() + interval

        ledger = Ledger(work)
        finished: RunEvent = ledger.finished("crashed")
        try:
            for event in here(work, self._stop(number), pace):
                ledger.observe(event)
                if isinstance(event, RunFinished):
                    finished = event
                elif live or not isinstance(event, Sampled):
                    waiting.append(event)
                    if time.perf_counter() >= due:
                        send()
        # A mistake of jaxtui must not keep the leader waiting.
        except Exception as error:
            facts: dict[str, Fact] = {"error": headline(error)}
            detail = traceback.format_exc()
            remark = Remark("run-fault", facts, "error", detail)
            *outcomes, finished = ledger.broken_off(remark)
            waiting += outcomes
        waiting.append(finished)
        send()
        if pace is not None:
            pace.close()

    def _stop(self, number: int) -> Callable[[], bool]:
        stopped, due = False, 0.0

        def stop() -> bool:
            nonlocal stopped, due
            if not stopped and (now := time.perf_counter()) >= due:
                stopped = self._store.get(path("stop", number), 0.0) is not None
                due = now + STOP_LOOK_SECONDS
            return stopped

        return stop

    def leave(self, *, again: bool) -> None:
        """Tell the leader that this process is going; any thread may."""
        self._tell(self.lost(self._place.process, "host-left"))
        self._gone()

    def give_up(self, remark: Remark) -> None:
        self._tell(remark)
        self._end(HostLost(remark=remark))

    def _tell(self, remark: Remark) -> None:
        self._store.put(path("left"), msgspec.json.encode(remark), again=True)

    def _watch(self) -> None:
        try:
            while (data := self._store.get(path("farewell"), WATCH_SECONDS)) is None:
                pass
        except Exception:
            self._end(HostLost(remark=self.lost(0, "leader-lost")))
            return
        farewell = msgspec.json.decode(data, type=Farewell)
        self._say(Dismissed(again=farewell.again))
        self._gone()
        os._exit(0)

    def _gone(self) -> None:
        self._store.put(path("gone", self._place.process), b"", again=True)
