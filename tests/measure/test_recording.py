"""What an audit reads from a trace, of which the marks are the program's readings."""

from __future__ import annotations

import pytest

from jaxtui.measure import xspace
from jaxtui.measure.audit.recording import read
from tests.measure.spaces import Line, Plane, event, space

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
    seen = read(xspace.read(space(plane)), [(at, 7) for at in marks], 0.0)
    [execution] = seen.executions
    assert execution.thread == 7
    assert execution.called_seconds < marks[2]
    assert execution.end_seconds == pytest.approx(0.0235)
