"""Engines on several hosts that do the same work, each its own part of it.

Every process builds the work from its own command line, and all compare a digest of it.
Each works out from the devices which part is its own. Cases of one process are timed by
it: by processes on different machines at the same time, by those that share a machine
one after the other. Then come the cases of devices of several processes, which these
time in step while all others wait. Process 0 gathers what came of it, and tells all:
whoever goes on with another work goes on with the same.

All of this goes through the key-value store of JAX's coordination service. Nothing that
is run, imported or opened comes out of it: only numbers, remarks, and the results of
cases that this process knows.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from jaxtui.engine.active import Ledger, files_of
from jaxtui.engine.protocol import encode
from jaxtui.machine.hosts import heartbeat_seconds
from jaxtui.measure.errors import headline
from jaxtui.measure.hosts import Store, path
from jaxtui.measure.pace import ALONE, Pace
from jaxtui.model import (
    HOST,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Check,
    CheckRead,
    Device,
    Event,
    Experiment,
    Fact,
    Host,
    HostLost,
    Intent,
    LinkMeasured,
    Links,
    LinksMeasured,
    LoopSeen,
    Member,
    Notice,
    PhaseMeasured,
    PhaseStarted,
    Place,
    ProcessWarmedUp,
    Progress,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Sampled,
    Terms,
    Work,
)
from jaxtui.model.hosts import HOST_GONE
from jaxtui.model.machine import members

EXIT_ALONE = 4
"""The exit status of an engine whose others have gone."""

WAIT_SECONDS = 60.0
"""For a key, over and over: each wait is a message."""

LOOK_SECONDS = 0.25
"""How often process 0 looks for what others have measured."""

GOODBYE_SECONDS = 10.0
"""For others to read the last results, which are gone with process 0."""

LEAVE_SECONDS = 1.0
"""For others to hear that process 0 breaks off."""

ENTER_HEARTBEATS = 6
"""How far a process may be behind the others in a collective before it counts as
stuck. What keeps it may be a compile; gloo itself gives up after 30 s."""

CLEAR_STEPS = 32
"""Decisions after which all have read them, and they are deleted."""

REQUEST_SECONDS = 60e-6
"""Of process 0 for a request, measured; a turn is 20 times what a decision takes."""

LIVE = (
    CaseStarted,
    LoopSeen,
    PhaseMeasured,
    PhaseStarted,
    ProcessWarmedUp,
    Progress,
    Sampled,
)
"""Events for whoever looks on, from which nothing is concluded."""

_EVENTS = msgspec.json.Decoder(list[RunEvent])

_Value = TypeVar("_Value")

Here = Callable[[Work, Callable[[], bool], Pace], Iterator[RunEvent]]
"""Runs a work in this process until it is to stop, in step with others."""


class Part(NamedTuple):
    """What one process does of a work, or several in step."""

    processes: tuple[int, ...]
    """The first of them decides, and says what came of it."""
    work: Work
    indices: tuple[int, ...] = ()
    """Of an experiment: which of its cases."""


class Hosts:
    """This process among the others.

    Args:
        store: that all share.
        place: of this process.
        terms: on which they have met.
        say: tells this side's client something, and waits until it is written.
    """

    def __init__(
        self, store: Store, place: Place, terms: Terms, say: Callable[[Event], None]
    ) -> None:
        self.store, self._say = store, say
        self.me, self.processes = place.process, place.processes
        self._others = range(1, place.processes)
        self.terms = terms
        self._owners: dict[str, int] = {}
        """The process of each device, by its name."""
        self.begun = self._done = 0
        """Works, and the start of the backends as the first of them."""
        self._stopped = -1
        """The work that is to stop, as process 0 has it."""
        self._notices = 0
        """That process 0 has sent."""
        self._gone: Notice | None = None
        """The first process that is going."""
        self._ending = False
        threading.Thread(target=self._watch, name="hosts", daemon=True).start()

    # Beginning.

    def gather(
        self, host: Host, devices: Sequence[Device]
    ) -> tuple[tuple[Device, ...], tuple[Host, ...]]:
        """The devices of all and, in process 0, their hosts.

        Args:
            host: of this process.
            devices: as this process lists them, those of others too.
        """
        self._owners = {device.name: device.process_index for device in devices}
        mine = [device for device in devices if device.addressable]
        described = {device.name: device for device in mine}
        hosts = [host]
        if self.me:
            member = Member(host=host, devices=tuple(mine))
            self.store.put(path("up", self.me), encode(member))
        else:
            for process in self._others:
                data = self.take(path("up", process))
                member = msgspec.json.decode(data, type=Member)
                hosts.append(member.host)
                described |= {
                    device.name: device
                    for device in member.devices
                    if self._owners.get(device.name) == process
                }
        self.end_work()
        known = (described.get(device.name, device) for device in devices)
        names = self.terms.hostnames
        return tuple(
            replace(each, addressable=True, hostname=names[each.process_index])
            for each in known
        ), tuple(hosts)

    def begin(self) -> None:
        """Begin a work, or the start of the backends: all need each other for it."""
        self.begun += 1
        self._heed()

    def agree(self, work: Work) -> Remark | None:
        """Begin a work, and say why not all are to do it; ``None`` where they are."""
        self.begin()
        files = tuple((file, _digest_of(file)) for file in files_of(work))
        mine = Intent(work=_digest(encode(work)), files=files)
        if self.me:
            self.store.put(path(self.begun, "intent", self.me), encode(mine))
            data = self.wait(path(self.begun, "agreed"))
            remark: Remark | None = msgspec.json.decode(data, type=Remark | None)
        else:
            remark = None
            for process in self._others:
                data = self.take(path(self.begun, "intent", process))
                intent = msgspec.json.decode(data, type=Intent)
                remark = remark or self._difference(mine, intent, process)
            # By now all have read what came of the last work.
            self.store.delete(path(self.begun - 1))
            self.store.put(path(self.begun, "agreed"), encode(remark))
        if remark is not None:
            self.end_work()
        return remark

    def end_work(self) -> None:
        """Note that nobody is needed until the next work begins."""
        self._done = self.begun

    def _difference(self, mine: Intent, other: Intent, process: int) -> Remark | None:
        if other.work != mine.work:
            return self.lost(process, "works-differ")
        for (file, here), (_, there) in zip(mine.files, other.files, strict=True):
            if here != there:
                facts: dict[str, Fact] = {"file": file, "missing": not there}
                return self.lost(process, "file-differs", **facts)
        return None

    # Working.

    def run(
        self, work: Work, stop: Callable[[], bool], here: Here
    ) -> Iterator[RunEvent]:
        """Do this process's part of a work on which all agree, and tell what all did.

        Args:
            work: what to do.
            stop: whether it is to end.
            here: does a part in this process.
        """
        course = _Course(self, work, stop)
        try:
            yield from course.events(here)
        # The others would wait for ever; what ended one of them is told by jaxlib.
        except Exception as error:
            self.fail(error)
        self.end_work()
        yield from course.results

    def split(self, work: Work) -> list[Part]:
        """The parts of a work, in the order in which their processes come in it."""
        match work:
            case Experiment():
                indices: dict[tuple[int, ...], list[int]] = {}
                for index, case in enumerate(work.cases):
                    owners = {self.owner(name) for name in members(case.device)}
                    indices.setdefault(tuple(sorted(owners)), []).append(index)
                return [
                    Part(
                        processes,
                        replace(work, cases=tuple(work.cases[i] for i in chosen)),
                        tuple(chosen),
                    )
                    for processes, chosen in indices.items()
                ]
            case Check() if work.test == "collectives":
                every = sorted({self.owner(name) for name in work.devices})
                return [Part(tuple(every), work)]
            case Check():
                names: dict[int, list[str]] = {}
                for name in work.devices:
                    names.setdefault(self.owner(name), []).append(name)
                return [
                    Part((process,), replace(work, devices=tuple(chosen)))
                    for process, chosen in names.items()
                ]
            case Links():
                pairs: dict[int, list[tuple[str, str]]] = {}
                for pair in work.pairs:
                    process = self.owner(pair[0])
                    if process == self.owner(pair[1]):
                        pairs.setdefault(process, []).append(pair)
                return [
                    Part((process,), replace(work, pairs=tuple(chosen)))
                    for process, chosen in pairs.items()
                ]
            case _:
                of_one = getattr(work, "case", work)
                return [Part((self.owner(getattr(of_one, "device", None)),), work)]

    def owner(self, device: str | None) -> int:
        """Whose a device is; what has none is done by process 0."""
        return 0 if device in (None, HOST) else self._owners.get(device or "", 0)

    # The store.

    def wait(self, key: str) -> bytes:
        """The value of a key, however long that takes."""
        while (data := self.store.get(key, WAIT_SECONDS)) is None:
            pass
        return data

    def take(self, key: str) -> bytes:
        """The value of a key that is meant for this process alone."""
        data = self.wait(key)
        self.store.delete(key)
        return data

    # At any time.

    def stop_others(self) -> None:
        """As process 0: have the work end in all."""
        self._notify(Notice(done=self._done))

    @property
    def stopped(self) -> bool:
        """Whether process 0 has ended the work."""
        return self._stopped == self._done < self.begun

    def lost(self, process: int, code: str, **facts: Fact) -> Remark:
        """That something is wrong with a process, by its name."""
        facts |= {"process": process, "hostname": self.terms.hostnames[process]}
        return Remark(code, facts, "error")

    def not_up(self, code: str) -> Remark:
        """That JAX did not start in this process, with the code of why."""
        return self.lost(self.me, "host-not-up", why=code)

    def leave(self, remark: Remark | None = None) -> None:
        """Tell the others that this process is going, and why; any thread may."""
        if self._ending:
            return
        self._ending = True
        notice = Notice(done=self._done, lost=remark or self.lost(self.me, "host-left"))
        if self.me:
            self.store.put(path("left"), encode(notice), again=True)
            self.store.put(path("gone", self.me), b"", again=True)
            return
        self._notify(notice)
        limit = LEAVE_SECONDS
        if remark is None and self._done == self.begun:
            limit = GOODBYE_SECONDS
        end = time.monotonic() + limit
        for process in self._others:
            self.store.get(path("gone", process), max(0.0, end - time.monotonic()))

    def give_up(self, remark: Remark) -> None:
        """End this process and all others, because one of them is lost."""
        self.leave(remark)
        self._say(HostLost(remark=remark))
        os._exit(EXIT_ALONE)

    def fail(self, error: BaseException) -> None:
        """End all, because this process cannot go on."""
        # What a dead process leaves of a collective is an error as well, and which one
        # it was the heartbeat tells: jaxlib ends this process then.
        time.sleep(heartbeat_seconds(os.environ) + LOOK_SECONDS)
        self.give_up(self.lost(self.me, "collective-broken", error=headline(error)))

    def _notify(self, notice: Notice) -> None:
        self.store.put(path("notice", self._notices), encode(notice))
        self._notices += 1

    def _watch(self) -> None:
        """Take note of what others say at any time: all that process 0 says, or who
        leaves it.
        """
        try:
            while True:
                if self.me:
                    data = self.wait(path("notice", self._notices))
                    self._notices += 1
                else:
                    data = self.take(path("left"))
                notice = msgspec.json.decode(data, type=Notice)
                if notice.lost is None:
                    self._stopped = notice.done
                elif notice.lost.code not in HOST_GONE:
                    continue  # whoever has sent that
                elif self._gone is None or notice.done < self._gone.done:
                    self._gone = notice
                self._heed()
        # The store is gone, and process 0 with it.
        except Exception:
            self._say(HostLost(remark=self.lost(0, "leader-lost")))
            os._exit(EXIT_ALONE)

    def _heed(self) -> None:
        """End where a process is going that this one still needs."""
        gone = self._gone
        if gone and gone.lost and self.begun > gone.done and not self._ending:
            self.give_up(gone.lost)


class _Course:
    """A work on its way through all processes."""

    def __init__(self, hosts: Hosts, work: Work, stop: Callable[[], bool]) -> None:
        self._hosts, self._store, self._work = hosts, hosts.store, work
        self._me, self._number = hosts.me, hosts.begun
        self._asked, self._told_all = stop, False
        self._began = time.perf_counter()
        self._budget = (
            work.share
            if isinstance(work, Experiment)
            else float(getattr(work, "budget", 0.0))
        )
        self._due = 0.0
        self._sent = 0
        self._running = {*range(hosts.processes)} - {0}
        """The other processes that have not done their parts."""
        self._phases: dict[int, tuple[RunEvent, ...]] = {}
        """By case: how far it has come."""
        self._remarks: dict[str, Remark] = {}
        """On the links of all, by their codes."""
        self._outcomes: list[RunEvent] = []
        """Of all, as process 0 has them."""
        self.results: list[RunEvent] = []
        """What is left to be yielded when all have done their parts."""
        self._parts = hosts.split(work)

    def events(self, here: Here) -> Iterator[RunEvent]:
        """What this process does, and in process 0 what came of it elsewhere."""
        hosts, me = self._hosts, self._me
        cases = self._work.cases if isinstance(self._work, Experiment) else ()
        yield RunStarted(cases=cases, budget_seconds=self._budget)
        alone = [part for part in self._parts if len(part.processes) == 1]
        together = [part for part in self._parts if len(part.processes) > 1]
        queues: dict[int, list[int]] = {}
        for part in alone:
            machine = hosts.terms.machines[part.processes[0]]
            queues.setdefault(machine, []).append(part.processes[0])
        turns = max(map(len, queues.values()), default=0) + len(together)
        if not me:
            yield from self._apart()
        for part in alone:
            if part.processes != (me,):
                continue
            queue = queues[hosts.terms.machines[me]]
            place = queue.index(me)
            if place:
                yield from self._until(lambda: hosts.take(self._key("turn", me)))
            yield from self._do(part, turns, here, ALONE)
            if place + 1 < len(queue):
                self._store.put(self._key("turn", queue[place + 1]), b"")
        for place, part in enumerate(together):
            if alone or place:
                barrier = self._key("barrier", place)
                yield from self._until(partial(self._store.meet, barrier))
            if me in part.processes:
                pace = Lockstep(hosts, self._key("step", place), part.processes)
                yield from self._do(part, turns, here, pace)
        yield from self._gather()

    def _apart(self) -> Iterator[RunEvent]:
        if isinstance(self._work, Links):
            for source, target in self._work.pairs:
                if self._hosts.owner(source) != self._hosts.owner(target):
                    remarks = (Remark("link-across-hosts"),)
                    yield from self._take_in(
                        LinkMeasured(source=source, target=target, remarks=remarks)
                    )

    def _do(self, part: Part, turns: int, here: Here, pace: Pace) -> Iterator[RunEvent]:
        """Do one part, with its share of a budget that was typed."""
        work = part.work
        typed = getattr(work, "budget_seconds", None)
        if typed is not None and isinstance(work, (Experiment, Check, Links)):
            work = replace(work, budget_seconds=typed / turns)
        ledger = Ledger(work)
        try:
            for event in here(work, self._stop if pace.decides else _never, pace):
                ledger.observe(event)
                yield from self._tell(part, event)
        # A mistake of jaxtui costs its case; in step, the others would wait for ever.
        except Exception as error:
            pace.fail(error)
            remark = Remark("run-fault", {"error": headline(error)}, "error")
            for event in ledger.broken_off(remark):
                yield from self._tell(part, event)
        if isinstance(pace, Lockstep):
            pace.close()

    def _tell(self, part: Part, event: RunEvent) -> Iterator[RunEvent]:
        """Yield what is live, and have process 0 know what came of the part."""
        if isinstance(event, (RunStarted, RunFinished)):
            return
        index: int | None = getattr(event, "index", None)
        if index is not None and part.indices:
            event = replace(event, index=part.indices[index])
        if isinstance(event, CaseStarted):
            self._phases[event.index] = (event,)
        elif isinstance(event, PhaseStarted):
            self._phases[event.index] = (*self._phases[event.index][:1], event)
        if isinstance(event, Progress):
            elapsed = time.perf_counter() - self._began
            event = replace(event, elapsed_seconds=elapsed)
        if isinstance(event, LIVE):
            yield event
        elif part.processes[0] == self._me:
            # Of a case that has failed all are to know how far it had come.
            before = (
                self._phases.get(event.index, ())
                if isinstance(event, CaseFailed)
                else ()
            )
            event = self._named(event, self._me)
            if self._me:
                self._send([*before, event])
            else:
                for each in (*before, event):
                    yield from self._take_in(each, again=each is not event)
        if not self._me and time.perf_counter() >= self._due:
            yield from self._harvest()

    def _send(self, events: list[RunEvent]) -> None:
        key = self._key("outcome", self._me, self._sent)
        self._store.put(key, encode(events))
        self._sent += 1

    # As process 0.

    def _harvest(self) -> Iterator[RunEvent]:
        """Read what others have measured; one message unless there is something."""
        self._due = time.perf_counter() + LOOK_SECONDS
        self._stop()
        for key, data in self._store.under(self._key("outcome")):
            self._store.delete(key)
            process = int(key.split("/")[-2])
            for event in _EVENTS.decode(data):
                if isinstance(event, RunFinished):
                    self._running.discard(process)
                elif (checked := self._checked(event, process)) is not None:
                    yield from self._take_in(checked)

    def _checked(self, event: RunEvent, process: int) -> RunEvent | None:
        """An event of another process, of a case that is its part; with the case as
        this process knows it.
        """
        index: int | None = getattr(event, "index", None)
        if index is not None:
            parts = [p for p in self._parts if p.processes[0] == process]
            if not any(index in part.indices for part in parts):
                return None
        event = self._named(_as_known(self._work, event), process)
        if isinstance(event, CheckRead) and event.reading.device is None:
            # Of a host as a whole there is one reading of each.
            what = f"{event.reading.what} of process {process}"
            return replace(event, reading=replace(event.reading, what=what))
        return event

    def _named(self, event: RunEvent, process: int) -> RunEvent:
        """An event with the name of the host on which it was measured."""
        if not isinstance(event, CaseMeasured):
            return event
        name = self._hosts.terms.hostnames[process]
        return replace(event, measurement=replace(event.measurement, hostname=name))

    def _take_in(self, event: RunEvent, *, again: bool = False) -> Iterator[RunEvent]:
        """Take in what came of a part; ``again`` where it was yielded before."""
        if isinstance(event, LinksMeasured):
            for remark in event.remarks:
                self._remarks.setdefault(remark.code, remark)
            return
        self._outcomes.append(event)
        if not again:
            yield event

    def _stop(self) -> bool:
        stop = self._asked() or self._hosts.stopped
        if stop and not self._me and not self._told_all:
            self._told_all = True
            self._hosts.stop_others()
        return stop

    # In the end.

    def _gather(self) -> Iterator[RunEvent]:
        elapsed = time.perf_counter() - self._began
        if self._me:
            over = RunFinished(outcome="complete", elapsed_seconds=elapsed)
            self._send([over])
            key = self._key("result")
            data: list[bytes] = []
            yield from self._until(lambda: data.append(self._hosts.wait(key)))
            events = _EVENTS.decode(data[0])
            self.results = [_as_known(self._work, event) for event in events]
            return
        while True:
            yield from self._harvest()
            if not self._running:
                break
            yield self._waiting()
            time.sleep(LOOK_SECONDS)
        if isinstance(self._work, Links):
            self.results.append(LinksMeasured(remarks=tuple(self._remarks.values())))
        self.results.append(
            RunFinished(
                outcome="cancelled" if self._stop() else "complete",
                elapsed_seconds=time.perf_counter() - self._began,
            )
        )
        told = [_without_samples(event) for event in (*self._outcomes, *self.results)]
        self._store.put(self._key("result"), encode(told))

    def _until(self, wait: Callable[[], object]) -> Iterator[RunEvent]:
        """Wait for another process, with a sign of life now and then."""
        fault: list[Exception] = []

        def work() -> None:
            try:
                wait()
            except Exception as error:
                fault.append(error)

        thread = threading.Thread(target=work, name="wait", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(LOOK_SECONDS)
            if not self._me:
                yield from self._harvest()
            if time.perf_counter() >= self._due:
                yield self._waiting()
                self._due = time.perf_counter() + 4 * LOOK_SECONDS
        for error in fault:
            raise error

    def _waiting(self) -> Progress:
        elapsed = time.perf_counter() - self._began
        first = min(self._running, default=0)
        name = self._hosts.terms.hostnames[first]
        return Progress(
            elapsed_seconds=elapsed,
            remaining_seconds=max(0.0, self._budget - elapsed),
            doing="other-hosts",
            about="" if self._me else f"process {first} ({name})",
        )

    def _key(self, *parts: object) -> str:
        return path(self._number, *parts)


def _never() -> bool:
    return False


def _as_known(work: Work, event: RunEvent) -> RunEvent:
    """An event that another process has sent, of a case as it is in the work."""
    index: int | None = getattr(event, "index", None)
    if index is None or not isinstance(work, Experiment):
        return event
    case = work.cases[index]
    if isinstance(event, CaseMeasured):
        # A function of a file has size and dtype only once it was called.
        there = event.measurement.case
        case = replace(case, size=there.size, dtype=there.dtype)
        return replace(event, measurement=replace(event.measurement, case=case))
    if isinstance(event, CaseFailed):
        return replace(event, failure=replace(event.failure, case=case))
    return replace(event, case=case) if isinstance(event, CaseStarted) else event


def _without_samples(event: RunEvent) -> RunEvent:
    """What is printed once is sent to nobody."""
    if not isinstance(event, CaseMeasured):
        return event
    measurement = replace(event.measurement, samples=msgspec.UNSET)
    return replace(event, measurement=measurement)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of(file: str) -> str:
    try:
        return _digest(Path(file).read_bytes())
    except OSError:
        return ""


class Lockstep(Pace):
    """Of processes that do a part in step; the first of them decides."""

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
        found: _Value = msgspec.json.decode(self._hosts.wait(key), type=kind)
        return found

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
        told = -1
        while self._watching:
            time.sleep(LOOK_SECONDS)
            step, seconds = self._step, time.monotonic() - self._since
            if not self.decides:
                if seconds >= limit / 2 and told != step:
                    at = f"{self._key}/at/{self._me}"
                    self._store.put(at, str(step).encode(), again=True)
                    told = step
                continue
            if seconds < limit:
                continue
            for process in self._others:
                data = self._store.get(f"{self._key}/at/{process}", 0.0)
                behind = data is not None and int(data) < step
                if behind and step == self._step and self._watching:
                    code = "collective-not-entered"
                    self._hosts.give_up(self._hosts.lost(process, code, seconds=limit))
