from __future__ import annotations

import asyncio
import os
import signal

import pytest

from jaxtui.engine.client import EngineUnavailableError
from jaxtui.model import (
    Busy,
    CaseFailed,
    CaseMeasured,
    EngineDied,
    EngineFailed,
    Hello,
    Memory,
    PhaseStarted,
    Progress,
    Ready,
    RunFinished,
    RunStarted,
    Sampled,
)


def in_turn(event):
    return isinstance(event, PhaseStarted) and event.phase == "turn"


async def test_handshake_comes_in_order_with_the_generation(open_engine):
    engine = await open_engine()
    hello = await engine.until(Hello)
    ready = await engine.until(Ready)
    assert hello.ops == ready.ops
    assert ready.devices[0].name == "cpu:0"
    assert {seen.generation for seen in engine.seen} == {1}
    assert engine.client.generation == 1


async def test_a_run_tells_everything_from_start_to_finish(open_engine, experiment):
    engine = await open_engine()
    number = await engine.client.run(experiment("quick", "quick"))
    finished = await engine.until(RunFinished)
    assert finished.outcome == "complete"
    events = [seen.event for seen in engine.seen if seen.run == number]
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert [event.index for event in engine.of(CaseMeasured)] == [0, 1]


async def test_runs_follow_each_other(open_engine, experiment):
    engine = await open_engine()
    for expected in (1, 2, 3):
        assert await engine.client.run(experiment("quick")) == expected
        await engine.until(RunFinished)
    assert not engine.of(Busy)


async def test_a_second_run_is_busy_and_disturbs_nothing(open_engine, experiment):
    engine = await open_engine()
    number = await engine.client.run(experiment("long"))
    await engine.until(Sampled)
    assert await engine.client.run(experiment("quick")) == number
    busy = await engine.until(Busy)
    assert busy.run == number
    await engine.client.stop()
    assert (await engine.until(RunFinished)).outcome == "cancelled"
    assert len(engine.of(RunStarted)) == 1


async def test_stop_ends_a_run_between_turns_in_the_same_engine(
    open_engine, experiment
):
    engine = await open_engine(grace_seconds=20.0)
    await engine.client.run(experiment("long"))
    await engine.until(Sampled)
    await engine.client.stop()
    assert (await engine.until(RunFinished)).outcome == "cancelled"
    assert engine.of(CaseMeasured)[0].measurement.stopped == "cancelled"
    assert engine.client.generation == 1


@pytest.mark.parametrize("op", ["stuck", "gil"])
async def test_a_stuck_run_is_killed_and_cancelled(
    open_engine, experiment, ends_within, op
):
    engine = await open_engine(grace_seconds=0.2)
    pid = await engine.pid()
    await engine.client.run(experiment("quick", (op, 2)))
    await engine.until(PhaseStarted, when=lambda e: in_turn(e) and e.index == 1)
    await engine.until(PhaseStarted, when=lambda e: in_turn(e) and e.index == 1)
    await engine.client.stop()
    assert (await engine.until(RunFinished)).outcome == "cancelled"
    kept = {event.index: event.measurement for event in engine.of(CaseMeasured)}
    assert {index: kept[index].stopped for index in kept} == {
        0: "cancelled",
        1: "cancelled",
    }
    assert not kept[1].stable
    assert ends_within(pid, 0)
    await engine.until(Ready)
    assert engine.client.generation == 2
    assert not engine.of(EngineDied)


async def test_a_case_stuck_before_its_first_sample_fails_when_stopped(
    open_engine, experiment
):
    engine = await open_engine(grace_seconds=0.2)
    await engine.client.run(experiment("stuck", "quick"))
    await engine.until(PhaseStarted)
    await engine.client.stop()
    await engine.until(RunFinished)
    assert [event.index for event in engine.of(CaseFailed)] == [0]


async def test_an_engine_that_dies_while_it_is_stopped_ends_the_run_cancelled(
    open_engine, experiment
):
    engine = await open_engine(grace_seconds=60.0)
    pid = await engine.pid()
    await engine.client.run(experiment(("stuck", 1), "quick"))
    await engine.until(PhaseStarted, when=in_turn)
    stopping = asyncio.ensure_future(engine.client.stop())
    await asyncio.sleep(0)  # let it ask
    os.kill(pid, signal.SIGKILL)
    await engine.until(EngineDied)
    assert (await engine.until(RunFinished)).outcome == "cancelled"
    await stopping
    await engine.until(Ready)
    assert engine.client.generation == 2


