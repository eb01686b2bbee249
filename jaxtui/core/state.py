"""The state of an engine and its runs: one immutable record, which events change.

Whoever asks for a run says what it is for (``begin_run``), and what an engine tells of
it is folded in (``reduce``). Both are pure: a session calls them, and screens, commands
and the API read the same record.

A *work* is what an engine can be asked for, a *run* is one time that it does it, a
*job* is what is known of a run, and a *series* is works that follow from one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from jaxtui.core import processes
from jaxtui.core.engine import startup
from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.history.store import Entry
from jaxtui.core.model import (
    PHASES,
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Check,
    Device,
    Ending,
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Failure,
    Hello,
    Host,
    Inspected,
    Inspection,
    Joining,
    Logged,
    Loop,
    LoopCall,
    LoopMeasured,
    LoopSeen,
    Measurement,
    Memory,
    Noticed,
    OpInfo,
    PhaseMeasured,
    Phases,
    PhaseStarted,
    Profile,
    Profiling,
    Progress,
    Ready,
    Remark,
    Roofs,
    RoofsMeasured,
    RunFinished,
    RunStarted,
    Sampled,
    Waiting,
    Work,
    WorkFailed,
)
from jaxtui.core.model.hosts import HOST_GONE
from jaxtui.core.model.machine import members
from jaxtui.core.processes import Repetition
from jaxtui.core.trace import Trace
from jaxtui.machine import messages
from jaxtui.machine.findings import merge

MAXIMUM_LOG_LINES = 1_000

RUNNING = Remark("running")
"""The refusal of a second run."""

Purpose = Literal[
    "bench",
    "loop",
    "lesson",
    "check",
    "crossover",
    "inspection",
    "roofs",
    "links",
    "profile",
]
"""The purpose of a run: cases, the timeline, a lesson, a test of the check, a run of a
crossover, the stages of a case in XLA, the roofs of a device, links, or a profile."""

Topic = Literal["machine", "run", "key"]
"""The subject of a message, with which it ends: the machine, its engine and files
written, until a run begins; the current run, until that has ended; the answer to a key,
until the next key, and until a run begins or ends or the engine is up."""

EngineStatus = Literal["starting", "ready", "running", "released", "failed"]

CaseStatus = Literal["waiting", "running", "done", "failed", "not run"]
"""``not run``: refused, or the run ended before its turn."""

_AnyState = TypeVar("_AnyState", bound="State")


class CaseState(msgspec.Struct, frozen=True):
    case: Case
    status: CaseStatus = "waiting"
    doing: str = ""
    """The phase, e.g. ``compile``; ``sampling`` during rounds."""
    phases: Phases = msgspec.field(default_factory=Phases)
    zero_copy: frozenset[str] = frozenset()
    """The phases that copied nothing."""
    measurement: Measurement | None = None
    failure: Failure | None = None
    dispatch: Trace = msgspec.field(default_factory=Trace)
    ready: Trace = msgspec.field(default_factory=Trace)
    """The calls for the live plot."""
    rounds: tuple[float, ...] = ()
    """The median ready time of each round, seconds: cases take turns, so that what
    slows the machine down slows the rounds of one number alike."""
    ended: tuple[processes.Ended, ...] = ()
    """The results of the finished processes, where there are several: the measurement
    is of all of them."""


class Job(msgspec.Struct, frozen=True):
    """A run, whatever it is for: its request, its progress, and its results."""

    number: int
    purpose: Purpose = "bench"
    work: Work | None = None
    elapsed_seconds: float = 0.0
    remaining_seconds: float = 0.0
    doing: str = ""
    """A code, as in ``Progress``; ``starting`` between two engines."""
    about: str = ""
    outcome: Ending | None = None
    """``None`` while it runs."""
    process: int = 1
    """The number of the process among several, counted from 1."""
    first: int = 0
    """The number of the first of them; 0 of a run in one process."""
    between: bool = False
    """A process is over, or its engine died, and the next work comes."""
    before_seconds: float = 0.0
    """Seconds that the earlier processes took, with the starts of their engines."""
    past: Mapping[Case, Sequence[Measurement]] = msgspec.field(default_factory=dict)
    """Measurements of earlier runs on this machine, once read."""
    failed: WorkFailed | None = None
    """The reason why a work that is no experiment has no result."""
    cases: tuple[CaseState, ...] = ()
    """The cases of an experiment."""
    indices: tuple[int, ...] = ()
    """The indices of the cases in the running work."""
    current: int | None = None
    """Index of the case whose turn or phase it is."""
    seen: tuple[LoopCall, ...] = ()
    """The calls of a loop that are known so far."""
    printed: tuple[str, ...] = ()
    """Lines that XLA, libtpu or Python printed meanwhile."""
    result: LoopMeasured | Inspected | RoofsMeasured | Profile | None = None
    """The result of another work; for roofs those measured so far."""

    @property
    def reported(self) -> bool:
        """True once the engine has reported its progress."""
        return bool(self.elapsed_seconds or self.remaining_seconds)

    @property
    def limited(self) -> bool:
        """True if it has a budget that says how long it takes."""
        return not isinstance(self.work, (Check, Inspection, Profiling))

    @property
    def preparing(self) -> str:
        """The phase for which the budget waits; empty where there is none."""
        if self.current is None or not isinstance(self.work, Experiment):
            return ""
        doing = self.cases[self.current].doing
        waits = doing in ("import", "inputs", *PHASES)
        return doing if waits else ""

    @property
    def origin(self) -> int:
        """The number of the first run of several processes, which the others share."""
        return self.first or self.number

    @property
    def processes(self) -> int:
        """The number of processes that run it, one after the other."""
        return self.work.processes if isinstance(self.work, Experiment) else 1

    @property
    def later_seconds(self) -> float:
        """The budget of the processes after this one."""
        if not isinstance(self.work, Experiment):
            return 0.0
        return (self.processes - self.process) * self.work.share

    @property
    def share(self) -> float:
        """The elapsed fraction of its time, 0 to 1; 0 until the engine has reported."""
        whole = self.elapsed_seconds + self.remaining_seconds
        return self.elapsed_seconds / whole if whole else 0.0


class Series(Protocol):
    """Works that follow from what the ones before have shown, and all they yielded.

    An immutable record: a check, a step of a lesson, the search for a crossover.
    """

    @property
    def next_work(self) -> Work | None:
        """Return the next work; ``None`` while something runs, and at the end."""

    @property
    def limit_seconds(self) -> float | None:
        """Return the seconds that the running work, or the next, may take."""

    def observe(self, event: Event) -> Series:
        """The series after one event of the run of its work."""

    def overdue(self) -> Series:
        """The work has passed its limit and is about to be ended."""

    def stopped(self) -> Series:
        """The user has ended it; what arrived stays."""

    def lost(self, why: Remark) -> Series:
        """End the series without an engine; what arrived stays."""


class State(msgspec.Struct, frozen=True):
    """An engine, the last run of each purpose, and the last series of each."""

    engine: EngineStatus = "starting"
    generation: int = 0
    host: Host | None = None
    hosts: tuple[Host, ...] = ()
    """The host of each process, where the engine works with others."""
    devices: tuple[Device, ...] = ()
    """The devices for which work can be requested, of other processes too."""
    process: int = 0
    """The number of this process, where it has joined others: the first prints."""
    ops: tuple[OpInfo, ...] = ()
    findings: tuple[Remark, ...] = ()
    """The findings about the machine, the worst first."""
    start: startup.Start = startup.NOTHING
    """The progress of the newest engine's start."""
    failed: EngineFailed | None = None
    purpose: Purpose = "bench"
    """The purpose of the current run, or else of the last one."""
    jobs: Mapping[Purpose, Job] = msgspec.field(
        default_factory=lambda: MappingProxyType({})
    )
    series: Mapping[Purpose, Series] = msgspec.field(
        default_factory=lambda: MappingProxyType({})
    )
    playing: Purpose | None = None
    """The current series, also between two of its works."""
    played_seconds: float = 0.0
    """Seconds that the works of that series have taken."""
    pending: bool = False
    """A run was asked for that has not begun: its engine comes up first."""
    stopping: bool = False
    """The user has asked for the end of the current run."""
    log: tuple[str, ...] = ()
    message: Remark | str = ""
    """The message of the engine or the last action; a text is a screen's own."""
    topic: Topic = "machine"
    """The subject of the message."""

    @property
    def job(self) -> Job | None:
        """The current run."""
        job = self.jobs.get(self.purpose)
        return None if job is None or job.outcome is not None else job

    @property
    def running(self) -> bool:
        return self.job is not None

    @property
    def busy(self) -> bool:
        """True if a run is current, or about to begin."""
        return self.running or self.pending or self.playing is not None

    @property
    def run(self) -> Job | None:
        return self.jobs.get("bench")

    @property
    def can_run(self) -> bool:
        """True if a run can be requested; one brings an engine that is gone back."""
        idle = self.engine in ("ready", "released", "failed")
        return idle and bool(self.devices)

    @property
    def accelerator(self) -> str | None:
        """The platform that is held, ``TPU`` or ``GPU``; ``None`` for CPU only."""
        held = {device.platform for device in self.devices} - {"cpu"}
        if self.engine not in ("ready", "running") or not held:
            return None
        return sorted(held)[0].upper()

    def refusal(self, what: Work | Literal["verdicts", "jax"]) -> Remark | None:
        """The setting of JAX that makes something meaningless.

        Args:
            what: a work, verdicts of any kind, or whatever JAX does. An experiment in
                which NumPy takes part is left to the engine, which refuses the rest.
        """
        judges = what == "verdicts" or isinstance(what, (Check, Roofs, Loop, Profiling))
        spared = isinstance(what, Experiment) and any(
            case.on_host for case in what.cases
        )
        for remark in self.findings:
            refuses = remark.facts.get("refuses")
            if refuses and (judges or (refuses == "jax" and not spared)):
                return remark
        return None


