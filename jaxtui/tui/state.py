"""What the screens show: one immutable snapshot, and how events change it.

``reduce`` is pure, so every screen can be tested by feeding events to it. The app
keeps the snapshot in one reactive; widgets read it and never change it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from jaxtui.engine import startup
from jaxtui.engine.protocol import Envelope
from jaxtui.machine import messages
from jaxtui.machine.findings import merged
from jaxtui.model import (
    Busy,
    Check,
    CheckStarted,
    Device,
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Finding,
    Hello,
    Host,
    InspectionStarted,
    Logged,
    Loop,
    LoopStarted,
    Memory,
    Noticed,
    OpInfo,
    Progress,
    Ready,
    Roofs,
    RunFinished,
    RunStarted,
    SnippetStarted,
    Waiting,
    Work,
)
from jaxtui.model.roofs import RoofsStarted
from jaxtui.tui.check_state import NO_CHECK, CheckState, check_event
from jaxtui.tui.history_state import NO_HISTORY, HistoryState
from jaxtui.tui.inspect_state import NO_INSPECTION, InspectState, inspect_event
from jaxtui.tui.learn_state import NO_LESSONS, LearnState, learn_event
from jaxtui.tui.loop_state import NO_LOOP, LoopState, loop_event
from jaxtui.tui.own_state import NOTHING_OPENED, OpenedState
from jaxtui.tui.plot_state import View
from jaxtui.tui.roofs_state import NO_ROOFS, RoofsState, roofs_event, still_there
from jaxtui.tui.run_state import CaseState, RunState, run_event, run_started
from jaxtui.view.bench import Clock
from jaxtui.view.curves import Metric

MAXIMUM_LOG_LINES = 1_000

MESSAGE_CHARACTERS = 140
"""What the two lines for a message hold on the smallest screen."""

Purpose = Literal["bench", "loop", "lesson", "check", "inspection", "roofs"]
"""What a run is for: the tab Bench, the async view, a lesson, a test of the check, what
XLA made of a case, or the roofs of a device."""

EngineStatus = Literal["starting", "ready", "running", "released", "failed"]

_STARTED = (
    RunStarted,
    LoopStarted,
    SnippetStarted,
    CheckStarted,
    InspectionStarted,
    RoofsStarted,
)
"""The first event of each kind of run."""


@dataclass(frozen=True, slots=True)
class Going:
    """The run that is going on, whatever it is for."""

    number: int
    elapsed_seconds: float = 0.0
    remaining_seconds: float = 0.0
    doing: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """Everything that the screens show."""

    engine: EngineStatus = "starting"
    generation: int = 0
    host: Host | None = None
    devices: tuple[Device, ...] = ()
    ops: tuple[OpInfo, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What is to be known of the machine, the worst first."""
    start: startup.Start = startup.NOTHING
    """How far the newest engine has come with starting."""
    failed: EngineFailed | None = None
    purpose: Purpose = "bench"
    """What the run that is going on, or the last one, is for."""
    going: Going | None = None
    run: RunState | None = None
    """The last run of the tab Bench."""
    loop: LoopState = NO_LOOP
    """What the async view shows."""
    learn: LearnState = NO_LESSONS
    """What the tab Learn shows."""
    history: HistoryState = NO_HISTORY
    """What the tab History shows."""
    check: CheckState = NO_CHECK
    """The health check of the tab Devices."""
    inspect: InspectState = NO_INSPECTION
    """What XLA made of a case."""
    roofs: RoofsState = NO_ROOFS
    """What limits the devices."""
    opened: OpenedState = NOTHING_OPENED
    """Functions of the user's own that were chosen in this session."""
    log: tuple[str, ...] = ()
    message: str = ""
    """One line that the engine or the last action has to say."""
    cursor: str | None = None
    """Name of the device that is selected; ``None`` for the first."""
    picked: int | None = None
    """Index of the case that is selected; ``None`` for the first that JAX runs."""
    view: View | None = None
    """What the plot of the tab Bench shows; ``None`` for what fits."""
    metric: Metric = "time"
    """What the curves over size show."""
    clock: Clock = "ready"
    """The clock of the curves over size."""

    @property
    def running(self) -> bool:
        """Whether a run is going on."""
        return self.going is not None

    @property
    def busy(self) -> bool:
        """Whether a run is going on, or what goes on will soon need the next one."""
        return self.running or self.learn.playing is not None or self.check.going

    def refusal(self, what: Work | Literal["verdicts", "jax"]) -> str:
        """Why a setting of JAX makes something meaningless; empty if none does.

        Args:
            what: a work, verdicts of any kind, or whatever JAX does. An experiment in
                which NumPy takes part is left to the engine, which refuses the rest.
        """
        judges = what == "verdicts" or isinstance(what, (Check, Roofs, Loop))
        spared = isinstance(what, Experiment) and any(
            case.on_host for case in what.cases
        )
        for finding in self.findings:
            if (judges and finding.refuses) or (
                finding.refuses == "jax" and not spared
            ):
                return f"{finding.what} {finding.advice}"
        return ""

    @property
    def can_run(self) -> bool:
        """Whether a run can be asked for; one brings an engine that is gone back."""
        idle = self.engine in ("ready", "released", "failed")
        return idle and bool(self.devices)

    @property
    def device(self) -> Device | None:
        """The device that is selected."""
        for device in self.devices:
            if device.name == self.cursor:
                return device
        return self.devices[0] if self.devices else None

    @property
    def case_index(self) -> int:
        """Index of the case that is selected, or else of the first that JAX runs."""
        cases = self.run.cases if self.run is not None else ()
        if self.picked is not None and self.picked < len(cases):
            return self.picked
        jax = (i for i, case in enumerate(cases) if not case.case.on_host)
        return next(jax, 0)

    @property
    def case(self) -> CaseState | None:
        """The case that is selected; ``None`` without a run."""
        if self.run is None or not self.run.cases:
            return None
        return self.run.cases[self.case_index]

    @property
    def accelerator(self) -> str | None:
        """The platform that is held, ``TPU`` or ``GPU``; ``None`` for CPU only."""
        held = {device.platform for device in self.devices} - {"cpu"}
        if self.engine not in ("ready", "running") or not held:
            return None
        return sorted(held)[0].upper()


