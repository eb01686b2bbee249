"""Process 0 of several: what it is asked for, all do.

The leader publishes each task under the next number and reads what the others yield. A
case of one device is timed by the process that has it: processes on machines of their
own at the same time, those that share a machine one after the other. A case of devices
of several processes is run by all of these in step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Union

import msgspec
from msgspec.structs import replace

from jaxtui.engine.hosts import (
    FAREWELL_SECONDS,
    LIVE,
    WATCH_SECONDS,
    Farewell,
    Here,
    Hosts,
    Say,
    Task,
)
from jaxtui.engine.lockstep import WAIT_SECONDS, Lockstep
from jaxtui.measure.errors import RefusedError
from jaxtui.measure.hosts import Store, path
from jaxtui.model import (
    HOST,
    Case,
    CaseFailed,
    Check,
    CheckRead,
    Device,
    EngineFailed,
    Experiment,
    Fact,
    Failure,
    Host,
    HostLost,
    LinkMeasured,
    Links,
    LinksMeasured,
    Member,
    Place,
    Plan,
    Progress,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Work,
)
from jaxtui.model.machine import members

HARVEST_SECONDS = 0.1
"""How often the leader looks for what others have measured, between its own turns."""

_EVENTS = msgspec.json.Decoder(list[RunEvent])


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
        remarks: dict[str, Remark] = {}
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
                if isinstance(event, LinksMeasured):
                    for remark in event.remarks:
                        remarks.setdefault(remark.code, remark)
                else:
                    yield event
        if isinstance(work, Links):
            yield LinksMeasured(remarks=tuple(remarks.values()))
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
        together: dict[int, Lockstep | None] = {}
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
        self._store.put(path("task", number), msgspec.json.encode(task))
        return number

    def _publish_apart(self, tasks: Iterable[Task]) -> int:
        """Ask each process for something else; one message more than processes."""
        every = {task.to[0]: task for task in tasks}
        for process, task in every.items():
            key = path("own", self._tasks, process)
            self._store.put(key, msgspec.json.encode(task))
        return self._publish(Task(to=tuple(every), apart=True))

    def _answer(self, process: int, kind: Any) -> Any:
        """What a process answers to the last task: of this kind, or why not."""
        key = path("answer", self._tasks - 1, process)
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
        self._store.put(path("farewell"), msgspec.json.encode(farewell))
        end = time.monotonic() + FAREWELL_SECONDS
        for process in self._others:
            self._store.get(path("gone", process), max(0.0, end - time.monotonic()))

    def _watch(self) -> None:
        while (data := self._store.get(path("left"), WATCH_SECONDS)) is None:
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
            key = path("part", self._number, process, self._next)
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
            self._store.put(path("stop", self._number), b"", again=True)

    def forget(self) -> None:
        for name in ("part", "own", "stop"):
            self._store.delete(path(name, self._number))


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
