"""A run of links as an engine tells of it, on an imagined machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Device,
    Event,
    Experiment,
    Failure,
    Remark,
    RunFinished,
    RunStarted,
)
from jaxtui.core.state import CaseState, Job, State
from jaxtui.features.links.judge import choose, result
from jaxtui.features.links.messages import LATENCY_BYTES, Links, experiment
from tests import records

RATE = 40e9
"""Bytes per second of a link, unless it is slower."""

Factors = Mapping[tuple[str, str], float]

DOWN = Remark("raised", {"error": "link down", "phase": "first_call"}, "error")


def told(
    work: Experiment, slower: Factors | None = None, broken: Sequence[str] = ()
) -> Iterator[Event]:
    """The end of each case; copies to ``broken`` devices fail."""
    for index, case in enumerate(work.cases):
        yield CaseStarted(index=index, case=case)
        if case.target in broken:
            failure = Failure(case=case, remark=DOWN)
            yield CaseFailed(index=index, failure=failure)
            continue
        factor = (slower or {}).get((case.device, case.target), 1.0)
        latency = case.size == LATENCY_BYTES
        clock = records.summary(30e-6 if latency else case.size / RATE * factor, 0.01)
        measured = records.measurement(case, clock)
        yield CaseMeasured(index=index, measurement=measured)


def answer(work: Experiment, slower: Factors | None = None) -> list[Event]:
    """A whole run."""
    ended = RunFinished(outcome="complete", elapsed_seconds=9.0)
    return [RunStarted(cases=work.cases), *told(work, slower), ended]


def measured(
    devices: Sequence[Device],
    slower: Factors | None = None,
    broken: Sequence[str] = (),
    others: Sequence[Device] = (),
) -> tuple[Links, State]:
    """What a run on these devices comes to."""
    work = experiment(choose(devices))
    cases = [CaseState(case) for case in work.cases]
    for event in told(work, slower, broken):
        if isinstance(event, CaseMeasured):
            case = cases[event.index].case
            cases[event.index] = CaseState(case, "done", measurement=event.measurement)
        elif isinstance(event, CaseFailed):
            case = cases[event.index].case
            cases[event.index] = CaseState(case, "failed", failure=event.failure)
    job = Job(1, "links", work, outcome="complete", cases=tuple(cases))
    state = State(devices=(*devices, *others), jobs={"links": job})
    return result(state, complete=True), state
