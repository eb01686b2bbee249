"""What an audit reads from a trace, of which the marks are the program's readings."""

from __future__ import annotations

import pytest

from jaxtui.features.audit.measure.recording import read
from jaxtui.xla import traces
from tests.tasks.spaces import Event, Line, Plane, event, space

MS = 1_000_000_000
"""Picoseconds."""


def test_a_call_stays_before_a_reading_whose_thread_lost_its_core() -> None:
    """The reading says 20 ms too little."""
    marks = (0.0, 0.010, 0.010, 0.040)
    events = (
        event("jaxtui clock 0", 0, 2),
        event("jaxtui clock 1", 10 * MS, 2),
        event("PjitFunction(f)", 29 * MS, MS // 2),
        event("jaxtui clock 2", 30 * MS, 2),
        event("jaxtui clock 3", 40 * MS, 2),
    )
    stats = {"hlo_op": "dot", "hlo_module": "jit_f", "program_id": 1, "run_id": 1}
    kernel = event("dot", 29 * MS + MS // 2, 5 * MS, **stats)
    plane = Plane("/host:CPU", (Line("python", events), Line("tf_XLA", (kernel,))))
    seen = read(traces.read(space(plane)), [(at, 7) for at in marks], 0.0)
    [execution] = seen.executions
    assert execution.thread == 7
    assert execution.called_seconds < marks[2]
    assert execution.end_seconds == pytest.approx(0.0235)


RECORD, REGION = "ThreadpoolListener::Record", "ThreadpoolListener::StartRegion"


def ran(number: int, at: int) -> tuple[Event, ...]:
    """A task that was handed over, which is a run."""
    stats = {"hlo_op": "dot", "hlo_module": "jit_f", "program_id": number}
    return (
        event(REGION, at * MS, 0, _c=number),
        event("dot", (at + 1) * MS, 5 * MS, run_id=number, **stats),
    )


def test_a_run_belongs_to_the_thread_that_handed_it_over() -> None:
    """Two threads call functions of one name; who called later begins first."""

    def called(number: int, at: int) -> tuple[Event, ...]:
        return (
            event(f"jaxtui clock {number}", 0, 2),
            event("PjitFunction(f)", at * MS, 2 * MS),
            event(RECORD, (at + 1) * MS, 0, _p=number),
            event(f"jaxtui clock {number + 2}", 90 * MS, 2),
        )

    lines = (
        Line("python", called(0, 10)),
        Line("python", called(1, 11)),  # of the same name
        Line("tf_XLA/1", ran(0, 30)),
        Line("tf_XLA/2", ran(1, 20)),
    )
    marks = [(0.0, 7), (0.0, 8), (0.09, 7), (0.09, 8)]
    seen = read(traces.read(space(Plane("/host:CPU", lines))), marks, 0.0)
    assert {each.program: each.thread for each in seen.executions} == {
        "jit_f(0)": 7,
        "jit_f(1)": 8,
    }


def test_a_run_that_had_to_wait_is_that_of_the_next_call_of_its_thread() -> None:
    calls = [event("PjitFunction(f)", at * MS, 2 * MS) for at in (2, 10, 13, 16)]
    marks = (event("jaxtui clock 0", 0, 2), event("jaxtui clock 1", 90 * MS, 2))
    lines = (
        # Of the first call the trace has no run; the others wait for each other.
        Line("python", (*marks, *calls, event(RECORD, 11 * MS, 0, _p=0))),
        Line("tf_XLA/1", (*ran(0, 20), event(RECORD, 27 * MS, 0, _p=1))),
        Line("tf_XLA/2", (*ran(1, 30), event(RECORD, 37 * MS, 0, _p=2))),
        Line("tf_XLA/3", ran(2, 40)),
    )
    seen = read(
        traces.read(space(Plane("/host:CPU", lines))), [(0.0, 7), (0.09, 7)], 0.0
    )
    called = [each.called_seconds for each in seen.executions]
    assert called == pytest.approx([0.011, 0.014, 0.017])