EMPTY = State()
"""The state while the first engine starts."""


def reduce(state: _AnyState, envelope: Envelope) -> _AnyState:
    """The state after one event; events of older runs change nothing."""
    event = envelope.event
    if envelope.run is not None:
        return _run_event(state, envelope.run, event)
    if envelope.generation != state.generation:
        state = replace(state, generation=envelope.generation, start=startup.NOTHING)
    match event:
        case Hello():
            return replace(
                state,
                engine="starting",
                ops=event.ops,
                failed=None,
                start=startup.observe(state.start, event),
            )
        case Ready():
            return _ready(state, event)
        case EngineFailed():
            return say(replace(state, engine="failed", failed=event), event.remark)
        case EngineDied():
            return _engine_died(state, event)
        case Joining():
            start = startup.observe(state.start, event)
            return replace(state, start=start, process=event.place.process)
        case Noticed():
            start = startup.observe(state.start, event)
            findings = merge(event.findings, start.logged)
            return _with_findings(replace(state, start=start), findings)
        case Waiting(remark=Remark(code="engine-silent")):
            return say(state, event.remark, "run")
        case Waiting():
            remaining = [
                finding
                for finding in state.findings
                if finding.code != event.remark.code
            ]
            findings = merge(remaining, (event.remark,))
            return _with_findings(state, findings, event.remark)
        case Memory():
            devices = tuple(
                msgspec.structs.replace(
                    device, memory=event.devices.get(device.name, device.memory)
                )
                if device.addressable  # of another process there is nothing new
                else device
                for device in state.devices
            )
            return replace(state, devices=devices)
        case Logged():
            return _logged(state, event)
        case _:
            return state


