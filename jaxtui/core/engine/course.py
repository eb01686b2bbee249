"""A work on its way through all processes.

Cases of one process are timed by it: by processes on different machines at the same
time, by those that share a machine one after the other. Then come the cases of devices
of several processes, which these time in step while all others wait. Process 0 gathers
what came of it, and tells all: whoever goes on with another work goes on with the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import msgspec
from msgspec.structs import replace

from jaxtui.core.engine.active import Ledger
from jaxtui.core.engine.cluster import path
from jaxtui.core.engine.hosts import LOOK_SECONDS, Hosts, Part
from jaxtui.core.engine.lockstep import Lockstep
from jaxtui.core.engine.protocol import encode
from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Check,
    CheckRead,
    Experiment,
    LoopSeen,
    PhaseMeasured,
    PhaseStarted,
    ProcessWarmedUp,
    Progress,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Sampled,
    Work,
)
from jaxtui.tasks.errors import headline
from jaxtui.timing.pace import ALONE, Pace

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

Here = Callable[[Work, Callable[[], bool], Pace], Iterator[RunEvent]]
"""Runs a work in this process until it is to stop, in step with others."""


def run(
    hosts: Hosts, work: Work, stop: Callable[[], bool], here: Here
) -> Iterator[RunEvent]:
    """Do this process's part of a work on which all agree, and tell what all did.

    Args:
        hosts: this process among the others.
        work: what to do.
        stop: whether it is to end.
        here: does a part in this process.
    """
    course = _Course(hosts, work, stop)
    try:
        yield from course.events(here)
    # The others would wait for ever; what ended one of them is told by jaxlib.
    except Exception as error:
        hosts.fail(error)
    hosts.end_work()
    yield from course.results


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
        """By case: its phases so far."""
        self._outcomes: list[RunEvent] = []
        """The outcomes of all, as process 0 has them."""
        self.results: list[RunEvent] = []
        """The events to yield when all have done their parts."""
        self._parts = hosts.split(work)

    def events(self, here: Here) -> Iterator[RunEvent]:
        """Yield the events of this process, and in process 0 those of the others."""
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

    def _do(self, part: Part, turns: int, here: Here, pace: Pace) -> Iterator[RunEvent]:
        """Do one part, with its share of a budget that was typed."""
        work = part.work
        typed = getattr(work, "budget_seconds", None)
        if typed is not None and isinstance(work, (Experiment, Check)):
            work = replace(work, budget_seconds=typed / turns)
        ledger = Ledger(work)
        try:
            for event in here(work, self._stop if pace.decides else _never, pace):
                ledger.observe(event)
                yield from self._tell(part, event)
        # A mistake of jaxtui costs its case; in step, the others would wait for ever.
        except Exception as error:
            pace.fail(error)
            remark = Remark("fault", {"error": headline(error)}, "error")
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
                for sent in (*before, event):
                    yield from self._take_in(sent, again=sent is not event)
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
        self.results.append(
            RunFinished(
                outcome="cancelled" if self._stop() else "complete",
                elapsed_seconds=time.perf_counter() - self._began,
            )
        )
        outcomes = [
            _without_samples(event) for event in (*self._outcomes, *self.results)
        ]
        self._store.put(self._key("result"), encode(outcomes))

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
    """Drop the samples, which are not sent to the other processes."""
    if not isinstance(event, CaseMeasured):
        return event
    measurement = replace(event.measurement, samples=msgspec.UNSET)
    return replace(event, measurement=measurement)
