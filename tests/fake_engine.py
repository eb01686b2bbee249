"""An engine that says what the test wants: the real interface, no process."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from jaxtui.core.engine.client import EngineOptions
from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import (
    Case,
    CaseMeasured,
    CaseStarted,
    Check,
    Device,
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Hello,
    Holder,
    Logged,
    Loop,
    LoopCall,
    LoopClock,
    LoopMeasured,
    Measurement,
    Memory,
    Peak,
    PhaseMeasured,
    Phases,
    PhaseStarted,
    Plan,
    PlannedCase,
    Progress,
    Ready,
    Recipe,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Sampled,
    Snippet,
    SnippetShown,
    SnippetTimed,
    Summary,
    Timed,
    Timing,
    Value,
)
from tests import records
from tests.features.check import check_figures
from tests.records import planned, told

HOST = records.host(
    "vm",
    python="3.12.1",
    jax="0.12.0",
    jaxlib="0.12.0",
    numpy="2.3.1",
    platform_version="TPU v5 lite",
    cpu_model="AMD EPYC 7B12",
    cpu_count=2,
    plugins={"libtpu": "0.0.30"},
    memory_bytes=16 * 2**30,
)

FLOATS = ("float64", "float32", "float16", "bfloat16")
OPS = (
    records.op(
        *("matmul", *FLOATS),
        summary="Matrix product.",
        size_means="n of n×n",
        flops="2 n³",
        bytes="3 n²",
        maximum=16384,
        takes_precision=True,
    ),
    records.op(
        *("selu", *FLOATS),
        summary="SELU.",
        size_means="number of elements",
        flops="5 n",
        bytes="2 n",
        default=1_000_000,
    ),
)


def cpu_devices(count: int = 1, simulated: bool = False) -> tuple[Device, ...]:
    facts = {"simulated": simulated, "attributes": {"client": "cpu client"}}
    return tuple(
        records.device(f"cpu:{index}", local_hardware_id=index, **facts)
        for index in range(count)
    )


def tpu_devices() -> tuple[Device, ...]:
    """A v5litepod-8."""
    return tuple(
        records.device(
            f"tpu:{index}",
            device_kind="TPU v5 lite",
            local_hardware_id=index,
            coords=(index % 4, index // 4, 0),
            core_on_chip=0,
            slice_index=0,
            memory={
                "bytes_in_use": 10_000_000 * (index + 1),
                "bytes_reserved": 0,
                "bytes_limit": 16_909_336_064,
            },
        )
        for index in range(8)
    )


def seconds_of(case: Case) -> tuple[float | None, float]:
    """Dispatch and ready of an imagined machine."""
    work = 2e-12 * case.size**3 if case.op == "matmul" else 1e-9 * case.size
    if case.mode == "numpy":
        return None, 5 * work + 2e-6
    factor = 0.5 if case.dtype == "bfloat16" else 1.0
    return 56e-6, work * factor + 80e-6


def summary(median: float, n: int = 200, rounds: int = 12) -> Summary:
    return msgspec.structs.replace(
        records.summary(median, 0.004, n=n, rounds=rounds),
        mean=median * 1.02,
        mad=median * 0.01,
        p10=median * 0.98,
        p90=median * 1.05,
        p99=median * 1.2,
        max=median * 1.5,
    )


PHASES = Phases(
    transfer=1.3e-3,
    trace=0.9e-3,
    lower=3.1e-3,
    compile=0.344,
    first_call=1.1e-3,
    fetch=18e-3,
)


def measurement(case: Case, stopped: str | None = "target") -> Measurement:
    dispatch, ready = seconds_of(case)
    numpy = case.mode == "numpy"
    flops = 2.0 * case.size**3 if case.op == "matmul" else 5.0 * case.size
    accelerated = case.device.startswith("tpu")
    return records.measurement(
        case,
        summary(ready),
        phases=Phases() if numpy else PHASES,
        dispatch=None if dispatch is None else summary(dispatch),
        pipelined_seconds=None if numpy else ready * 0.98,
        flops=flops,
        bytes=12.0 * case.size**2,
        flops_per_second=flops / ready,
        bytes_per_second=12.0 * case.size**2 / ready,
        error_vs_float64=2.1e-7,
        stopped=stopped,
        notes=()
        if numpy
        else (Remark("host-bound", text="The host hands calls over too slowly."),),
        peak=Peak(
            flops_per_second=197e12, bytes_per_second=819e9, source="cloud.google.com"
        )
        if accelerated
        else None,
    )


RECIPE = Recipe(
    modules=("np",),
    function="def shape(shape):\n    return shape",
    arguments=("args = [3]",),
    call="np.zeros",
    wait="str",
)
"""Of every case."""


Answer = Callable[[Any], Iterable[Event] | AsyncIterator[Event]]
"""What an engine says of a work: at once, or one after the other."""


def up(**facts: Any) -> tuple[Hello, Ready]:
    """What an engine says when it starts; ``facts`` of its ``Ready`` may be others."""
    ready = {"host": HOST, "devices": cpu_devices(2), "ops": OPS, **facts}
    return Hello(pid=1, ops=ready["ops"]), Ready(**ready)


class FakeEngine:
    """The interface of a client of an engine, without a process.

    Args:
        answer: what it says of a work; by default experiments are played turn by turn,
            and all else comes at once.
        opening: what it says when it starts; by default that it is ready.
        plan: of each case; by default that it can run, with ``RECIPE`` if asked for.
        facts: of its ``Ready``, as in ``up``.
    """

    def __init__(
        self,
        answer: Answer | None = None,
        *,
        opening: Sequence[Event] | None = None,
        plan: Callable[[Case], PlannedCase] | None = None,
        **facts: Any,
    ) -> None:
        self.generation = 1
        self.calls: list[str] = []
        self.works: list[Any] = []
        self.options: EngineOptions | None = None
        """What it was made with, if by a command."""
        self.stopping = False
        """The run was asked to stop."""
        self.devices: tuple[Device, ...] = facts.pop("devices", cpu_devices(2))
        self._facts = facts
        self._opening = opening
        self._plan = plan
        self._run = 0
        self._events: asyncio.Queue[Envelope | None] = asyncio.Queue()
        self._script: asyncio.Task[None] | None = None
        self._gone = False
        self.answer: Answer
        if answer is None:
            self.answer_others(at_once)
        else:
            self.answer = answer

    def __call__(self, options: EngineOptions) -> FakeEngine:
        self.options, self._events = options, asyncio.Queue()
        return self

    def answer_others(self, answer: Answer) -> None:
        """Play experiments turn by turn, and answer all other works so."""
        self.answer = lambda work: (
            self.turns(work) if isinstance(work, Experiment) else answer(work)
        )

    @property
    def experiments(self) -> list[Experiment]:
        return [work for work in self.works if isinstance(work, Experiment)]

    # What it says.

    def emit(self, event: Event, run: int | None = None) -> None:
        self._events.put_nowait(
            Envelope(generation=self.generation, run=run, event=event)
        )

    def emit_run(self, *events: Event) -> None:
        for event in events:
            self.emit(event, None if isinstance(event, Logged) else self._run)

    def become_ready(self) -> None:
        self.emit(up(devices=self.devices, **self._facts)[1])

    def die(self) -> None:
        """It is gone, and its run with it; the next run starts another."""
        self._gone = True
        self.emit(
            EngineDied(returncode=-9, remark=told("The engine was killed (signal 9)."))
        )

    def held(self) -> None:
        holder = Holder(
            pid=4242, user="ada", command="python train.py", paths=("/dev/accel0",)
        )
        self.emit(
            EngineFailed(
                remark=told(
                    "The TPU is held by another process.",
                    "End process 4242 or wait for it, then press R.",
                ),
                holders=(holder,),
            )
        )

    # What it is asked for.

    async def start(self) -> None:
        self.calls.append("start")
        usual = up(devices=self.devices, **self._facts)
        for event in usual if self._opening is None else self._opening:
            self.emit(event)

    async def events(self) -> AsyncIterator[Envelope]:
        while (envelope := await self._events.get()) is not None:
            yield envelope

    async def run(self, work: Any) -> int:
        self.calls.append("run")
        if self._gone:
            self._gone = False
            self.generation += 1
            await self.start()
        self._run += 1
        self.stopping = False
        self.works.append(work)
        said = self.answer(work)
        if isinstance(said, AsyncIterator):
            self._script = asyncio.create_task(self._play(said))
        else:
            self.emit_run(*said)
        return self._run

    async def _play(self, events: AsyncIterator[Event]) -> None:
        async for event in events:
            self.emit_run(event)

    @property
    def _plays(self) -> bool:
        return self._script is not None and not self._script.done()

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        self.calls.append("plan")
        recipe = RECIPE if recipes else None
        plan = self._plan or partial(planned, recipe=recipe)
        cases = tuple(map(plan, experiment.cases))
        return Plan(cases=cases, budget_seconds=experiment.budget)

    async def stop(self) -> None:
        self.calls.append("stop")
        self.stopping = True
        if not self._plays:
            self.emit_run(RunFinished(outcome="cancelled", elapsed_seconds=1.0))

    async def release(self) -> None:
        self.calls.append("release")
        self._gone = True

    async def refresh_memory(self) -> None:
        self.calls.append("memory")
        self.emit(
            Memory(devices={device.name: device.memory for device in self.devices})
        )

    async def close(self) -> None:
        self.calls.append("close")
        self._events.put_nowait(None)

    async def turns(self, experiment: Experiment) -> AsyncIterator[Event]:
        """The cold path of each case, twelve turns of each, and the figures."""
        cases = experiment.cases
        yield began(experiment)
        for index, case in enumerate(cases):
            yield CaseStarted(index=index, case=case)
            phases = measurement(case).phases
            for phase in ("trace", "lower", "compile", "first_call"):
                seconds = getattr(phases, phase)
                if seconds is not None:
                    yield PhaseStarted(index=index, phase=phase)
                    await asyncio.sleep(0)
                    yield PhaseMeasured(index=index, phase=phase, seconds=seconds)
        rounds = 12
        for turn in range(rounds):
            for index, case in enumerate(cases):
                yield sampled(index, case, turn)
                await asyncio.sleep(0)
                yield Progress(
                    elapsed_seconds=experiment.budget * turn / rounds,
                    remaining_seconds=experiment.budget * (1 - turn / rounds),
                    doing=f"timing {case.label}",
                )
            if self.stopping:
                break
        for index, case in enumerate(cases):
            yield CaseMeasured(index=index, measurement=measurement(case))
        outcome = "cancelled" if self.stopping else "complete"
        yield RunFinished(outcome=outcome, elapsed_seconds=4.2)  # type: ignore[arg-type]


def began(experiment: Experiment) -> RunStarted:
    return RunStarted(cases=experiment.cases, budget_seconds=experiment.budget)


def begun(work: Any) -> Sequence[Event]:
    """Of an experiment only its begin: what else comes is the test's; else all."""
    return [began(work)] if isinstance(work, Experiment) else at_once(work)