def say(state: _AnyState, message: Remark | str, topic: Topic = "machine") -> _AnyState:
    """Set the message, which ends with its topic."""
    return replace(state, message=message, topic=topic)


def end_message(state: _AnyState, *topics: Topic) -> _AnyState:
    """Without a message about one of these."""
    return say(state, "") if state.message and state.topic in topics else state


def begin_run(
    state: _AnyState,
    number: int,
    purpose: Purpose,
    work: Work,
    before_seconds: float = 0.0,
) -> _AnyState:
    """The state after a run was asked for; events with its number are of it.

    Args:
        state: before.
        number: of the run.
        purpose: what it is for.
        work: what it does.
        before_seconds: since the first of several was asked for.
    """
    cases = work.cases if isinstance(work, Experiment) else ()
    job = Job(number, purpose, work, cases=tuple(map(CaseState, cases)))
    job = replace(job, indices=tuple(range(len(cases))))
    if isinstance(work, Check):  # the clock goes on from test to test
        job = replace(job, before_seconds=before_seconds)
    before, series = state.jobs.get(purpose), state.series.get(purpose)
    if before is not None and before.between and isinstance(series, Repetition):
        kept = before.cases
        if series.done == before.process:
            kept = tuple(_in_next_process(case, series.experiment) for case in kept)
        job = replace(
            before,
            number=number,
            first=before.origin,
            process=series.done + 1,
            between=False,
            before_seconds=before_seconds,
            elapsed_seconds=before_seconds,
            cases=kept,
            indices=series.left,
        )
    return _with_job(replace(state, purpose=purpose), job)