async def test_a_run_whose_engine_cannot_come_back_gives_every_case_an_outcome(
    open_engine, experiment
):
    engine = await open_engine(environment={"FAKE_START": "refuse again"})
    await engine.client.run(experiment("quick", ("abort", 2), "quick", ("kill", 3)))
    assert (await engine.until(RunFinished)).outcome == "crashed"
    outcomes = engine.of(CaseMeasured, CaseFailed)
    assert sorted(event.index for event in outcomes) == [0, 1, 2, 3]
    # All had been sampled once, so what had arrived stands.
    assert {event.measurement.stopped for event in outcomes} == {"crashed"}
    assert "no backend" in outcomes[-1].measurement.notes[-1].text


async def test_stop_without_a_run_does_nothing(open_engine):
    engine = await open_engine()
    await engine.client.stop()
    await engine.until(Ready)


async def test_after_a_kill_the_rest_resumes_under_the_same_run_and_indices(
    open_engine, experiment
):
    engine = await open_engine()
    number = await engine.client.run(experiment("quick", ("stuck", 2), "quick"))
    for then in ("tried once more", "the rest goes on"):
        pid = await engine.pid()
        await engine.until(PhaseStarted, when=lambda e: in_turn(e) and e.index == 2)
        await engine.until(PhaseStarted, when=lambda e: in_turn(e) and e.index == 1)
        os.kill(pid, signal.SIGKILL)
        died = await engine.until(EngineDied)
        assert died.returncode == -signal.SIGKILL
        assert "SIGKILL" in died.error
        assert "stuck 2 float32 jit on cpu:0" in died.error
        assert then in died.error
        assert len(engine.of(CaseMeasured)) == 0
    crashed = await engine.until(CaseMeasured)
    assert crashed.index == 1
    assert crashed.measurement.stopped == "crashed"
    assert crashed.measurement.has("crashed")
    assert not crashed.measurement.stable
    finished = await engine.until(RunFinished)
    assert finished.outcome == "crashed"
    measured = {event.index: event.measurement for event in engine.of(CaseMeasured)}
    assert sorted(measured) == [0, 1, 2]
    assert [measured[index].stopped for index in (0, 2)] == ["target", "target"]
    assert [measured[index].case.op for index in range(3)] == [
        "quick",
        "stuck",
        "quick",
    ]
    assert len(engine.of(RunStarted)) == 1
    assert {seen.run for seen in engine.seen if seen.run is not None} == {number}
    assert engine.seen[-1].generation == 3


async def test_progress_counts_on_after_a_restart(open_engine, experiment):
    engine = await open_engine()
    await engine.client.run(experiment(("abort", 0), "quick"))
    finished = await engine.until(RunFinished)
    # The fake core always says 1 s; what went before is added.
    assert all(event.elapsed_seconds > 1.0 for event in engine.of(Progress))
    assert finished.elapsed_seconds > 1.0


@pytest.mark.parametrize(
    ("op", "name"),
    [("abort", "SIGABRT"), ("segfault", "SIGSEGV"), ("exit", "exit code 7")],
)
async def test_a_case_that_kills_the_engine_at_once_fails_and_the_rest_goes_on(
    open_engine, experiment, op, name
):
    engine = await open_engine()
    await engine.client.run(experiment("quick", (op, 0), "quick"))
    await engine.until(RunFinished)
    (failed,) = engine.of(CaseFailed)
    assert failed.index == 1
    assert name in failed.failure.error
    assert failed.failure.case.op == op
    assert sorted(event.index for event in engine.of(CaseMeasured)) == [0, 2]


async def test_the_last_words_of_a_crash_are_in_the_log(open_engine, experiment):
    engine = await open_engine()
    await engine.client.run(experiment("abort"))
    await engine.until(EngineDied)
    assert any("Fatal Python error: Aborted" in line for line in engine.log())


async def test_every_crashing_case_is_tried_twice(open_engine, experiment):
    engine = await open_engine()
    await engine.client.run(
        experiment(("abort", 0), ("kill", 2), "quick", ("abort", 1))
    )
    assert (await engine.until(RunFinished)).outcome == "crashed"
    assert len(engine.of(EngineDied)) == 6
    assert (
        engine.of(RunStarted)[0].cases
        == experiment(("abort", 0), ("kill", 2), "quick", ("abort", 1)).cases
    )
    outcomes = {e.index: "measured" for e in engine.of(CaseMeasured)} | {
        e.index: "failed" for e in engine.of(CaseFailed)
    }
    assert len(engine.of(CaseMeasured, CaseFailed)) == 4
    # The last one had been sampled before it was the turn of the second.
    assert outcomes == {0: "failed", 1: "measured", 2: "measured", 3: "failed"}


