"""The client with engines whose core is made up: they serve, die and come back."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import msgspec
import pytest

from jaxtui.core.engine import client, connection, silence
from jaxtui.core.engine.active import ActiveRun
from jaxtui.core.engine.client import (
    EngineClient,
    EngineProcess,
    EngineUnavailableError,
)
from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    EngineDied,
    EngineFailed,
    Hello,
    Memory,
    PhaseStarted,
    Ready,
    RunFinished,
    RunStarted,
    Sampled,
    Waiting,
)
from tests.processes import LIMIT_SECONDS, alive


def in_turn(event: Any) -> Any:
    return isinstance(event, PhaseStarted) and event.phase == "turn"


async def test_one_engine_serves_run_after_run(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine(grace_seconds=600.0)
    await engine.stop()  # there is no run: nothing happens
    hello = await engine.until(Hello)
    ready = await engine.until(Ready)
    assert hello.ops == ready.ops
    assert ready.devices[0].name == "cpu:0"
    number = await engine.run(experiment("quick", "quick"))
    assert (await engine.until(RunFinished)).outcome == "complete"
    events = [seen.event for seen in engine.seen if seen.run == number]
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert [event.index for event in engine.of(CaseMeasured)] == [0, 1]
    assert await engine.run(experiment("long")) == number + 1
    await engine.until(Sampled)
    await engine.stop()
    assert (await engine.until(RunFinished)).outcome == "cancelled"
    assert engine.of(CaseMeasured)[-1].measurement.stopped == "cancelled"
    assert await engine.run(experiment("quick")) == number + 2
    assert (await engine.until(RunFinished)).outcome == "complete"
    assert len(engine.of(RunStarted)) == 3
    # An event with many samples arrives whole.
    await engine.run(experiment("large"))
    await engine.until(RunFinished)
    large = [e for e in engine.of(Sampled) if e.measurement.case.op == "large"]
    assert {len(event.ready) for event in large} == {20_000}
    assert {seen.generation for seen in engine.seen} == {1}


async def test_plans_and_memory_are_told(open_engine: Any, experiment: Any) -> None:
    engine = await open_engine()
    first = experiment("quick", "quick")
    plans = await asyncio.gather(
        engine.client.plan(first), engine.client.plan(experiment("quick"))
    )
    assert [len(plan.cases) for plan in plans] == [2, 1]
    assert plans[0].budget_seconds == first.budget
    stumbled = await engine.client.plan(experiment("fail"))
    assert stumbled.cases[0].problem.remark.code == "fault"
    await engine.client.refresh_memory()
    assert (await engine.until(Memory)).devices == {"cpu:0": {"bytes_in_use": 1}}
    # One that kills the engine is refused; the next engine answers others.
    with pytest.raises(EngineUnavailableError, match="engine-gone"):
        await asyncio.wait_for(engine.client.plan(experiment("abort")), LIMIT_SECONDS)
    assert (await engine.client.plan(experiment("quick"))).cases
    assert engine.client.generation == 2


async def test_a_fault_of_the_core_ends_the_run_but_not_the_engine(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine()
    await engine.run(experiment("quick", ("fail", 2), "quick"))
    assert (await engine.until(RunFinished)).outcome == "crashed"
    assert [event.index for event in engine.of(CaseFailed)] == [1]
    assert engine.of(CaseFailed)[0].failure.remark.code == "fault"
    assert any("the core stumbled" in line for line in engine.log())
    # What is no event is logged and harmless.
    await engine.run(experiment("garble"))
    assert (await engine.until(RunFinished)).outcome == "complete"
    assert sum(line.startswith("event: ") for line in engine.log()) == 2
    # The log takes any bytes and any length.
    await engine.run(experiment("print"))
    assert (await engine.until(RunFinished)).outcome == "complete"
    await engine.finish()
    log = engine.log()
    assert "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} red \x00 tail" in log
    assert sum(line.count("x") for line in log if set(line) == {"x"}) == 300_000
    assert "after the long line" in log
    assert "unfinished" in log
    assert engine.client.generation == 1


async def test_a_stuck_run_is_killed_and_cancelled(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine(grace_seconds=0.2)
    pid = await engine.pid()
    await engine.run(experiment("quick", ("stuck", 2)))
    for _ in range(2):
        await engine.until(PhaseStarted, when=lambda e: in_turn(e) and e.index == 1)
    # One that takes no signal but the last.
    os.kill(pid, signal.SIGSTOP)
    await engine.stop()
    assert not alive(pid)
    assert (await engine.until(RunFinished)).outcome == "cancelled"
    assert not engine.of(CaseMeasured, CaseFailed)
    assert len(engine.of(EngineDied)) == 1
    await engine.run(experiment("quick"))
    assert (await engine.until(RunFinished)).outcome == "complete"
    assert engine.client.generation == 2


async def test_an_engine_that_dies_while_it_is_stopped_ends_the_run_cancelled(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine(grace_seconds=60.0)
    pid = await engine.pid()
    await engine.run(experiment(("stuck", 1), "quick"))
    await engine.until(PhaseStarted, when=in_turn)
    stopping = asyncio.ensure_future(engine.client.stop())
    await asyncio.sleep(0)  # let it ask
    os.kill(pid, signal.SIGKILL)
    await engine.until(EngineDied)
    assert (await engine.until(RunFinished)).outcome == "cancelled"
    await stopping


async def test_a_death_ends_the_case_it_was_at_and_the_next_run_has_a_new_engine(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine()
    pid = await engine.pid()
    await engine.run(experiment("quick", ("stuck", 2), "quick"))
    await engine.until(PhaseStarted, when=lambda e: in_turn(e) and e.index == 2)
    await engine.until(PhaseStarted, when=lambda e: in_turn(e) and e.index == 1)
    os.kill(pid, signal.SIGABRT)
    died = await engine.until(EngineDied)
    assert died.returncode == -signal.SIGABRT
    label = "stuck 2 float32 jit on cpu:0"
    facts = {"signal": "SIGABRT", "ready": True, "case": label}
    assert (died.remark.code, died.remark.facts) == ("engine-died", facts)
    assert (await engine.until(RunFinished)).outcome == "crashed"
    # What is left is its caller's.
    assert [event.index for event in engine.of(CaseFailed, CaseMeasured)] == [1]
    assert engine.of(CaseFailed)[0].failure.remark == died.remark
    await engine.run(experiment("quick"))
    assert (await engine.until(RunFinished)).outcome == "complete"
    assert engine.client.generation == 2


async def test_an_engine_that_dies_idle_is_followed_when_there_is_work(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine()
    pid = await engine.pid()
    await engine.until(Ready)
    os.kill(pid, signal.SIGTERM)
    assert (await engine.until(EngineDied)).remark.facts["signal"] == "SIGTERM"
    assert engine.client.generation == 1
    await engine.run(experiment("quick"))
    assert (await engine.until(RunFinished)).outcome == "complete"
    assert engine.client.generation == 2


@pytest.mark.parametrize("asked", ["run", "plan"])
async def test_one_that_hangs_is_ended(
    open_engine: Any, experiment: Any, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    engine = await open_engine()
    pid = await engine.pid()
    await engine.until(Ready)
    work = experiment("long")
    if asked == "run":
        await engine.run(work)
        await engine.until(Sampled)
    os.kill(pid, signal.SIGSTOP)
    limits = silence.Limits(0.3, 600.0)
    monkeypatch.setattr(client, "Limits", lambda: limits)
    monkeypatch.setattr(ActiveRun, "limits", limits)
    monkeypatch.setattr(silence, "NARRATED_SECONDS", 0.1)
    # However late this process is, it looks between the two.
    monkeypatch.setattr(silence, "_LOOK_SECONDS", 0.05)
    if asked == "plan":
        with pytest.raises(EngineUnavailableError) as caught:
            await engine.client.plan(work)
        assert caught.value.remark.code == "engine-hung"
    died = await engine.until(EngineDied)
    assert died.remark.code == "engine-hung"
    (waiting,) = engine.of(Waiting)
    assert waiting.remark.code == "engine-silent"
    if asked == "run":
        finished = await engine.until(RunFinished)
        assert finished.outcome == "crashed"
        assert engine.of(CaseFailed)[0].failure.remark == died.remark
    assert not alive(pid)


async def test_one_that_no_signal_ends_is_left_behind(
    open_engine: Any, experiment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a driver hangs: the process is in state D and cannot be killed."""
    for name in ("KILL_SECONDS", "_EXIT_SECONDS", "_DRAIN_SECONDS"):
        monkeypatch.setattr(connection, name, 0.1)
    kill = EngineProcess.kill
    engine = await open_engine(grace_seconds=0.1)
    pid = await engine.pid()
    await engine.run(experiment("long"))
    await engine.until(Sampled)
    os.kill(pid, signal.SIGSTOP)
    processes: list[EngineProcess] = []
    monkeypatch.setattr(EngineProcess, "kill", lambda one: processes.append(one))
    await engine.stop()
    assert (await engine.until(RunFinished)).outcome == "cancelled"
    await engine.finish()
    kill(processes[0])


