"""What a run yielded, as one document: the records that ``--json`` prints."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxtui.model import (
    Case,
    Failure,
    Host,
    LoopMeasured,
    Measurement,
    Record,
    Stopped,
    Timing,
    Value,
    WorkFailed,
)
from jaxtui.tui.state import CaseState, RunState

SCHEMA = 1
"""Version of every JSON document; a change that breaks a reader raises it."""


class Results(Record, frozen=True, kw_only=True):
    """One run: every case of it is a measurement or a failure."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when the run was interrupted before the engine had looked."""
    measurements: tuple[Measurement, ...]
    failures: tuple[Failure, ...]


class LessonEntry(Record, frozen=True, kw_only=True):
    """A lesson in the list of lessons."""

    name: str
    title: str
    needs: str
    """What some of its steps would need that a machine may not have."""


class Lessons(Record, frozen=True, kw_only=True):
    """The list of lessons."""

    schema: int = SCHEMA
    lessons: tuple[LessonEntry, ...]


class StepRow(Record, frozen=True, kw_only=True):
    """One line of a step's table, as people read it."""

    what: str
    yours: str
    published: str
    remark: str


class StepResults(Record, frozen=True, kw_only=True):
    """What one step of a lesson yielded, and what that says."""

    title: str
    measurements: tuple[Measurement, ...]
    claim: str
    holds: bool | None
    """``None`` where this machine cannot tell."""
    takeaway: str
    rows: tuple[StepRow, ...]
    timings: dict[str, Timing]
    values: dict[str, Value]
    loops: tuple[LoopMeasured, ...]
    failures: tuple[Failure, ...]
    problem: WorkFailed | None
    """Why something of the step has no result."""


class LessonResults(Record, frozen=True, kw_only=True):
    """A lesson as far as it was run."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when the run was interrupted before the engine had looked."""
    lesson: str
    steps: tuple[StepResults, ...]


def collect(host: Host | None, cases: Sequence[Case], run: RunState | None) -> Results:
    """Sorts the cases of a run, finished or not, into measurements and failures.

    A case that was interrupted while it was sampled keeps the samples that it has and
    says ``cancelled`` or ``crashed``; one that had none yet is a failure.

    Args:
        host: the machine that ran it.
        cases: what was asked for.
        run: what had arrived; ``None`` if the run never began.
    """
    states = run.cases if run else tuple(CaseState(case) for case in cases)
    outcome: Stopped = "crashed" if run and run.outcome == "crashed" else "cancelled"
    measurements: list[Measurement] = []
    failures: list[Failure] = []
    for state in states:
        ended = _ended(state, outcome)
        if isinstance(ended, Measurement):
            measurements.append(ended)
        else:
            failures.append(ended)
    return Results(
        host=host, measurements=tuple(measurements), failures=tuple(failures)
    )


def encode(document: object) -> bytes:
    """One JSON document and a newline; a float that is not finite becomes ``null``."""
    return msgspec.json.encode(document) + b"\n"


def _ended(state: CaseState, outcome: Stopped) -> Measurement | Failure:
    if state.failure:
        return state.failure
    measurement = state.measurement
    if measurement and measurement.stopped:
        return measurement
    if measurement and measurement.ready:
        return msgspec.structs.replace(measurement, stopped=outcome)
    doing = f" during {state.doing}" if state.doing else " before its turn came"
    return Failure(
        case=state.case,
        error=f"The run was {outcome}{doing}.",
        hint="Run it again; nothing is wrong with the case itself.",
    )