def with_past(state: _AnyState, past: Mapping[Case, Sequence[Entry]]) -> _AnyState:
    """Add the history of the last bench run's cases.

    What was measured on other hardware, with other versions or other settings says
    nothing of this machine.
    """
    job, host = state.run, state.host
    if job is None or host is None:
        return state
    kinds = {device.name: device.device_kind for device in state.devices}

    def alike(case: Case, entry: Entry) -> bool:
        kind = entry.device.device_kind if entry.device else None
        return kind == kinds.get(members(case.device)[0]) and processes.same_machine(
            host, entry.host
        )

    measurements = {
        case: [entry.measurement for entry in entries if alike(case, entry)]
        for case, entries in past.items()
    }
    cases = tuple(_with_earlier_runs(case, measurements) for case in job.cases)
    return _with_job(state, replace(job, past=measurements, cases=cases))


def _with_earlier_runs(
    state: CaseState, past: Mapping[Case, Sequence[Measurement]]
) -> CaseState:
    """Add a note where earlier runs lie outside of its interval."""
    measured = state.measurement
    if measured is None or measured.stopped is None or measured.has("earlier-runs"):
        return state
    note = processes.earlier_runs(measured, past.get(measured.case, ()))
    if note is None:
        return state
    noted = msgspec.structs.replace(measured, notes=(note, *measured.notes))
    return replace(state, measurement=noted)


def _with_job(state: _AnyState, job: Job) -> _AnyState:
    return replace(state, jobs={**state.jobs, job.purpose: job})


def with_series(state: _AnyState, purpose: Purpose, series: Series) -> _AnyState:
    return replace(state, series={**state.series, purpose: series})


# The engine.


def _ready(state: _AnyState, event: Ready) -> _AnyState:
    state = end_message(state, "key")
    # What was said of a start that takes long is over.
    if _is_transient(state.message):
        state = say(state, "")
    still = tuple(item for item in state.start.logged if not _is_transient(item))
    before = [(item.name, item.device_kind) for item in state.devices]
    now = [(item.name, item.device_kind) for item in event.devices]
    if before and before != now:  # other devices have other roofs and links
        jobs = dict(state.jobs)
        for purpose in ("roofs", "links"):
            jobs.pop(purpose, None)
        state = replace(state, jobs=jobs)
    return replace(
        _with_findings(state, merge(event.findings, still)),
        engine="running" if state.running else "ready",
        host=event.host,
        hosts=event.hosts,
        devices=event.devices,
        ops=event.ops,
        failed=None,
    )


