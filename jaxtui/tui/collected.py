"""A run as the document that ``--json`` prints."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxtui.document import Outcome, Results
from jaxtui.model import Case, Failure, Host, Measurement, Stopped
from jaxtui.tui.run_state import CaseState, RunState


def collect(host: Host | None, cases: Sequence[Case], run: RunState | None) -> Results:
    """A run, finished or not, as a document; what holds for all of it is said once.

    Args:
        host: the machine that ran it.
        cases: what was asked for.
        run: what had arrived; ``None`` if the run never began.
    """
    missing: Outcome = "incomplete" if run and run.outcome == "crashed" else "cancelled"
    outcome = "complete" if run and run.outcome == "complete" else missing
    return Results.of(host, *endings(cases, run), outcome)


def endings(
    cases: Sequence[Case], run: RunState | None
) -> tuple[list[Measurement], list[Failure]]:
    """Every case of a run as a measurement or a failure, in their order.

    One that was interrupted while it was sampled keeps the samples that it has and
    says ``cancelled`` or ``crashed``; one that had none yet is a failure.
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
    return measurements, failures


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