EMPTY = State()
"""Nothing yet: the engine is starting."""


def reduce(state: State, envelope: Envelope) -> State:
    """The snapshot after one event; events of older runs change nothing."""
    if envelope.run is None:
        if envelope.generation != state.generation:
            state = replace(
                state, generation=envelope.generation, start=startup.NOTHING
            )
        return _engine_event(state, envelope.event)
    return _work_event(state, envelope.run, envelope.event)


def begun(state: State, number: int, purpose: Purpose) -> State:
    """The snapshot after a run was asked for."""
    return replace(state, purpose=purpose, going=Going(number))


def released(state: State) -> State:
    """The snapshot after the accelerator was given back on purpose."""
    return replace(state, engine="released", message="", start=startup.NOTHING)


def _engine_event(state: State, event: Event) -> State:
    match event:
        case Hello():
            start = startup.observe(state.start, event)
            return replace(
                state, engine="starting", ops=event.ops, failed=None, start=start
            )
        case Ready():
            status: EngineStatus = "running" if state.running else "ready"
            return replace(
                _noticed(_started(state), merged(event.findings, _heard(state))),
                engine=status,
                host=event.host,
                devices=event.devices,
                ops=event.ops,
                failed=None,
                roofs=still_there(state.roofs, state.devices, event.devices),
            )
        case EngineFailed():
            return replace(state, engine="failed", failed=event, message=event.error)
        case EngineDied():
            return _engine_died(state, event)
        case Noticed():
            start = startup.observe(state.start, event)
            findings = merged(event.findings, start.logged)
            return _noticed(replace(state, start=start), findings)
        case Waiting():
            known = [one for one in state.findings if one.name != event.finding.name]
            return _noticed(state, merged(known, (event.finding,)), event.finding)
        case Memory():
            return replace(state, devices=_with_memory(state.devices, event))
        case Logged():
            return _logged(state, event)
        case Busy():
            return replace(state, message="A run is going on: stop it first.")
        case _:
            return state


