"""What a run yielded, as one document: the records that ``--json`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from jaxtui.health.verdict import Verdict, VerdictWord
from jaxtui.model import (
    Case,
    CheckLevel,
    CheckTest,
    Failure,
    Host,
    LoopMeasured,
    Measurement,
    Reading,
    Record,
    Stopped,
    Timing,
    Unit,
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


class CheckRow(Record, frozen=True, kw_only=True):
    """One reading of a health check, and what it means."""

    test: CheckTest
    device: str | None
    """``None`` for the machine as a whole."""
    what: str
    verdict: VerdictWord
    measured: float | None
    expected: float | None
    unit: Unit
    share: float | None
    """Measured over expected, where that is a share of a peak or of a baseline."""
    ci_low: float | None
    ci_high: float | None
    source: str
    """Where ``expected`` comes from, or why there is nothing to expect."""
    reason: str
    said: str
    """What else there is to know."""
    detail: str
    """The original text of an exception."""


class CheckResults(Record, frozen=True, kw_only=True):
    """A health check as far as it was run."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when the check was interrupted before the engine had looked."""
    devices: tuple[dict[str, Any], ...]
    """All that JAX lists, as ``jaxtui devices --json`` has them."""
    level: CheckLevel
    baseline: str | None
    """The name of what the figures were compared with."""
    tests: tuple[CheckRow, ...]
    verdict: VerdictWord
    """Of what there is."""
    complete: bool
    """Whether every test was run to its end or its failure."""


def check_row(reading: Reading, verdict: Verdict) -> CheckRow:
    """A reading beside its verdict."""
    return CheckRow(
        test=verdict.test,
        device=verdict.device,
        what=verdict.what,
        verdict=verdict.verdict,
        measured=verdict.measured,
        expected=verdict.expected,
        unit=verdict.unit,
        share=verdict.share,
        ci_low=reading.ci_low,
        ci_high=reading.ci_high,
        source=verdict.source,
        reason=verdict.reason,
        said=reading.said,
        detail=verdict.detail,
    )


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
