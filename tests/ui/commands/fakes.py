"""What an engine says to a command, and commands that run on it."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

from jaxtui import cli
from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Event,
    Experiment,
    Failure,
    Inspection,
    Measurement,
    Phases,
    Remark,
    RunFinished,
    Samples,
)
from tests import records
from tests.fake_engine import FakeEngine, began
from tests.records import summarize, told


def in_process() -> FakeEngine:
    """One that measures, in this process: what counts is what is said of it."""
    from jaxtui.features.bench.measure import experiment
    from jaxtui.features.program import measure as inspection
    from jaxtui.tasks import ops

    def answer(work: Any) -> Sequence[Event]:
        if isinstance(work, Inspection):
            return list(inspection.run_inspection(work))
        return list(experiment.run(work))

    catalogue = tuple(op.info() for op in ops.OPS.values())
    return FakeEngine(answer, ops=catalogue)


def measured(case: Case, experiment: Experiment, **changes: object) -> Measurement:
    numpy = case.mode == "numpy"
    values: dict[str, object] = {
        "phases": Phases(first_call=2e-3),
        "dispatch": None if numpy else summarize([[1e-5] * 3] * 8),
        "pipelined_seconds": None if numpy else 9e-4,
        "flops": 2.7e8,
        "bytes": 3.1e6,
        "flops_per_second": 2.7e11,
        "bytes_per_second": 3.2e9,
        "error_vs_float64": 1e-7,
        "notes": (Remark("inline", text="Nothing to overlap here."),),
    }
    if experiment.keep_samples:
        values["samples"] = Samples(ready=(1e-3,))
    ready = summarize([[1e-3, 1.1e-3, 1.2e-3]] * 8)
    return records.measurement(case, ready, **{**values, **changes})


def complete(experiment: Experiment, **changes: object) -> list[Event]:
    """Every case is measured; what is changed of it is changed of the first."""
    events: list[Event] = [began(experiment)]
    for index, case in enumerate(experiment.cases):
        events.append(CaseStarted(index=index, case=case))
        result = measured(case, experiment, **({} if index else changes))
        events.append(CaseMeasured(index=index, measurement=result))
    return [*events, RunFinished(outcome="complete", elapsed_seconds=1.0)]


def one_fails(experiment: Experiment) -> list[Event]:
    *events, finished = complete(experiment)
    failure = Failure(case=experiment.cases[0], remark=told("No room.", "Go smaller."))
    events[2] = CaseFailed(index=0, failure=failure)
    return [*events, finished]


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupted(experiment: Experiment) -> list[Event]:
    """Ctrl-C after the first turn of the first case."""
    ctrl_c()
    case = experiment.cases[0]
    timed = measured(case, experiment, stopped=None)
    sampled = records.sampled(0, 1, timed, (1e-3,), (1e-5,))
    return [began(experiment), CaseStarted(index=0, case=case), sampled]


def run(engine: FakeEngine, *arguments: str) -> int:
    return cli.main(arguments, engine=engine)