def sampled(index: int, case: Case, turn: int, calls: int = 100) -> Sampled:
    """One turn of noisy calls."""
    noise = random.Random(1000 * index + turn)
    dispatch, ready = seconds_of(case)

    def jittered(middle: float) -> tuple[float, ...]:
        return tuple(middle * math.exp(noise.gauss(0, 0.05)) for _ in range(calls))

    handed = () if dispatch is None else jittered(dispatch)
    of = measurement(case, None)
    event = records.sampled(index, turn + 1, of, jittered(ready), handed)
    return msgspec.structs.replace(event, ready_median=ready)


def at_once(work: Loop | Snippet | Check) -> Sequence[RunEvent]:
    """All at once: 5 ms calls, 1 ms for each expression of a snippet, a test."""
    finished = RunFinished(outcome="complete", elapsed_seconds=1.0)
    if isinstance(work, Check):
        return check_figures.events(work)
    if isinstance(work, Loop):
        return [RunStarted(), looped(work), finished]
    events: list[RunEvent] = [RunStarted()]
    for part in work.parts:
        if isinstance(part, Timed):
            timing = Timing(name=part.name, seconds=summary(1e-3), once=part.once)
            events.append(SnippetTimed(timing=timing))
        else:
            error = "TypeError: not so" if part.raises else None
            value = Value(name=part.name, text="1.0", numbers=(1.0,), error=error)
            events.append(SnippetShown(value=value))
    return [*events, finished]


def looped(loop: Loop, each: float = 5e-3, dispatch: float = 2e-5) -> LoopMeasured:
    """As on a CPU: 32 calls are in flight at most, each result takes ``each`` s."""
    calls: list[LoopCall] = []
    now = 0.0
    for index in range(loop.calls):
        entered = now
        now += dispatch
        if index >= 32:
            now = max(now, calls[index - 32].ready)
        returned = now
        ready = max(returned, calls[-1].ready if calls else 0.0) + each
        waits = loop.style == "each"
        if waits:
            now = ready
        last = loop.style == "end" and index == loop.calls - 1
        calls.append(
            LoopCall(
                entered=entered,
                returned=returned,
                ready=ready,
                waited=ready if waits or last else None,
            )
        )
    total = calls[-1].ready
    through = now if loop.style == "never" else total
    factor = total / through
    clock = LoopClock(
        repeats=7,
        stopwatch_seconds=through,
        true_seconds=total,
        factor=(0.9 * factor, 1.1 * factor),
    )
    return LoopMeasured(
        loop=loop,
        calls=tuple(calls),
        watched=clock,
        undisturbed=clock,
        inline=False,
        queue_depth=32,
        flops=2e9,
    )
