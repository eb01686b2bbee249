"""Engines on several hosts that work as one: process 0 leads, the others follow.

All go through JAX's key-value store (``measure.hosts``). Here is what both sides have
in common: how they meet, what they refuse, and the form of a task. ``leader`` and
``follower`` have the two sides, ``lockstep`` how several run a case together. Idle
processes sit in no collective.

A thread of each waits for the one key that ends it: that the leader needs it no longer,
or that a follower has gone.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from socket import gethostname
from typing import Union

import jax
import msgspec

from jaxtui.engine.lockstep import Lockstep
from jaxtui.machine.hardware import read_text
from jaxtui.measure.errors import RefusedError
from jaxtui.measure.hosts import Store, path
from jaxtui.measure.pace import Pace
from jaxtui.model import (
    Arrival,
    EngineFailed,
    Event,
    Experiment,
    Fact,
    Member,
    Place,
    Plan,
    Record,
    Remark,
    RunEvent,
    Work,
)

EXIT_ALONE = 4
"""The exit status of an engine whose others have gone."""

WATCH_SECONDS = 60.0
"""Of the thread that waits for the end."""

LIVE = 64
"""With more processes nobody looks at each turn of each device: what a turn yields is
sent no more, and all else less often, so that the leader gets as many messages."""

FAREWELL_SECONDS = 1.0
"""For followers to hear that they are needed no longer."""

REFUSED_SECONDS = 10.0
"""For all followers to tell their users why they cannot be; nobody works meanwhile."""


class Task(Record, frozen=True, kw_only=True):
    """What the leader asks for; a field that is set says what."""

    to: tuple[int, ...]
    """The processes that do it."""
    apart: bool = False
    """Each of them has a task of its own under its number."""
    start: bool = False
    """Start the backend, after the files of ``work``."""
    work: Work | None = None
    plan: Experiment | None = None
    recipes: bool = False
    memory: bool = False


class Terms(Record, frozen=True, kw_only=True):
    """What the leader answers to who has joined."""

    leader: Arrival
    refusal: Remark | None


class Farewell(Record, frozen=True, kw_only=True):
    again: bool


Answer = Union[Member, EngineFailed, Plan, dict[str, Union[dict[str, int], None]]]  # noqa: UP007

Here = Callable[[Work, Callable[[], bool], "Pace | None"], Iterator[RunEvent]]
"""Runs a work in this process until it is to stop, in step with others."""

Say = Callable[[Event], None]
"""Sends an event that belongs to no run, and waits until it is written."""


class Hosts:
    """What leader and followers have in common.

    Args:
        store: that all share.
        place: of this process.
        say: tells this side's client something, at once.
        again: the leader may form the group anew.
    """

    def __init__(self, store: Store, place: Place, say: Say, again: bool) -> None:
        self._store, self._place, self._say = store, place, say
        self._again = again
        self.arrivals: list[Arrival] = []
        """Of all processes, in their order; a follower knows the leader's."""

    def meet(self, seconds: float) -> None:
        """Tell the others of this process, and hear of theirs.

        Raises:
            RefusedError: They do not fit.
        """
        me = self._place.process
        self.arrivals = [_arrival(self._place)]
        if me:
            arrival = msgspec.json.encode(self.arrivals[0])
            self._store.put(path("arrival", me), arrival)
            data = self._store.get(path("terms"), seconds)
            if data is None:
                raise RefusedError(_silent(0, seconds))
            terms = msgspec.json.decode(data, type=Terms)
            self.arrivals = [terms.leader]
        else:
            for process in range(1, self._place.processes):
                data = self._store.get(path("arrival", process), seconds)
                if data is None:
                    raise RefusedError(_silent(process, seconds))
                self.arrivals.append(msgspec.json.decode(data, type=Arrival))
            remark = differences(self.arrivals)
            terms = Terms(leader=self.arrivals[0], refusal=remark)
            self._store.put(path("terms"), msgspec.json.encode(terms))
        if terms.refusal is not None:
            # The leader takes the store with it, and every engine that needs it.
            end = time.monotonic() + REFUSED_SECONDS
            for process in range(1, 0 if me else self._place.processes):
                self._store.get(path("gone", process), max(0.0, end - time.monotonic()))
            raise RefusedError(terms.refusal)
        threading.Thread(target=self._watch, name="hosts", daemon=True).start()

    def _watch(self) -> None:
        """Wait for what ends this process."""
        raise NotImplementedError

    def _end(self, event: Event) -> None:
        self._say(event)
        os._exit(EXIT_ALONE)

    def give_up(self, remark: Remark) -> None:
        """End this process and all others, because one of them is lost."""
        raise NotImplementedError

    def pace(self, number: int, processes: Sequence[int]) -> Lockstep | None:
        """Of a task that several processes do in step; ``None`` of one alone."""
        if len(processes) < 2:
            return None
        return Lockstep(self, self._store, number, processes, self._place.process)

    def lost(self, process: int, code: str, **facts: Fact) -> Remark:
        """That another process is lost, by its name."""
        if process == self._place.process:
            facts["hostname"] = gethostname()
        elif process < len(self.arrivals):
            facts["hostname"] = self.arrivals[process].hostname
        return Remark(code, {"process": process, **facts}, "error")


def _silent(process: int, seconds: float) -> Remark:
    facts: dict[str, Fact] = {"process": process, "seconds": seconds}
    return Remark("host-silent", facts, "error")


def differences(arrivals: Sequence[Arrival]) -> Remark | None:
    """Why these processes cannot work together."""
    first = arrivals[0]
    for other in arrivals[1:]:
        for name in ("processes", "jaxtui", "jax", "jaxlib"):
            here, there = getattr(first, name), getattr(other, name)
            if here != there:
                facts: dict[str, Fact] = {
                    "what": name,
                    "process": other.process,
                    "hostname": other.hostname,
                    "has": there,
                    "leader": first.hostname,
                    "leader_has": here,
                }
                return Remark("hosts-differ", facts, "error")
    return None


def _arrival(place: Place) -> Arrival:
    return Arrival(
        process=place.process,
        processes=place.processes,
        hostname=gethostname(),
        pid=os.getpid(),
        boot=read_text(Path("/proc/sys/kernel/random/boot_id")).strip()
        or gethostname(),
        jaxtui=str(vars(sys.modules["jaxtui"])["__version__"]),
        jax=jax.__version__,
        jaxlib=importlib.metadata.version("jaxlib"),
    )