async def test_a_crash_of_the_only_case_ends_the_run(open_engine, experiment):
    engine = await open_engine()
    await engine.client.run(experiment(("kill", 0)))
    assert (await engine.until(RunFinished)).outcome == "crashed"
    await engine.until(Ready)
    await engine.client.run(experiment("quick"))
    assert (await engine.until(RunFinished)).outcome == "complete"


async def test_an_idle_engine_that_dies_is_started_again(open_engine):
    engine = await open_engine()
    pid = await engine.pid()
    await engine.until(Ready)
    os.kill(pid, signal.SIGTERM)
    died = await engine.until(EngineDied)
    assert "SIGTERM" in died.error
    await engine.until(Ready)
    assert engine.client.generation == 2


async def test_one_that_dies_whenever_it_is_ready_is_given_up(open_engine, experiment):
    engine = await open_engine()
    for generation in range(1, 5):
        pid = await engine.pid()
        await engine.until(Ready)
        os.kill(pid, signal.SIGKILL)
        died = await engine.until(EngineDied)
        assert died.restarts == (generation < 4)
    assert "not started again" in died.error
    # Whoever asks for a run gets a new one, and four more chances.
    await engine.client.run(experiment("quick"))
    assert (await engine.until(RunFinished)).outcome == "complete"
    assert engine.client.generation == 5


async def test_an_engine_that_never_gets_ready_is_given_up(open_engine, experiment):
    engine = await open_engine(environment={"FAKE_START": "exit"})
    with pytest.raises(EngineUnavailableError):
        await engine.client.run(experiment("quick"))
    await engine.finish()
    assert len(engine.of(EngineDied)) == 4
    assert engine.client.generation == 4


async def test_a_refusal_is_told_and_the_engine_stays_down(open_engine, experiment):
    engine = await open_engine(environment={"FAKE_START": "refuse"})
    with pytest.raises(EngineUnavailableError) as caught:
        await engine.client.run(experiment("quick"))
    assert caught.value.failed.hint == "get one"
    await engine.until(EngineFailed)
    await engine.finish()
    assert not engine.of(EngineDied, Ready)
    assert engine.client.generation == 1


async def test_a_fault_at_the_start_is_internal_with_its_traceback(open_engine):
    engine = await open_engine(environment={"FAKE_START": "fail"})
    failed = await engine.until(EngineFailed)
    assert failed.reason == "internal"
    assert "the core stumbled" in failed.error
    assert "Traceback" in failed.detail


@pytest.mark.parametrize("how", ["stuck", "gil"])
async def test_an_engine_that_hangs_at_the_start_can_be_closed(
    open_engine, experiment, ends_within, how
):
    engine = await open_engine(environment={"FAKE_START": how}, grace_seconds=0.3)
    pid = await engine.pid()
    waiting = asyncio.ensure_future(engine.client.run(experiment("quick")))
    await engine.client.stop()
    await engine.finish()
    assert ends_within(pid, 0)
    with pytest.raises(EngineUnavailableError):
        await waiting


async def test_a_command_that_does_not_exist_is_told(fake_options):
    from jaxtui.engine.client import EngineClient

    client = EngineClient(fake_options(command=("/nonexistent/python",)))
    with pytest.raises(EngineUnavailableError, match="nonexistent"):
        await client.start()
    await client.close()
    events = [envelope.event async for envelope in client.events()]
    assert [type(event) for event in events] == [EngineFailed]


async def test_a_fault_of_the_core_ends_the_run_but_not_the_engine(
    open_engine, experiment
):
    engine = await open_engine()
    await engine.client.run(experiment("quick", ("fail", 2), "quick"))
    assert (await engine.until(RunFinished)).outcome == "crashed"
    marked = {event.index: event.measurement for event in engine.of(CaseMeasured)}
    assert [marked[index].stopped for index in range(3)] == ["crashed"] * 3
    assert any("the core stumbled" in line for line in engine.log())
    await engine.client.run(experiment("quick"))
    assert (await engine.until(RunFinished)).outcome == "complete"
    assert engine.client.generation == 1


async def test_a_fault_before_the_first_sample_fails_the_cases(open_engine, experiment):
    engine = await open_engine()
    await engine.client.run(experiment("fail", "quick"))
    await engine.until(RunFinished)
    assert [event.index for event in engine.of(CaseFailed)] == [0, 1]
    assert "the core stumbled" in engine.of(CaseFailed)[0].failure.error