@pytest.mark.parametrize(
    ("wrong", "code", "facts", "detail"),
    [
        ("refuse", "no-tpu", {}, ""),
        ("fail", "fault", {}, "Traceback"),
        ("exit", "engine-died", {"status": 7, "ready": False}, ""),
    ],
)
async def test_one_that_cannot_serve_says_why_and_stays_down(
    open_engine: Any,
    experiment: Any,
    wrong: str,
    code: str,
    facts: dict[str, Any],
    detail: str,
) -> None:
    engine = await open_engine(environment={"FAKE_START": wrong})
    with pytest.raises(EngineUnavailableError) as caught:
        await engine.run(experiment("quick"))
    failed = await engine.until(EngineFailed)
    assert caught.value.remark == failed.remark
    assert failed.remark.code == code
    assert facts.items() <= failed.remark.facts.items()
    assert detail in failed.remark.detail
    await engine.finish()
    assert not engine.of(EngineDied, Ready)
    assert engine.client.generation == 1


async def test_an_engine_that_hangs_at_the_start_can_be_closed(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine(environment={"FAKE_START": "gil"}, grace_seconds=0.3)
    pid = await engine.pid()
    run = asyncio.ensure_future(engine.client.run(experiment("quick")))
    await engine.stop()
    await engine.finish()
    assert not alive(pid)
    with pytest.raises(EngineUnavailableError):
        await run


async def test_a_command_that_does_not_exist_is_told(fake_options: Any) -> None:
    client = EngineClient(fake_options(command=("/nonexistent/python",)))
    with pytest.raises(EngineUnavailableError, match="engine-unstartable"):
        await client.start()
    await client.close()
    events = [envelope.event async for envelope in client.events()]
    assert [type(event) for event in events] == [EngineFailed]


async def test_release_ends_the_process_and_the_next_run_starts_one(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine(grace_seconds=20.0)
    pid = await engine.pid()
    await engine.until(Ready)
    await engine.client.release()
    assert not alive(pid)
    await engine.client.release()
    await engine.run(experiment("quick"))
    await engine.until(RunFinished)
    assert engine.client.generation == 2
    # Also one that is asked for meanwhile.
    _, number = await asyncio.gather(
        engine.client.release(), engine.client.run(experiment("quick"))
    )
    assert (await engine.until(RunFinished)).outcome == "complete"
    assert (number, engine.client.generation) == (2, 3)
    assert not engine.of(EngineDied)
    # A run that lasts is cancelled.
    await engine.run(experiment("long"))
    await engine.until(Sampled, when=lambda e: e.measurement.case.op == "long")
    await engine.client.release()
    assert (await engine.until(RunFinished)).outcome == "cancelled"


async def test_each_of_several_processes_is_an_engine_in_which_nothing_has_run(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine(grace_seconds=20.0)
    several = msgspec.structs.replace(experiment("quick"), processes=2)
    generations = []
    for work in (several, several, experiment("quick"), several):
        await engine.run(work)
        await engine.until(RunFinished)
        generations.append(engine.client.generation)
    assert generations == [1, 2, 2, 3]
    assert not engine.of(EngineDied)


async def test_close_during_a_run_leaves_nothing(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine()
    pid = await engine.pid()
    await engine.run(experiment("stuck"))
    await engine.until(PhaseStarted)
    await engine.finish()
    assert not alive(pid)
    assert engine.of(RunFinished)[0].outcome == "cancelled"
    with pytest.raises(EngineUnavailableError):
        await engine.run(experiment("quick"))
