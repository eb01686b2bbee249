"""An engine that says what a test wants, and what it says."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from jaxtui import cli
from jaxtui.engine.client import EngineOptions
from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Device,
    Event,
    Experiment,
    Failure,
    Hello,
    Host,
    Inspection,
    Logged,
    Measurement,
    Note,
    OpInfo,
    Phases,
    Plan,
    PlannedCase,
    Ready,
    RunFinished,
    RunStarted,
    Sampled,
    Samples,
)
from tests import records
from tests.records import planned, summarize

HOST = Host(
    hostname="box",
    python="3.12.1",
    jax="0.12.0",
    jaxlib="0.12.0",
    numpy="2.0.0",
    platform_version="cpu",
    cpu_count=2,
)
OPS = tuple(
    OpInfo(
        name=name,
        summary=f"What {name} does.",
        size_means="n of n×n",
        dtypes=("float32", "bfloat16"),
        flops="2 n³",
        bytes="3 n²",
        minimum=1,
        default=512,
        maximum=4096,
        takes_precision=name == "matmul",
    )
    for name in ("matmul", "selu")
)
DEVICES = tuple(
    Device(id=index, platform="cpu", device_kind="cpu", process_index=0)
    for index in range(2)
)


def up(**facts: Any) -> tuple[Event, ...]:
    """What an engine says before it runs anything."""
    ready = Ready(**{"host": HOST, "devices": DEVICES, "ops": OPS, **facts})
    return Hello(pid=1, ops=ready.ops), ready


UP = up()


class FakeEngine:
    """An engine that says what a test wants, without a process."""

    generation = 1

    def __init__(
        self,
        opening: Sequence[Event] = UP,
        answer: Callable[[Any], Sequence[Event]] | None = None,
        planned: Callable[[Case], PlannedCase] = planned,
    ) -> None:
        self.opening = opening
        self.answer = answer or complete
        self.planned = planned
        self.asked: list[Any] = []
        """The works, in their order."""
        self.options: EngineOptions | None = None
        self.stopped = 0
        self.closed = False

    def __call__(self, options: EngineOptions) -> FakeEngine:
        self.options = options
        return self

    async def start(self) -> None:
        self.queue: asyncio.Queue[Envelope | None] = asyncio.Queue()
        for event in self.opening:
            self.say(None, event)

    async def events(self) -> AsyncIterator[Envelope]:
        while (envelope := await self.queue.get()) is not None:
            yield envelope

    async def run(self, work: Any) -> int:
        self.asked.append(work)
        number = len(self.asked)
        for event in self.answer(work):
            self.say(None if isinstance(event, Logged) else number, event)
        return number

    async def stop(self) -> None:
        self.stopped += 1
        ended = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
        self.say(len(self.asked), ended)

    async def close(self) -> None:
        self.closed = True
        self.queue.put_nowait(None)

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        cases = tuple(map(self.planned, experiment.cases))
        return Plan(cases=cases, budget_seconds=experiment.budget)

    def say(self, run: int | None, event: Event) -> None:
        self.queue.put_nowait(Envelope(generation=1, run=run, event=event))


def in_process() -> FakeEngine:
    """One that measures, in this process: what counts is what is said of it."""
    from jaxtui.measure import experiment, inspection, ops

    def answer(work: Any) -> Sequence[Event]:
        if isinstance(work, Inspection):
            return list(inspection.run_inspection(work))
        return list(experiment.run(work))

    catalogue = tuple(op.info() for op in ops.OPS.values())
    return FakeEngine(up(ops=catalogue), answer)


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
        "notes": (Note(flag="inline", text="Nothing to overlap here."),),
    }
    if experiment.keep_samples:
        values["samples"] = Samples(ready=(1e-3,))
    ready = summarize([[1e-3, 1.1e-3, 1.2e-3]] * 8)
    return records.measurement(case, ready, **{**values, **changes})


def began(experiment: Experiment) -> list[Event]:
    return [RunStarted(cases=experiment.cases, budget_seconds=experiment.budget)]


def complete(experiment: Experiment, **changes: object) -> list[Event]:
    """Every case is measured; what is changed of it is changed of the first."""
    events = began(experiment)
    for index, case in enumerate(experiment.cases):
        events.append(CaseStarted(index=index, case=case))
        result = measured(case, experiment, **({} if index else changes))
        events.append(CaseMeasured(index=index, measurement=result))
    return [*events, RunFinished(outcome="complete", elapsed_seconds=1.0)]


def one_fails(experiment: Experiment) -> list[Event]:
    *events, finished = complete(experiment)
    failure = Failure(case=experiment.cases[0], error="No room.", hint="Go smaller.")
    events[2] = CaseFailed(index=0, failure=failure)
    return [*events, finished]


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupted(experiment: Experiment) -> list[Event]:
    """Ctrl-C after the first turn of the first case."""
    ctrl_c()
    case = experiment.cases[0]
    sampled = Sampled(
        index=0,
        round=1,
        calls=1,
        dispatch=(1e-5,),
        ready=(1e-3,),
        ready_median=1e-3,
        measurement=measured(case, experiment, stopped=None),
    )
    return [*began(experiment), CaseStarted(index=0, case=case), sampled]


def run(engine: FakeEngine, *arguments: str) -> int:
    return cli.main(arguments, engine=engine)
