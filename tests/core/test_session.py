"""The session: what the app and the commands ask of an engine, and what comes back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    EngineDied,
    Event,
    Experiment,
    Failure,
    Progress,
    Remark,
    RunFinished,
    RunStarted,
    Snippet,
    Work,
)
from jaxtui.core.session import RunRefusedError, Session, following
from jaxtui.core.state import EMPTY, Job, State
from jaxtui.ui.progress import job_text
from tests.fake_engine import FakeEngine, began, up
from tests.records import case, measurement, told

CASE = case()
EXPERIMENT = Experiment(cases=(CASE,), budget_seconds=1.0)
CASES = tuple(case(op=op) for op in ("a", "b", "c"))
SNIPPET = Snippet(title="a", setup="", parts=())


@dataclass(frozen=True)
class Steps:
    """A series of so many works."""

    left: int
    done: int = 0
    end: str = ""
    late: bool = False
    limit_seconds: float | None = None

    @property
    def next_work(self) -> Work | None:
        if self.end or not self.left:
            return None
        return Snippet(title=f"work {self.done}", setup="", parts=())

    def observe(self, event: Event) -> Steps:
        if not isinstance(event, RunFinished):
            return self
        return replace(self, left=self.left - 1, done=self.done + 1)

    def overdue(self) -> Steps:
        return replace(self, late=True)

    def stopped(self) -> Steps:
        return replace(self, end="stopped")

    def lost(self, why: Remark) -> Steps:
        return replace(self, end=why.code)


Opened = tuple[Any, Session[State]]


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    engine: Any = FakeEngine()
    engine.answer_others(lambda work: (RunStarted(), finished()))
    async with following(Session(engine, EMPTY)) as session:
        await session.ready()
        yield engine, session


def finished(outcome: Any = "complete") -> RunFinished:
    return RunFinished(outcome=outcome, elapsed_seconds=1.0)


def silent(engine: FakeEngine) -> None:
    """Its works begin, and end only when they are stopped."""
    engine.answer = lambda work: [
        began(work) if isinstance(work, Experiment) else RunStarted()
    ]


def dying(engine: FakeEngine, *fatal: str) -> None:
    """Each engine dies over the first case of these ops; what it has else is timed."""

    def answer(work: Experiment) -> list[Event]:
        events: list[Event] = [began(work)]
        for index, one in enumerate(work.cases):
            if one.op in fatal:
                failure = Failure(case=one, remark=told("It died."))
                failed = CaseFailed(index=index, failure=failure)
                return [*events, failed, finished("crashed")]
            events.append(CaseMeasured(index=index, measurement=measurement(one)))
        return [*events, finished()]

    engine.answer = answer


def timed(engine: FakeEngine, *seconds: float | str) -> None:
    """Each run has the next of these: what the case takes, or how the run ends."""
    left = list(seconds)

    def answer(work: Experiment) -> list[Event]:
        now = left.pop(0)
        if isinstance(now, str):
            return [began(work), finished(now)]
        measured = CaseMeasured(index=0, measurement=measurement(CASE, now))
        return [began(work), measured, finished()]

    engine.answer = answer


def later(engine: Any, act: Callable[[], Awaitable[object]], runs: int) -> None:
    """Let this come before its runs, but for the first ones."""
    run = engine.run

    async def late(work: Work) -> int | None:
        if len(engine.works) >= runs:
            await act()
        number: int | None = await run(work)
        return number

    engine.run = late


def held_up(engine: FakeEngine, runs: int = 0) -> tuple[asyncio.Event, asyncio.Event]:
    """A run was asked for, and it may begin."""
    asked, go = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        asked.set()
        await go.wait()

    later(engine, wait, runs)
    return asked, go


def lost(engine: FakeEngine, runs: int) -> None:
    """There is no engine after so many runs."""

    async def gone() -> None:
        raise EngineUnavailableError(Remark("gone"))

    later(engine, gone, runs)


async def soon(awaited: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(awaited, 60.0)


async def begun(
    engine: FakeEngine, session: Session[State], asked: Coroutine[Any, Any, Any]
) -> asyncio.Task[Any]:
    """A run that lasts until it is stopped."""
    silent(engine)
    task = asyncio.create_task(asked)
    await soon(session.until(lambda state: state.running))
    return task


async def test_one_run_at_a_time(opened: Opened) -> None:
    engine, session = opened
    first = await begun(engine, session, session.run(SNIPPET, "lesson"))
    for second in (session.run(EXPERIMENT), session.play(Steps(1), "check")):
        with pytest.raises(RunRefusedError, match="running"):
            await second
    await session.stop()
    assert (await soon(first)).outcome == "cancelled"
    assert session.state.message == ""


async def test_a_second_run_is_refused_while_the_engine_of_the_first_is_replaced(
    opened: Opened,
) -> None:
    engine, session = opened
    asked, go = held_up(engine)
    # The last run was of code that is not jaxtui's: the state still says ready.
    first = asyncio.create_task(session.run(EXPERIMENT))
    await asked.wait()
    assert (session.state.engine, session.state.busy) == ("ready", True)
    with pytest.raises(RunRefusedError, match="running"):
        await session.run(SNIPPET, "lesson")
    go.set()
    job = await soon(first)
    assert (job.purpose, job.work, job.outcome) == ("bench", EXPERIMENT, "complete")
    assert job.cases[0].measurement is not None
    assert session.state.jobs == {"bench": job}
    assert (session.has_run, session.lost) == (True, False)
    assert engine.works == [EXPERIMENT]


async def test_what_means_nothing_here_is_not_run(opened: Opened) -> None:
    engine, session = opened
    setting = Remark("setting", {"setting": "x", "value": "1", "refuses": "jax"})
    session.update(findings=(setting,))
    with pytest.raises(RunRefusedError) as caught:
        await session.run(EXPERIMENT)
    assert (caught.value.remark, engine.works) == (setting, [])


async def test_a_series_is_played_to_its_end(opened: Opened) -> None:
    engine, session = opened
    played = await session.play(Steps(3), "lesson")
    assert played.done == 3
    titles = [getattr(work, "title", "") for work in engine.works]
    assert titles == ["work 0", "work 1", "work 2"]
    assert session.state.series["lesson"] is played
    assert (session.state.played_seconds, session.state.busy) == (3.0, False)
    # One that then loses its engine keeps what had arrived.
    lost(engine, 0)
    with pytest.raises(EngineUnavailableError):
        await session.play(replace(played, left=2), "lesson")
    assert session.state.series["lesson"] == Steps(2, done=3, end="gone")
    assert not session.state.busy


async def test_a_stop_ends_the_series_too(opened: Opened) -> None:
    engine, session = opened
    playing = await begun(engine, session, session.play(Steps(3), "lesson"))
    await session.stop()
    played = await soon(playing)
    assert (played.end, played.done, len(engine.works)) == ("stopped", 1, 1)


async def test_a_stop_while_the_engine_comes_up_ends_the_run_as_it_begins(
    opened: Opened,
) -> None:
    engine, session = opened
    silent(engine)
    asked, go = held_up(engine)
    playing = asyncio.create_task(session.play(Steps(3), "lesson"))
    await asked.wait()
    await session.stop()
    go.set()
    assert ((await soon(playing)).end, len(engine.works)) == ("stopped", 1)


async def test_a_work_that_takes_too_long_is_ended(opened: Opened) -> None:
    engine, session = opened
    silent(engine)
    played = await soon(session.play(Steps(1, limit_seconds=0.01), "check"))
    assert (played.late, played.end, played.done) == (True, "", 1)
    assert "stop" in engine.calls


async def test_one_that_is_cancelled_is_stopped(opened: Opened) -> None:
    engine, session = opened
    playing = await begun(engine, session, session.play(Steps(3), "lesson"))
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    # The run that was cut short is over as well, for the history too.
    series: Any = session.state.series["lesson"]
    assert series.end == "stopped"
    assert session.state.job is None


async def test_an_engine_that_ends_leaves_nobody_waiting(opened: Opened) -> None:
    engine, session = opened
    running = await begun(engine, session, session.run(EXPERIMENT))
    await engine.close()
    assert ((await soon(running)).outcome, session.lost) == ("crashed", True)
    with pytest.raises(EngineUnavailableError, match="engine-gone"):
        await session.until(lambda state: False)


async def test_what_an_observer_raises_reaches_whoever_waits() -> None:
    engine: Any = FakeEngine(opening=up()[:1])
    session = Session(engine, EMPTY)

    def observe(event: Event) -> None:
        if isinstance(event, RunStarted):
            raise ValueError("no")

    session.observers.append(observe)
    async with following(session):
        waiting = asyncio.create_task(session.ready())
        await asyncio.sleep(0)
        engine.emit(RunStarted(cases=(CASE,), budget_seconds=1.0), 1)
        with pytest.raises(ValueError, match="no"):
            await waiting


# An engine that dies over a case.


@pytest.mark.parametrize("fatal", ["a", "b", "c", "ab", "ac"])
async def test_what_an_engine_leaves_is_run_by_the_next(
    opened: Opened, fatal: str
) -> None:
    engine, session = opened
    dying(engine, *fatal)
    job = await session.run(Experiment(cases=CASES, budget_seconds=3.0))
    assert (job.outcome, session.lost, session.state.busy) == ("crashed", True, False)
    statuses = {one.case.op: bool(one.measurement) for one in job.cases}
    assert statuses == {op: op not in fatal for op in "abc"}
    for work in engine.experiments:
        assert work.budget_seconds == len(work.cases)


async def test_after_one_that_hung_over_our_own_work_nothing_is_run(
    opened: Opened,
) -> None:
    """The chip would hang again."""
    engine, session = opened
    hung = Remark("engine-hung", {"seconds": 70.0}, "error")
    dying(engine, "b")
    answer = engine.answer
    died = EngineDied(returncode=-9, remark=hung)
    engine.answer = lambda work: [died, *answer(work)]
    with pytest.raises(EngineUnavailableError) as caught:
        await session.run(Experiment(cases=CASES))
    assert (caught.value.remark, len(engine.works)) == (hung, 1)
    assert (session.state.jobs["bench"].outcome, session.lost) == ("crashed", True)


# Several processes.


def in_processes(count: int) -> Experiment:
    return msgspec.structs.replace(EXPERIMENT, processes=count)


def medians(job: Job) -> tuple[float, ...]:
    found = job.cases[0].measurement
    assert found is not None
    return found.processes.medians if found.processes else ()


@pytest.mark.parametrize(
    ("work", "statuses"),
    [
        (Experiment(cases=CASES), ["done", "not run", "not run"]),
        (in_processes(2), ["done"]),
    ],
)
async def test_an_engine_that_cannot_come_back_leaves_what_had_arrived(
    opened: Opened, work: Experiment, statuses: list[str]
) -> None:
    engine, session = opened
    dying(engine, "b")
    lost(engine, 1)
    with pytest.raises(EngineUnavailableError):
        await session.run(work)
    job = session.state.jobs["bench"]
    assert (job.outcome, session.lost) == ("crashed", True)
    assert [one.status for one in job.cases] == statuses


async def test_an_experiment_in_processes_is_one_run_with_a_work_for_each(
    opened: Opened,
) -> None:
    engine, session = opened
    timed(engine, 3.0, 1.0, 2.0)
    said: list[Event] = []
    session.observers.append(said.append)
    asked, go = held_up(engine, runs=1)
    running = asyncio.create_task(session.run(in_processes(3)))
    await soon(asked.wait())
    # Between two of them it goes on.
    between = session.state.job
    assert between is not None
    assert job_text(between) == "process 2 of 3: starting JAX"
    assert between.remaining_seconds == pytest.approx(2 / 3)
    assert session.state.running
    go.set()
    job = await soon(running)
    assert engine.works == [in_processes(3)] * 3
    assert (job.outcome, medians(job)) == ("complete", (3.0, 1.0, 2.0))
    assert (job.number, job.origin) == (3, 1)
    # The history keeps what all of them come to, and once.
    (kept,) = (one for one in said if isinstance(one, CaseMeasured))
    assert kept.measurement == job.cases[0].measurement
    assert not session.state.busy


async def test_progress_is_that_of_all_processes(opened: Opened) -> None:
    engine, session = opened
    seen: list[Job] = []
    said = Progress(elapsed_seconds=0.1, remaining_seconds=0.4, doing="compile")
    engine.answer = lambda work: [began(work), said, finished()]
    session.changed = lambda event: (
        seen.append(session.state.jobs["bench"]) if event == said else None
    )
    await session.run(in_processes(2))
    texts = ["process 1 of 2: compile", "process 2 of 2: compile"]
    assert [*map(job_text, seen)] == texts
    assert [one.remaining_seconds for one in seen] == [pytest.approx(0.9), 0.4]
    assert seen[1].elapsed_seconds > seen[0].elapsed_seconds


async def test_a_case_that_an_engine_died_over_is_left_out_of_later_processes(
    opened: Opened,
) -> None:
    engine, session = opened
    dying(engine, "b")
    job = await session.run(Experiment(cases=CASES, processes=2))
    ops = ["".join(one.op for one in work.cases) for work in engine.experiments]
    assert ops == ["abc", "c", "ac"]
    assert [len(one.ended) for one in job.cases] == [2, 1, 2]
    assert job.outcome == "crashed"


@pytest.mark.parametrize("end", ["crashed", "cancelled"])
async def test_what_arrived_before_a_process_ended_badly_is_kept(
    opened: Opened, end: str
) -> None:
    engine, session = opened
    timed(engine, 3.0, 1.0, end, 2.0)
    said: list[Event] = []
    session.observers.append(said.append)
    job = await session.run(in_processes(4))
    assert (job.outcome, medians(job)) == (end, (3.0, 1.0))
    assert (len(engine.works), session.lost) == (3, end == "crashed")
    assert sum(isinstance(one, CaseMeasured) for one in said) == 1


async def test_a_stop_between_two_processes_ends_the_run(opened: Opened) -> None:
    engine, session = opened
    timed(engine, 3.0, "cancelled")
    later(engine, session.stop, runs=1)
    job = await soon(session.run(in_processes(5)))
    assert (job.outcome, len(job.cases[0].ended)) == ("cancelled", 1)
    assert not session.state.busy


async def test_a_run_that_is_left_between_two_processes_was_stopped(
    opened: Opened,
) -> None:
    engine, session = opened
    timed(engine, 3.0, 1.0)
    async with contextlib.aclosing(session.processes(in_processes(3))) as processes:
        job = await anext(processes)
        assert (job.outcome, len(engine.works)) == (None, 1)
        await anext(processes)
    assert session.state.run is not None
    assert session.state.run.outcome == "cancelled"
    assert medians(session.state.run) == (3.0, 1.0)
    assert not session.state.busy


@pytest.mark.parametrize("held", [False, True])
async def test_a_request_that_cannot_be_served_does_not_hide_who_holds_the_device(
    opened: Opened, held: bool
) -> None:
    engine, session = opened
    if held:
        engine.held()
        await soon(session.until(lambda state: state.engine == "failed"))
    session.unavailable(EngineUnavailableError(Remark("engine-gone")))
    failed = session.state.failed
    assert failed is not None
    assert [holder.pid for holder in failed.holders] == ([4242] if held else [])
    assert (session.state.engine, session.state.message) == ("failed", failed.remark)
    assert (failed.remark.code == "engine-gone") is not held
