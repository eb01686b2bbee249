"""An engine that says what a test wants, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

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
    Measurement,
    Note,
    OpInfo,
    Phases,
    Plan,
    Ready,
    RunFinished,
    RunStarted,
    Samples,
)
from tests.records import summarize

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
UP: tuple[Event, ...] = (
    Hello(pid=1, ops=OPS),
    Ready(host=HOST, devices=DEVICES, ops=OPS),
)


class FakeEngine:
    """An engine that says what a test wants, without a process."""

    generation = 1

    def __init__(
        self,
        opening: Sequence[Event] = UP,
        answer: Callable[[Experiment], Sequence[Event]] | None = None,
    ) -> None:
        self.opening = opening
        self.answer = answer or (lambda experiment: complete(experiment))
        self.asked: list[Experiment] = []
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

    async def run(self, experiment: Experiment) -> int:
        self.asked.append(experiment)
        for event in self.answer(experiment):
            self.say(1, event)
        return 1

    async def stop(self) -> None:
        self.stopped += 1
        self.say(1, RunFinished(outcome="cancelled", elapsed_seconds=1.0))

    async def close(self) -> None:
        self.closed = True
        self.queue.put_nowait(None)

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        raise NotImplementedError

    async def release(self) -> None:
        raise NotImplementedError

    async def refresh_memory(self) -> None:
        raise NotImplementedError

    def say(self, run: int | None, event: Event) -> None:
        self.queue.put_nowait(Envelope(generation=1, run=run, event=event))


def in_process() -> FakeEngine:
    """One that measures, in this process: what counts is what is said of it."""
    from jaxtui.measure import experiment, inspection, ops

    def answer(work: Experiment | Inspection) -> Sequence[Event]:
        inspects = isinstance(work, Inspection)
        run = inspection.run_inspection if inspects else experiment.run
        return list(run(work))  # type: ignore[arg-type, operator]

    catalogue = tuple(op.info() for op in ops.OPS.values())
    opening = [msgspec.structs.replace(one, ops=catalogue) for one in UP]
    return FakeEngine(opening, answer)


def measured(case: Case, experiment: Experiment, **changes: object) -> Measurement:
    ready = summarize([[1e-3, 1.1e-3, 1.2e-3]] * 8)
    samples = {"samples": Samples(ready=(1e-3,))} if experiment.keep_samples else {}
    values: dict[str, object] = {
        "case": case,
        "phases": Phases(first_call=2e-3),
        "dispatch": None if case.mode == "numpy" else summarize([[1e-5] * 3] * 8),
        "ready": ready,
        "pipelined_seconds": None if case.mode == "numpy" else 9e-4,
        "flops": 2.7e8,
        "bytes": 3.1e6,
        "flops_per_second": 2.7e11,
        "bytes_per_second": 3.2e9,
        "output_dtype": case.dtype,
        "error_vs_float64": 1e-7,
        "stopped": "target",
        "stable": True,
        "notes": (Note(flag="inline", text="Nothing to overlap here."),),
    }
    return Measurement(**{**values, **samples, **changes})


def began(experiment: Experiment) -> list[Event]:
    return [RunStarted(cases=experiment.cases, budget_seconds=experiment.budget)]


def complete(experiment: Experiment) -> list[Event]:
    events = began(experiment)
    for index, case in enumerate(experiment.cases):
        events.append(CaseStarted(index=index, case=case))
        result = measured(case, experiment)
        events.append(CaseMeasured(index=index, measurement=result))
    return [*events, RunFinished(outcome="complete", elapsed_seconds=1.0)]


def one_fails(experiment: Experiment) -> list[Event]:
    *events, finished = complete(experiment)
    failure = Failure(case=experiment.cases[0], error="No room.", hint="Go smaller.")
    events[2] = CaseFailed(index=0, failure=failure)
    return [*events, finished]


def run(engine: FakeEngine, *arguments: str) -> int:
    return cli.main(arguments, engine=engine)