def _is_transient(message: Remark | str) -> bool:
    return isinstance(message, Remark) and message.code in messages.TRANSIENT


def _engine_died(state: _AnyState, event: EngineDied) -> _AnyState:
    state = replace(state, engine="released", start=startup.NOTHING)
    # Of a host that is gone more is to be said than that the run is incomplete.
    lasts = state.job is None or event.remark.code in HOST_GONE
    return say(state, event.remark, "machine" if lasts else "run")


def _logged(state: _AnyState, event: Logged) -> _AnyState:
    start = startup.observe(state.start, event)
    new = start.logged[len(state.start.logged) :]
    log = (*state.log, event.line)[-MAXIMUM_LOG_LINES:]
    state = replace(state, log=log, start=start)
    if (job := state.job) is not None:
        printed = (*job.printed, event.line)[-MAXIMUM_LOG_LINES:]
        state = _with_job(state, replace(job, printed=printed))
    if not new:
        return state
    first = None if new[0].severity == "info" else new[0]
    return _with_findings(state, merge(state.findings, new), first)


def _with_findings(
    state: _AnyState, findings: tuple[Remark, ...], first: Remark | None = None
) -> _AnyState:
    """Set the findings.

    Args:
        state: what was known before.
        findings: all that are known now, the worst first.
        first: what the message line says; by default the worst, if it is new and more
            than good to know.
    """
    if first is None and findings and findings[0] not in state.findings:
        first = findings[0] if findings[0].severity != "info" else None
    state = replace(state, findings=findings)
    return state if first is None else say(state, first)


# Runs.


def _run_event(state: _AnyState, number: int, event: Event) -> _AnyState:
    job = state.job
    if job is None or job.number != number:
        return state
    if isinstance(event, RunStarted):
        state = replace(state, engine="running")
        state = state if job.first else say(state, "")
    if (
        isinstance(event, WorkFailed)
        and job.purpose == "check"
        and not event.remark.detail
    ):
        printed = "\n".join(job.printed)
        remark = msgspec.structs.replace(event.remark, detail=printed)
        event = WorkFailed(remark=remark)
    series = None
    if state.playing == job.purpose:
        series = state.series[job.purpose].observe(event)
        state = with_series(state, job.purpose, series)
    job = _job_event(job, event)
    if isinstance(event, RunFinished):
        job = _ended(job, event, series if isinstance(series, Repetition) else None)
    state = _with_job(state, job)
    if not isinstance(event, RunFinished):
        return state
    if state.playing == job.purpose:
        seconds = state.played_seconds + event.elapsed_seconds
        state = replace(state, played_seconds=seconds)
    engine = "ready" if state.engine == "running" else state.engine
    state = replace(state, engine=engine)
    return end_message(state, "key", *(() if job.between else ("run",)))


def _job_event(job: Job, event: Event) -> Job:
    match event:
        case Progress():
            return replace(
                job,
                elapsed_seconds=job.before_seconds + event.elapsed_seconds,
                remaining_seconds=event.remaining_seconds + job.later_seconds,
                doing=event.doing,
                about=event.about,
            )
        case (
            CaseStarted()
            | PhaseStarted()
            | PhaseMeasured()
            | Sampled()
            | CaseMeasured()
            | CaseFailed()
        ):
            if not 0 <= event.index < len(job.indices):
                return job
            index, cases = job.indices[event.index], [*job.cases]
            case = _case_event(cases[index], event)
            if job.processes > 1 and isinstance(job.work, Experiment):
                case = _of_processes(_with_ended(case, event), job.work)
            case = _with_earlier_runs(case, job.past)
            cases[index] = case
            return replace(job, cases=tuple(cases), current=index)
        case LoopSeen():
            return replace(job, seen=(*job.seen[: event.first], *event.calls))
        case LoopMeasured():
            return replace(job, seen=event.calls, result=event)
        case Inspected() | RoofsMeasured() | Profile():
            return replace(job, result=event)
        case WorkFailed():
            return replace(job, failed=event)
        case _:
            return job


