"""The run of the tab Bench: its cases, and how events change them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Ending,
    Event,
    Failure,
    Measurement,
    PhaseMeasured,
    Phases,
    PhaseStarted,
    Progress,
    RunFinished,
    RunStarted,
    Sampled,
)
from jaxtui.tui.trace import Trace

CaseStatus = Literal["waiting", "running", "done", "failed", "not run"]
"""``not run``: refused, or the run ended before its turn."""


@dataclass(frozen=True, slots=True)
class CaseState:
    """One case of the run that is on screen."""

    case: Case
    status: CaseStatus = "waiting"
    doing: str = ""
    """The phase that is going on, e.g. ``compile``; ``sampling`` during rounds."""
    phases: Phases = field(default_factory=Phases)
    zero_copy: frozenset[str] = frozenset()
    """The phases that copied nothing."""
    measurement: Measurement | None = None
    failure: Failure | None = None
    dispatch: Trace = field(default_factory=Trace)
    ready: Trace = field(default_factory=Trace)
    """The calls for the live plot."""
    rounds: tuple[float, ...] = ()
    """The median ready time of each round, seconds: cases take turns, so that what
    slows the machine down slows the rounds of one number alike."""


@dataclass(frozen=True, slots=True)
class RunState:
    """The run that is on screen, going on or ended."""

    number: int
    cases: tuple[CaseState, ...]
    current: int | None = None
    """Index of the case whose turn or phase it is."""
    elapsed_seconds: float = 0.0
    outcome: Ending | None = None
    """``None`` while it goes on."""


def run_started(number: int, event: RunStarted) -> RunState:
    """The state when a run begins."""
    return RunState(number=number, cases=tuple(map(CaseState, event.cases)))


def run_event(run: RunState, event: Event) -> RunState:
    """The state after one event of the run."""
    match event:
        case Progress():
            return replace(run, elapsed_seconds=event.elapsed_seconds)
        case RunFinished():
            return replace(
                run,
                elapsed_seconds=event.elapsed_seconds,
                outcome=event.outcome,
                current=None,
            )
        case (
            CaseStarted()
            | PhaseStarted()
            | PhaseMeasured()
            | Sampled()
            | CaseMeasured()
            | CaseFailed()
        ):
            return _with_case(run, event.index, event)
        case _:
            return run


def _with_case(run: RunState, index: int, event: Event) -> RunState:
    if not 0 <= index < len(run.cases):
        return run
    changed = _case_event(run.cases[index], event)
    cases = (*run.cases[:index], changed, *run.cases[index + 1 :])
    return replace(run, cases=cases, current=index)


def _case_event(state: CaseState, event: Event) -> CaseState:
    match event:
        case CaseStarted():
            # What an engine had sent before it died does not belong to the next one's.
            return CaseState(state.case, status="running")
        case PhaseStarted():
            return replace(state, doing=event.phase)
        case PhaseMeasured():
            phases = msgspec.structs.replace(
                state.phases, **{event.phase: event.seconds}
            )
            copied = (
                state.zero_copy | {event.phase} if event.zero_copy else state.zero_copy
            )
            return replace(state, phases=phases, zero_copy=copied)
        case Sampled():
            return replace(
                state,
                rounds=(*state.rounds, event.ready_median),
                # A function of the user's own has size and dtype only from now on.
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