async def test_the_log_takes_any_bytes_and_any_length(open_engine, experiment):
    engine = await open_engine()
    await engine.client.run(experiment("print"))
    await engine.until(RunFinished)
    await engine.finish()
    log = engine.log()
    assert "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} red \x00 tail" in log
    assert sum(line.count("x") for line in log if set(line) == {"x"}) == 300_000
    assert "after the long line" in log
    assert "unfinished" in log


async def test_a_plan_is_answered(open_engine, experiment):
    engine = await open_engine()
    asked = experiment("quick", "quick")
    plans = await asyncio.gather(
        engine.client.plan(asked), engine.client.plan(experiment("quick"))
    )
    assert [len(plan.cases) for plan in plans] == [2, 1]
    assert plans[0].budget_seconds == asked.budget


async def test_a_plan_that_the_core_stumbles_over_is_answered_too(
    open_engine, experiment
):
    engine = await open_engine()
    plan = await engine.client.plan(experiment("fail"))
    assert "the core stumbled" in plan.cases[0].problem.error


async def test_a_plan_that_kills_the_engine_is_asked_twice_and_refused(
    open_engine, experiment
):
    engine = await open_engine()
    with pytest.raises(EngineUnavailableError):
        await engine.client.plan(experiment("abort"))
    assert (await engine.client.plan(experiment("quick"))).cases


async def test_memory_is_told(open_engine):
    engine = await open_engine()
    await engine.until(Ready)
    await engine.client.refresh_memory()
    assert (await engine.until(Memory)).devices == {"cpu:0": {"bytes_in_use": 1}}


async def test_release_ends_the_process_and_the_next_run_starts_one(
    open_engine, experiment, ends_within
):
    engine = await open_engine(grace_seconds=20.0)
    pid = await engine.pid()
    await engine.until(Ready)
    await engine.client.release()
    assert ends_within(pid, 0)
    await engine.client.release()
    await engine.client.run(experiment("quick"))
    await engine.until(RunFinished)
    assert engine.client.generation == 2
    assert not engine.of(EngineDied)


async def test_a_run_that_is_asked_for_during_a_release_gets_a_new_engine(
    open_engine, experiment
):
    engine = await open_engine(grace_seconds=20.0)
    await engine.until(Ready)
    _, number = await asyncio.gather(
        engine.client.release(), engine.client.run(experiment("quick"))
    )
    assert (await engine.until(RunFinished)).outcome == "complete"
    assert (number, engine.client.generation) == (1, 2)


async def test_release_cancels_a_run(open_engine, experiment):
    engine = await open_engine(grace_seconds=0.5)
    await engine.client.run(experiment("long"))
    await engine.until(Sampled)
    await engine.client.release()
    assert (await engine.until(RunFinished)).outcome == "cancelled"
    assert engine.of(CaseMeasured)[0].measurement.stopped == "cancelled"


async def test_close_ends_the_process_and_the_events(
    open_engine, experiment, ends_within
):
    engine = await open_engine(grace_seconds=20.0)
    pid = await engine.pid()
    await engine.until(Ready)
    await engine.finish()
    assert ends_within(pid, 0)
    with pytest.raises(EngineUnavailableError):
        await engine.client.run(experiment("quick"))


async def test_close_during_a_run_leaves_nothing(open_engine, experiment, ends_within):
    engine = await open_engine()
    pid = await engine.pid()
    await engine.client.run(experiment("stuck"))
    await engine.until(PhaseStarted)
    await engine.finish()
    assert ends_within(pid, 0)
    assert engine.of(RunFinished)[0].outcome == "cancelled"


async def test_a_process_that_was_spawned_before_is_used(fake_options, ends_within):
    from jaxtui.engine.client import EngineClient, EngineProcess

    options = fake_options()
    process = EngineProcess.spawn(options)
    client = EngineClient(options, process)
    await client.start()
    async for envelope in client.events():
        if isinstance(envelope.event, Hello):
            assert envelope.event.pid == process.popen.pid
            break
    await client.close()
    assert ends_within(process.popen.pid, 0)


async def test_a_process_that_nobody_attached_is_ended_by_close(fake_options):
    from jaxtui.engine.client import EngineClient, EngineProcess

    options = fake_options()
    process = EngineProcess.spawn(options)
    await EngineClient(options, process).close()
    assert process.popen.poll() is not None
