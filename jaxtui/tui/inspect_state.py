"""What the screen of an inspection shows: what was asked, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jaxtui.model import (
    Ending,
    Event,
    Inspected,
    Inspection,
    InspectionStarted,
    RunFinished,
    WorkFailed,
)


@dataclass(frozen=True, slots=True)
class InspectState:
    """The inspection on screen, going on or ended."""

    inspection: Inspection | None = None
    inspected: Inspected | None = None
    failed: WorkFailed | None = None
    outcome: Ending | None = None
    """``None`` while it goes on."""


NO_INSPECTION = InspectState()


def inspect_event(state: InspectState, event: Event) -> InspectState:
    """The state after one event of the inspection's run."""
    match event:
        case InspectionStarted():
            return InspectState(inspection=event.inspection)
        case Inspected():
            return replace(state, inspected=event)
        case WorkFailed():
            return replace(state, failed=event)
        case RunFinished():
            return replace(state, outcome=event.outcome)
        case _:
            return state