def _logged(state: State, event: Logged) -> State:
    log = (*state.log, event.line)[-MAXIMUM_LOG_LINES:]
    start = startup.observe(state.start, event)
    new = start.logged[len(state.start.logged) :]
    state = replace(state, log=log, start=start)
    if not new:
        return state
    told = None if new[0].severity == "info" else new[0]
    return _noticed(state, merged(state.findings, new), told)


def _heard(state: State) -> tuple[Finding, ...]:
    """What the log has said and still holds when JAX is up."""
    return tuple(
        one for one in state.start.logged if one.name not in messages.TRANSIENT
    )


def _started(state: State) -> State:
    """Without what was said about a start that takes long."""
    said = [one.what for one in state.findings if one.name in messages.TRANSIENT]
    over = any(state.message.startswith(what) for what in said)
    return replace(state, message="") if over else state


def _noticed(
    state: State, findings: tuple[Finding, ...], told: Finding | None = None
) -> State:
    """With these findings.

    Args:
        state: what was on screen.
        findings: all that are known now, the worst first.
        told: what the message line says; by default the worst, if it is new and more
            than good to know.
    """
    if told is None and findings and findings[0] not in state.findings:
        told = findings[0]
        if told.severity == "info":
            told = None
    message = state.message
    if told is not None:
        more = sum(one.severity != "info" and one != told for one in findings)
        message = sentence(told, more)
    return replace(state, findings=findings, message=message)


def sentence(finding: Finding, more: int = 0) -> str:
    """A finding for the message line: what is wrong, and what to do if there is room.

    Args:
        finding: it.
        more: how many others there are beside it.
    """
    others = f" (d: {more} more)" if more else ""
    whole = f"{finding.what} {finding.advice}".strip() + others
    if len(whole) <= MESSAGE_CHARACTERS:
        return whole
    return f"{finding.what} (d: what to do{f', and {more} more' if more else ''})"


def _engine_died(state: State, event: EngineDied) -> State:
    going = state.going and replace(state.going, doing="starting JAX again")
    state = replace(
        state,
        engine="starting",
        message=event.error,
        start=startup.NOTHING,
        going=going,
    )
    if event.restarts:
        return state
    failed = EngineFailed(
        reason="internal", error=event.error, hint="Press R to try once more."
    )
    return replace(state, engine="failed", failed=failed)


def _with_memory(devices: tuple[Device, ...], event: Memory) -> tuple[Device, ...]:
    return tuple(
        msgspec.structs.replace(
            device, memory=event.devices.get(device.name, device.memory)
        )
        for device in devices
    )


def _work_event(state: State, number: int, event: Event) -> State:
    if isinstance(event, _STARTED):
        going = state.going or Going(number)
        state = replace(state, engine="running", message="", going=going)
    if state.going is None or state.going.number != number:
        return state
    match state.purpose:
        case "bench" if isinstance(event, RunStarted):
            state = replace(state, run=run_started(number, event), picked=None)
        case "bench" if state.run is not None:
            state = replace(state, run=run_event(state.run, event))
        case "loop":
            state = replace(state, loop=loop_event(state.loop, event))
        case "lesson":
            state = replace(state, learn=learn_event(state.learn, event))
        case "check":
            state = replace(state, check=check_event(state.check, event))
        case "inspection":
            state = replace(state, inspect=inspect_event(state.inspect, event))
        case "roofs":
            state = replace(state, roofs=roofs_event(state.roofs, event))
        case _:
            pass
    return _progress(state, event)


def _progress(state: State, event: Event) -> State:
    if isinstance(event, Progress) and state.going is not None:
        going = Going(
            state.going.number,
            event.elapsed_seconds,
            event.remaining_seconds,
            event.doing,
        )
        return replace(state, going=going)
    if isinstance(event, RunFinished):
        ready = state.engine == "running"
        return replace(state, going=None, engine="ready" if ready else state.engine)
    return state
