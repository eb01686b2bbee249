"""Engines on several hosts that work as one: process 0 leads, the others follow.

All go through JAX's key-value store (``measure.hosts``). The leader publishes each task
under the next number; followers wait for that with a time limit, do their part of it
and put what it yields where the leader reads it. A case of one device is timed by the
process that has it: processes on machines of their own at the same time, those that
share a machine one after the other. A case of devices of several processes is run by
all of these in step (``measure.pace``). Idle processes sit in no collective.

A thread of each waits for the one key that ends it: that the leader needs it no longer,
or that a follower has gone.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import Any, TypeVar, Union

import jax
import msgspec
from msgspec.structs import replace

from jaxtui.engine.active import Ledger
from jaxtui.machine.hardware import read_text
from jaxtui.machine.hosts import heartbeat_seconds
from jaxtui.measure.errors import RefusedError, headline
from jaxtui.measure.hosts import Store
from jaxtui.measure.pace import Pace
from jaxtui.model import (
    HOST,
    Arrival,
    Case,
    CaseFailed,
    Check,
    CheckRead,
    Device,
    Dismissed,
    EngineFailed,
    Event,
    Experiment,
    Fact,
    Failure,
    Following,
    Host,
    HostLost,
    LinkMeasured,
    Links,
    Member,
    Place,
    Plan,
    Progress,
    Record,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Sampled,
    Work,
)
from jaxtui.model.machine import members

EXIT_ALONE = 4
"""The exit status of an engine whose others have gone."""

WAIT_SECONDS = 1.0
"""For what is about to come, over and over."""

TASK_SECONDS = 10.0
"""Of a follower that waits for the next task, over and over: each wait is a message."""

WATCH_SECONDS = 60.0
"""Of the thread that waits for the end."""

HARVEST_SECONDS = 0.1
"""How often the leader looks for what others have measured, between its own turns."""

STOP_LOOK_SECONDS = 0.1
"""How often a follower looks whether a task is to stop."""

SEND_SECONDS = 0.2
"""How often a follower sends what it has measured, with up to ``LIVE`` processes."""

LIVE = 64
"""With more processes nobody looks at each turn of each device: what a turn yields is
sent no more, and all else less often, so that the leader gets as many messages."""

ENTER_HEARTBEATS = 6
"""How far a process may be behind the others in a collective before it counts as
stuck. What keeps it may be a compile; gloo itself gives up after 30 s."""

LOOK_SECONDS = 0.5
"""How often it is looked for such a process."""

FAREWELL_SECONDS = 1.0
"""For followers to hear that they are needed no longer."""


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

_EVENTS = msgspec.json.Decoder(list[RunEvent])

_Value = TypeVar("_Value")

Here = Callable[[Work, Callable[[], bool], "Pace | None"], Iterator[RunEvent]]
"""Runs a work in this process until it is to stop, in step with others."""

Say = Callable[[Event], None]
"""Sends an event that belongs to no run, and waits until it is written."""


def _key(*parts: object) -> str:
    return "/".join(("jaxtui", *map(str, parts)))


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
            self._store.put(_key("arrival", me), arrival)
            data = self._store.get(_key("terms"), seconds)
            if data is None:
                raise RefusedError(_silent(0, seconds))
            terms = msgspec.json.decode(data, type=Terms)
            self.arrivals = [terms.leader]
        else:
            for process in range(1, self._place.processes):
                data = self._store.get(_key("arrival", process), seconds)
                if data is None:
                    raise RefusedError(_silent(process, seconds))
                self.arrivals.append(msgspec.json.decode(data, type=Arrival))
            remark = differences(self.arrivals)
            terms = Terms(leader=self.arrivals[0], refusal=remark)
            self._store.put(_key("terms"), msgspec.json.encode(terms))
        if terms.refusal is not None:
            # Whoever goes first takes the store with it.
            if me:
                self._store.put(_key("heard", me), b"")
            for process in range(1, 0 if me else self._place.processes):
                self._store.get(_key("heard", process), FAREWELL_SECONDS)
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

    def pace(self, number: int, processes: Sequence[int]) -> _Step | None:
        """Of a task that several processes do in step; ``None`` of one alone."""
        if len(processes) < 2:
            return None
        return _Step(self, self._store, number, processes, self._place.process)

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


# The first process.


@dataclass
class Part:
    """What one process does of a work, or several in step."""

    processes: tuple[int, ...]
    """The first of them says what came of it."""
    work: Work
    indices: tuple[int, ...] = ()
    """Of an experiment: which of its cases."""


class Leader(Hosts):
    """Process 0: what it is asked for, all do."""

    def __init__(self, store: Store, place: Place, say: Say, again: bool) -> None:
        super().__init__(store, place, say, again)
        self._tasks = 0
        self._owners: dict[str, int] = {}
        """The process of each device, by its name."""
        self._ending = False

    @property
    def _others(self) -> tuple[int, ...]:
        return tuple(range(1, self._place.processes))

    # Starting.

    def begin(self, work: Work | None) -> None:
        """Have all start their backends: each waits for the others in that."""
        self._publish(Task(to=self._others, start=True, work=work))

    def gather(
        self, host: Host, devices: Sequence[Device]
    ) -> tuple[tuple[Device, ...], tuple[Host, ...]]:
        """The devices and the hosts of all, once the backends are up.

        Args:
            host: of this process.
            devices: as this process lists them, those of others too.
        """
        hosts, known = [host], {d.name: d for d in devices if d.addressable}
        for process in self._others:
            member = self._answer(process, Member)
            if isinstance(member, EngineFailed):
                # Its own client has said why; this one says whose fault it is.
                facts: dict[str, Fact] = {
                    "process": process,
                    "hostname": self.arrivals[process].hostname,
                    "code": member.remark.code,
                }
                remark = Remark("host-not-up", facts, "error", member.remark.detail)
                raise RefusedError(remark)
            hosts.append(member.host)
            known |= {device.name: device for device in member.devices}
        self._owners = {name: one.process_index for name, one in known.items()}
        return tuple(known[d.name] for d in devices if d.name in known), tuple(hosts)

    # Working.

    def run(
        self,
        work: Work,
        stop: Callable[[], bool],
        here: Here,
    ) -> Iterator[RunEvent]:
        """Run a work on the processes whose devices it needs.

        Args:
            work: what to do.
            stop: whether it is to end.
            here: runs a work in this process.
        """
        parts = self._split(work)
        if [part.processes for part in parts] == [(0,)] and parts[0].work == work:
            yield from here(work, stop, None)
            return
        began = time.perf_counter()
        waves = self._waves(parts)
        budget = float(getattr(work, "budget", 0.0))
        if isinstance(work, Experiment):
            yield RunStarted(cases=work.cases, budget_seconds=work.share)
        else:
            yield RunStarted(budget_seconds=budget)
        if isinstance(work, Links):
            for source, target in work.pairs:
                if self._owner(source) != self._owner(target):
                    apart = Remark("link-across-hosts")
                    yield LinkMeasured(source=source, target=target, remarks=(apart,))
        for number, wave in enumerate(waves):
            if stop():
                yield from _not_run(wave)
                continue
            later = len(waves) - 1 - number
            for event in self._wave(wave, len(waves), stop, here):
                if isinstance(event, Progress):
                    rest = event.remaining_seconds + later * budget / len(waves)
                    event = replace(
                        event,
                        elapsed_seconds=time.perf_counter() - began,
                        remaining_seconds=rest,
                    )
                yield event
        yield RunFinished(
            outcome="cancelled" if stop() else "complete",
            elapsed_seconds=time.perf_counter() - began,
        )

    def _split(self, work: Work) -> list[Part]:
        """The parts of a work, in the order in which their processes come in it."""
        match work:
            case Experiment():
                indices: dict[tuple[int, ...], list[int]] = {}
                for index, case in enumerate(work.cases):
                    indices.setdefault(self._owners_of(case), []).append(index)
                return [
                    Part(
                        processes,
                        replace(work, cases=tuple(work.cases[i] for i in chosen)),
                        tuple(chosen),
                    )
                    for processes, chosen in indices.items()
                ]
            case Check() if work.test == "collectives":
                every = sorted({self._owner(name) for name in work.devices})
                return [Part(tuple(every), work)]
            case Check():
                names: dict[int, list[str]] = {}
                for name in work.devices:
                    names.setdefault(self._owner(name), []).append(name)
                return [
                    Part((process,), replace(work, devices=tuple(chosen)))
                    for process, chosen in names.items()
                ]
            case Links():
                pairs: dict[int, list[tuple[str, str]]] = {}
                for pair in work.pairs:
                    process = self._owner(pair[0])
                    if process == self._owner(pair[1]):
                        pairs.setdefault(process, []).append(pair)
                return [
                    Part((process,), replace(work, pairs=tuple(chosen)))
                    for process, chosen in pairs.items()
                ]
            case _:
                of_one = getattr(work, "case", work)
                return [Part((self._owner(getattr(of_one, "device", None)),), work)]

    def _owner(self, device: str | None) -> int:
        """Whose a device is; what has none is done here."""
        return 0 if device in (None, HOST) else self._owners.get(device or "", 0)

    def _owners_of(self, case: Case) -> tuple[int, ...]:
        """The processes of a case; one alone where it may not reach beyond that."""
        found = sorted({self._owner(name) for name in members(case.device)})
        return tuple(found)

    def _waves(self, parts: Sequence[Part]) -> list[list[Part]]:
        """Which parts run at the same time: those of different machines.

        What several processes do in step is done while all others are idle.
        """
        queues: dict[str, list[Part]] = {}
        for part in parts:
            if len(part.processes) == 1:
                machine = self.arrivals[part.processes[0]].boot
                queues.setdefault(machine, []).append(part)
        most = max(map(len, queues.values()), default=0)
        waves = [
            [queue[number] for queue in queues.values() if number < len(queue)]
            for number in range(most)
        ]
        return [*waves, *([part] for part in parts if len(part.processes) > 1)]

    def _wave(
        self,
        wave: Sequence[Part],
        waves: int,
        stop: Callable[[], bool],
        here: Here,
    ) -> Iterator[RunEvent]:
        parts = [_with_share(part, waves) for part in wave]
        distant: list[_Distant] = []
        alone = [part for part in parts if len(part.processes) == 1]
        others = {part.processes[0]: part for part in alone if part.processes != (0,)}
        if others:
            number = self._publish_apart(
                Task(to=part.processes, work=part.work) for part in others.values()
            )
            distant = [_Distant(self._store, number, part) for part in others.values()]
        together: dict[int, _Step | None] = {}
        for place, part in enumerate(parts):
            if len(part.processes) > 1:
                number = self._publish(Task(to=part.processes, work=part.work))
                if part.processes[0]:
                    distant.append(_Distant(self._store, number, part))
                else:
                    together[place] = self.pace(number, part.processes)
        for place, part in enumerate(parts):
            if part.processes[0] == 0:
                pace = together.get(place)
                due = time.perf_counter() + HARVEST_SECONDS
                for event in here(part.work, stop, pace):
                    yield from _placed(part, event)
                    if time.perf_counter() >= due:
                        for other in distant:
                            yield from other.read(0.0)
                        due = time.perf_counter() + HARVEST_SECONDS
                if pace is not None:
                    pace.close()
        while waiting := [other for other in distant if not other.over]:
            if stop():
                for other in waiting:
                    other.stop()
            yield from waiting[0].read(HARVEST_SECONDS)
            for other in waiting[1:]:
                yield from other.read(0.0)
        for other in distant:
            other.forget()

    def plan(
        self,
        experiment: Experiment,
        here: Callable[[Experiment], Plan],
        *,
        recipes: bool,
    ) -> Plan:
        """What an experiment would need, said by those who would run it."""
        planned: dict[int, Any] = {}
        grouped = False
        parts = self._split(experiment)
        distant = [part for part in parts if part.processes[0]]
        tasks: dict[int, list[Case]] = {}
        for part in distant:
            assert isinstance(part.work, Experiment)
            tasks.setdefault(part.processes[0], []).extend(part.work.cases)
        if tasks:
            self._publish_apart(
                Task(
                    to=(process,),
                    plan=replace(experiment, cases=tuple(cases)),
                    recipes=recipes,
                )
                for process, cases in tasks.items()
            )
        plans: dict[int, Any] = {}
        for process in tasks:
            plan = self._answer(process, Plan)
            if isinstance(plan, EngineFailed):
                raise RuntimeError(plan.remark.code)
            grouped |= plan.grouped
            plans[process] = iter(plan.cases)
        for part in parts:
            assert isinstance(part.work, Experiment)
            if part.processes[0] == 0:
                plan = here(part.work)
                grouped |= plan.grouped
                found = iter(plan.cases)
            else:
                found = plans[part.processes[0]]
            planned |= {index: next(found) for index in part.indices}
        cases = tuple(planned[index] for index in range(len(experiment.cases)))
        return Plan(cases=cases, budget_seconds=experiment.budget, grouped=grouped)

    def memory(self) -> dict[str, dict[str, int] | None]:
        """Fresh memory statistics of the devices of others, by device name."""
        if self._place.processes > LIVE:
            return {}
        self._publish(Task(to=self._others, memory=True))
        found: dict[str, dict[str, int] | None] = {}
        for process in self._others:
            found |= self._answer(process, dict[str, Union[dict[str, int], None]])  # noqa: UP007
        return found

    def _publish(self, task: Task) -> int:
        number, self._tasks = self._tasks, self._tasks + 1
        self._store.put(_key("task", number), msgspec.json.encode(task))
        return number

    def _publish_apart(self, tasks: Iterable[Task]) -> int:
        """Ask each process for something else; one message more than processes."""
        every = {task.to[0]: task for task in tasks}
        for process, task in every.items():
            key = _key("own", self._tasks, process)
            self._store.put(key, msgspec.json.encode(task))
        return self._publish(Task(to=tuple(every), apart=True))

    def _answer(self, process: int, kind: Any) -> Any:
        """What a process answers to the last task: of this kind, or why not."""
        key = _key("answer", self._tasks - 1, process)
        while (data := self._store.get(key, WAIT_SECONDS)) is None:
            pass
        self._store.delete(key)
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.ValidationError:
            return msgspec.json.decode(data, type=EngineFailed)

    # Ending.

    def leave(self, *, again: bool) -> None:
        """Tell the others that they are needed no longer; any thread may."""
        if self._ending:
            return
        self._ending = True
        farewell = Farewell(again=again)
        self._store.put(_key("farewell"), msgspec.json.encode(farewell))
        end = time.monotonic() + FAREWELL_SECONDS
        for process in self._others:
            self._store.get(_key("gone", process), max(0.0, end - time.monotonic()))

    def _watch(self) -> None:
        while (data := self._store.get(_key("left"), WATCH_SECONDS)) is None:
            pass
        self.give_up(msgspec.json.decode(data, type=Remark))

    def give_up(self, remark: Remark) -> None:
        if not self._ending:
            self.leave(again=self._again)
            self._end(HostLost(remark=remark))


class _Distant:
    """A part that another process does."""

    def __init__(self, store: Store, number: int, part: Part) -> None:
        self._store, self._number, self._part = store, number, part
        self._next = 0
        self._stopping = False
        self.over = False

    def read(self, seconds: float) -> Iterator[RunEvent]:
        """What it has yielded since; waits so long for something."""
        while not self.over:
            process = self._part.processes[0]
            key = _key("part", self._number, process, self._next)
            data = self._store.get(key, seconds)
            if data is None:
                return
            self._next += 1
            seconds = 0.0
            for event in _EVENTS.decode(data):
                self.over |= isinstance(event, RunFinished)
                yield from _placed(self._part, event)

    def stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            self._store.put(_key("stop", self._number), b"", again=True)

    def forget(self) -> None:
        for name in ("part", "own", "stop"):
            self._store.delete(_key(name, self._number))


def _placed(part: Part, event: RunEvent) -> Iterator[RunEvent]:
    """An event of a part as one of the whole."""
    if isinstance(event, (RunStarted, RunFinished)):
        return
    process = part.processes[0]
    if isinstance(event, CheckRead) and event.reading.device is None and process:
        # Of a host as a whole there is one reading of each.
        what = f"{event.reading.what} of process {process}"
        event = replace(event, reading=replace(event.reading, what=what))
    index = getattr(event, "index", None)
    if index is not None and part.indices:
        event = replace(event, index=part.indices[index])
    yield event


def _with_share(part: Part, waves: int) -> Part:
    """The part with its share of a budget that was typed: waves follow each other."""
    work = part.work
    if isinstance(work, (Experiment, Check, Links)) and work.budget_seconds is not None:
        work = replace(work, budget_seconds=work.budget_seconds / waves)
    return Part(part.processes, work, part.indices)


def _not_run(wave: Sequence[Part]) -> Iterator[RunEvent]:
    """The cases of parts that were to run when the run was stopped."""
    for part in wave:
        cases: tuple[Case, ...] = ()
        if isinstance(part.work, Experiment):
            cases = part.work.cases
        for index, case in zip(part.indices, cases, strict=True):
            remark = Remark("stopped", {"before": "turn"}, "error")
            yield CaseFailed(index=index, failure=Failure(case=case, remark=remark))


# The other processes.


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
                data = self._store.get(_key("task", number), TASK_SECONDS)
            # The store is gone, and the leader with it.
            except Exception:
                self._end(HostLost(remark=self.lost(0, "leader-lost")))
                return
            if data is None:
                continue
            task = msgspec.json.decode(data, type=Task)
            if me in task.to:
                if task.apart:
                    data = self._store.get(_key("own", number, me), TASK_SECONDS)
                    task = msgspec.json.decode(data or b"", type=Task)
                yield number, task
            number += 1

    def answer(self, number: int, answer: Answer) -> None:
        key = _key("answer", number, self._place.process)
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
            key = _key("part", number, self._place.process, sent)
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
                stopped = self._store.get(_key("stop", number), 0.0) is not None
                due = now + STOP_LOOK_SECONDS
            return stopped

        return stop

    def leave(self, *, again: bool) -> None:
        """Tell the leader that this process is going; any thread may."""
        self._tell(self.lost(self._place.process, "host-left"))

    def give_up(self, remark: Remark) -> None:
        self._tell(remark)
        self._end(HostLost(remark=remark))

    def _tell(self, remark: Remark) -> None:
        self._store.put(_key("left"), msgspec.json.encode(remark), again=True)

    def _watch(self) -> None:
        try:
            while (data := self._store.get(_key("farewell"), WATCH_SECONDS)) is None:
                pass
        except Exception:
            self._end(HostLost(remark=self.lost(0, "leader-lost")))
            return
        farewell = msgspec.json.decode(data, type=Farewell)
        self._say(Dismissed(again=farewell.again))
        self._store.put(_key("gone", self._place.process), b"")
        os._exit(0)


# Several in step.


class _Step(Pace):
    """Of processes that do a task in step; the first of them decides."""

    shared = True

    def __init__(
        self,
        group: Hosts,
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
            self._store.delete(_key("step", self._number))

    def _next(self) -> str:
        self._step, self._since = self._step + 1, time.monotonic()
        if not self._decides:
            at = _key("at", self._number, self._process)
            self._store.put(at, str(self._step).encode(), again=True)
        return _key("step", self._number, self._step)

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
                at = self._store.get(_key("at", self._number, process), 0.0)
                if int(at or 0) < step and step == self._step and self._watching:
                    lost = self._group.lost(
                        process, "collective-not-entered", seconds=limit
                    )
                    self._group.give_up(lost)