def _ended(job: Job, event: RunFinished, series: Repetition | None) -> Job:
    """After the end of a work, which may not be the last of the run."""
    elapsed = job.before_seconds + event.elapsed_seconds
    job = replace(job, elapsed_seconds=elapsed, current=None)
    if job.between or series is None or series.over:
        incomplete = series is not None and series.dead and event.outcome == "complete"
        outcome: Ending = "crashed" if incomplete else event.outcome
        cases = tuple(_closed(case, outcome) for case in job.cases)
        return replace(job, outcome=outcome, between=False, cases=cases)
    return replace(
        job,
        between=True,
        before_seconds=elapsed,
        remaining_seconds=job.later_seconds,
        doing="starting",
        about="",
    )


def _closed(state: CaseState, outcome: Ending) -> CaseState:
    """A case whose run has ended before it: what had arrived stays."""
    measured = state.measurement
    if outcome == "complete" or state.status not in ("waiting", "running"):
        return state
    if measured is None or measured.ready is None:
        return replace(state, status="not run")
    measured = msgspec.structs.replace(
        measured, stopped=measured.stopped or outcome, stable=False
    )
    return replace(state, status="done", doing="", measurement=measured)


def _case_event(state: CaseState, event: Event) -> CaseState:
    match event:
        case CaseStarted():
            # What an engine had sent before it died is not the next one's.
            return CaseState(state.case, status="running", ended=state.ended)
        case PhaseStarted():
            return replace(state, doing=event.phase)
        case PhaseMeasured():
            seconds: dict[str, Any] = {event.phase: event.seconds}
            phases = msgspec.structs.replace(state.phases, **seconds)
            copied = {event.phase} if event.zero_copy else set()
            return replace(state, phases=phases, zero_copy=state.zero_copy | copied)
        case Sampled():
            if event.round == 1:  # it replaces the first calls
                state = replace(state, dispatch=Trace(), ready=Trace())
            medians = (event.ready_median,) if event.round else ()
            return replace(
                state,
                rounds=(*state.rounds, *medians),
                # A function of a file has size and dtype only from now on.
                case=event.measurement.case,
                doing="sampling",
                phases=event.measurement.phases,
                measurement=event.measurement,
                dispatch=state.dispatch.extended(event.dispatch, event.dispatch_bins),
                ready=state.ready.extended(event.ready, event.ready_bins),
            )
        case CaseMeasured():
            return replace(
                state,
                case=event.measurement.case,
                status="done",
                doing="",
                phases=event.measurement.phases,
                measurement=event.measurement,
            )
        case CaseFailed():
            # Without a phase nothing of it was tried.
            status: CaseStatus = "failed" if state.doing else "not run"
            return replace(state, status=status, doing="", failure=event.failure)
        case _:
            return state


def _with_ended(state: CaseState, event: Event) -> CaseState:
    match event:
        case CaseMeasured():
            return replace(state, ended=(*state.ended, event.measurement))
        case CaseFailed():
            return replace(state, ended=(*state.ended, event.failure))
        case _:
            return state


def _of_processes(state: CaseState, work: Experiment) -> CaseState:
    """Set the measurement of all processes that are over, if one of them has any."""
    if not any(isinstance(result, Measurement) for result in state.ended):
        return state
    folded = processes.fold(state.ended, work)
    assert isinstance(folded, Measurement)
    status: CaseStatus = "done" if state.failure else state.status
    return replace(state, status=status, measurement=folded, failure=None)


def _in_next_process(case: CaseState, work: Experiment) -> CaseState:
    return _of_processes(CaseState(case.case, ended=case.ended), work)
