"""What the async view shows: the loop that was asked for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jaxtui.model import (
    Ending,
    Event,
    Loop,
    LoopCall,
    LoopMeasured,
    LoopSeen,
    LoopStarted,
    RunFinished,
    WorkFailed,
)


@dataclass(frozen=True, slots=True)
class LoopState:
    """The loop on screen, going on or ended."""

    loop: Loop | None = None
    seen: tuple[LoopCall, ...] = ()
    """The calls that are known so far."""
    measured: LoopMeasured | None = None
    failed: WorkFailed | None = None
    outcome: Ending | None = None
    """``None`` while it goes on."""


NO_LOOP = LoopState()


def loop_event(state: LoopState, event: Event) -> LoopState:
    """The state after one event of the loop's run."""
    match event:
        case LoopStarted():
            return LoopState(loop=event.loop)
        case LoopSeen():
            return replace(state, seen=(*state.seen[: event.first], *event.calls))
        case LoopMeasured():
            return replace(state, seen=event.calls, measured=event)
        case WorkFailed():
            return replace(state, failed=event)
        case RunFinished():
            return replace(state, outcome=event.outcome)
        case _:
            return state
