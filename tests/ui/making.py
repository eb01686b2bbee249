"""Runs on screen, from records alone."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from jaxtui.core.model import Case, Failure, Mode
from jaxtui.core.state import CaseState, Job
from tests.fake_engine import measurement, sampled, summary
from tests.records import told

COLORS = [(index, 0, 0) for index in range(1, 7)]
SIZES = (256, 512, 1024)
JIT = Case(op="matmul", size=1024, dtype="float32", device="tpu:0", mode="jit")
NUMPY = Case(
    op="matmul", size=1024, dtype="float32", device="host", mode="numpy", inputs="host"
)


NO_ROOM = Failure(case=JIT, remark=told("No room.", "Smaller."))
FAILED = CaseState(JIT, status="failed", failure=NO_ROOM)


def at_size(case: Case, size: int, mode: Mode | None = None) -> Case:
    return msgspec.structs.replace(case, size=size, mode=mode or case.mode)


def done(case: Case, seconds: float | None = None, **changes: object) -> CaseState:
    """A case as it was measured, in so many seconds where that is said."""
    if seconds is not None:
        changes["ready"] = summary(seconds)
    measured = msgspec.structs.replace(measurement(case), **changes)
    return CaseState(case, status="done", phases=measured.phases, measurement=measured)


def sampled_case(case: Case = JIT, turns: int = 3) -> CaseState:
    """A case with its calls."""
    state = done(case)
    for turn in range(turns):
        event = sampled(0, case, turn)
        state = replace(
            state,
            dispatch=state.dispatch.extended(event.dispatch, event.dispatch_bins),
            ready=state.ready.extended(event.ready, event.ready_bins),
        )
    return state


def run_of(*cases: CaseState) -> Job:
    return Job(number=1, cases=cases)


def over_sizes(*cases: Case, **changes: Any) -> Job:
    return run_of(
        *(done(at_size(one, size), **changes) for size in SIZES for one in cases)
    )
