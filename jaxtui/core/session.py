"""The one way to run work: an engine, and what is known of it.

``run`` and ``play`` ask the engine for something. Each event that comes back is folded
into ``state`` by ``reduce`` and then given to observers, of which the ``Recording`` of
the history is one. ``stop``, and the time limit of a work, have the engine end the run;
its ``RunFinished`` is an event like any other. The app and every command use a session;
only what they show differs.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from typing import Any, Generic, Literal, TypeVar

from msgspec.structs import replace

from jaxtui.core.engine import startup
from jaxtui.core.engine.client import EngineClient, EngineUnavailableError
from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.history.recording import Past
from jaxtui.core.model import (
    Case,
    CaseMeasured,
    Ending,
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    OpInfo,
    Plan,
    Remark,
    RunFinished,
    RunStarted,
    Sampled,
    Work,
)
from jaxtui.core.model.remark import RemarkError
from jaxtui.core.processes import Repetition
from jaxtui.core.state import (
    RUNNING,
    Job,
    Purpose,
    Series,
    State,
    Topic,
    begin_run,
    end_message,
    reduce,
    say,
    with_past,
    with_series,
)

STOPPING = "Stopping after this turn."
LATE_SECONDS = 1.0
"""Between the clock that ends a late work and the one in its engine."""
ENDED = Remark("engine-gone", severity="error")

_State = TypeVar("_State", bound=State)
_Series = TypeVar("_Series", bound=Series)


class RunRefusedError(RemarkError):
    """An error: the request cannot run now, or means nothing here."""


class Session(Generic[_State]):
    """An engine, and the state of its runs.

    Args:
        engine: started by ``follow``, closed by ``close``.
        state: what is known before anything has happened.
    """

    def __init__(self, engine: EngineClient, state: _State) -> None:
        self.engine = engine
        self.state = state
        self.observers: list[Callable[[Event], object]] = []
        """Given every event, after the state has taken it in. What one raises ends the
        session, and is raised by whoever waits for something."""
        self.changed: Callable[[Event | None], object] = lambda event: None
        """Called after each change; with ``None`` where no event has caused it."""
        self.look_back: Callable[[Sequence[Case]], object] = lambda cases: None
        """Given the cases of a bench run as it begins, to be answered by ``know``."""
        self.has_run = False
        """Something was run."""
        self.lost = False
        """An engine died over some work, or there is none any more."""
        self._hung: Remark | None = None
        """The last engine was ended because it hung over jaxtui's own work."""
        self._change = asyncio.Event()
        """Set at the next change, and replaced then."""
        self.ended = False
        """True once there will be no more events."""
        self._fault: Exception | None = None
        self._began = 0.0
        """The monotonic time at which the series began."""

    async def follow(self) -> None:
        """Start the engine and take in its events for as long as it has any."""
        try:
            await self.engine.start()
            async for envelope in self.engine.events():
                self.take(envelope)
            self._end("crashed")
        except Exception as error:
            self._fault = error
            raise
        finally:
            self.ended = True
            self._wake()

    def take(self, envelope: Envelope) -> None:
        """Take in one event."""
        event = envelope.event
        running = self.state.job
        self._note_late(event)
        self.state = reduce(self.state, envelope)
        if isinstance(event, RunStarted):
            self._look_back(self.state.job)
        if isinstance(event, EngineDied):
            hung = event.remark.code == "engine-hung"
            self._hung = event.remark if hung else None
        if isinstance(event, RunFinished) and running is not self.state.job:
            self.lost |= event.outcome == "crashed"
        for message in self._announced(event, running):
            for observe in self.observers:
                observe(message)
        self._tell(event)

    def _note_late(self, event: Event) -> None:
        """Note that a work was late: the first of several processes watches the time,
        and the others hear of it at the end.
        """
        playing = self.state.playing
        if not isinstance(event, RunFinished) or not self.state.process or not playing:
            return
        series = self.state.series[playing]
        limit = series.limit_seconds
        late = event.elapsed_seconds >= (limit or math.inf) - LATE_SECONDS
        if event.outcome == "cancelled" and late:
            self.state = with_series(self.state, playing, series.overdue())

    def _look_back(self, job: Job | None) -> None:
        """Ask what is known of the cases of a bench run in one process."""
        if job is not None and (job.purpose, job.processes) == ("bench", 1):
            self.look_back([case.case for case in job.cases])

    def _announced(self, event: Event, running: Job | None) -> Iterator[Event]:
        """Yield the events for the observers.

        Of a case that is timed in several processes they hear at the end, and what all
        of them have made of it.
        """
        if running is not None and running.processes > 1:
            job = self.state.jobs[running.purpose]
            if isinstance(event, (CaseMeasured, Sampled)):
                return
            if isinstance(event, RunFinished) and job.outcome is not None:
                for index, case in enumerate(job.cases):
                    if case.measurement is not None:
                        measurement = case.measurement
                        yield CaseMeasured(index=index, measurement=measurement)
        yield event

    def _end(self, outcome: Ending) -> None:
        """End the current run, if there is one: nothing more will come of it."""
        if (job := self.state.job) is not None:
            gone = RunFinished(outcome=outcome, elapsed_seconds=0.0)
            generation = self.state.generation
            self.take(Envelope(generation=generation, run=job.number, event=gone))

    def update(self, **changes: Any) -> None:
        """Change fields of the state that no event changes."""
        self.state = replace(self.state, **changes)
        self._tell(None)

    def say(self, message: Remark | str, topic: Topic = "machine") -> None:
        """Put one line on the message line, which ends with its topic."""
        self.state = say(self.state, message, topic)
        self._tell(None)

    def end_answer(self) -> None:
        """Another key was pressed: what answered the last one is over."""
        if (state := end_message(self.state, "key")) is not self.state:
            self.state = state
            self._tell(None)

    def know(self, past: Past) -> None:
        """Take in what was measured before of the cases of the last bench run."""
        self.state = with_past(self.state, past)
        self._tell(None)

    async def until(
        self,
        done: Callable[[_State], object],
        otherwise: Remark = ENDED,
    ) -> None:
        """Wait until something is so.

        Args:
            done: whether it is.
            otherwise: why that is not so, if the engine ends before.

        Raises:
            EngineUnavailableError: The engine has ended before.
        """
        while not done(self.state):
            if self._fault is not None:
                raise self._fault
            if self.ended:
                raise EngineUnavailableError(otherwise)
            await self._change.wait()

    async def ready(
        self, hello: Callable[[Sequence[OpInfo]], object] | None = None
    ) -> None:
        """Wait until the engine has listed its devices.

        Args:
            hello: is given the catalogue before the backend is up, which on a TPU
                takes seconds: what can be refused by then is refused.

        Raises:
            EngineUnavailableError: It has ended before.
        """
        ended = Remark("engine-gone", severity="error")
        if hello is not None:
            await self.until(lambda state: state.ops, ended)
            hello(self.state.ops)
        await self.until(lambda state: state.devices, ended)

    def refuse(self, what: Work | Literal["verdicts", "jax"]) -> None:
        """Once the devices are listed: stop before what means nothing here.

        Raises:
            RunRefusedError: A setting of JAX makes it meaningless.
        """
        if (refusal := self.state.refusal(what)) is not None:
            raise RunRefusedError(refusal)

    # Runs.

    async def run(self, work: Work, purpose: Purpose = "bench") -> Job:
        """Run a work to its end, and start an engine before if there is none.

        An experiment in several processes gets a fresh engine for each, and what an
        engine leaves that died over a case gets the next one.

        Raises:
            RunRefusedError: Something else runs, or the work means nothing here.
            EngineUnavailableError: There is no engine for it.
        """
        self._refuse_second()
        if not isinstance(work, Experiment):
            self.update(stopping=False)
            return await self._run(work, purpose)
        async with aclosing(self.processes(work, purpose)) as processes:
            async for _ in processes:
                pass
        return self.state.jobs[purpose]

    async def processes(
        self, work: Experiment, purpose: Purpose = "bench"
    ) -> AsyncGenerator[Job, None]:
        """Run an experiment in several fresh engines: a step is one of them.

        Between two steps another session may have its turn. What is closed before its
        end is a run that was stopped.

        Yields:
            The run as far as it is.

        Raises:
            RunRefusedError: Something else runs, or the work means nothing here.
            EngineUnavailableError: There is no engine to go on with.
        """
        done = 0
        try:
            series = self._steps(Repetition.of(work), purpose)
            async with aclosing(series) as steps:
                async for reached in steps:
                    if reached.done != done or reached.over:
                        done = reached.done
                        yield self.state.jobs[purpose]
        except EngineUnavailableError:
            self._end("crashed")
            raise
        finally:
            # It was to be stopped between two processes.
            self._end("cancelled")

    async def play(self, series: _Series, purpose: Purpose) -> _Series:
        """Run the works of a series one after the other.

        Args:
            series: is in ``state.series`` meanwhile and afterwards, whatever happens.
            purpose: of its runs.

        Raises:
            RunRefusedError: Something else runs, or a work means nothing here.
            EngineUnavailableError: There is no engine to go on with.
        """
        async with aclosing(self._steps(series, purpose)) as steps:
            async for _ in steps:
                pass
        return self.state.series[purpose]  # type: ignore[return-value]

    async def _steps(
        self, series: _Series, purpose: Purpose
    ) -> AsyncGenerator[_Series, None]:
        """The series after each of its works."""
        self._refuse_second()

        def latest() -> _Series:
            return self.state.series[purpose]  # type: ignore[return-value]

        def put(series: Series) -> None:
            self.state = with_series(self.state, purpose, series)

        put(series)
        self.update(playing=purpose, played_seconds=0.0, stopping=False)
        self._began = time.monotonic()
        try:
            while not self.state.stopping and (work := latest().next_work) is not None:
                limit = latest().limit_seconds
                await self._run(work, purpose, limit)
                if self.state.stopping:
                    put(latest().stopped())
                yield latest()
                # The next one would hang as well, on the same chip.
                if self._hung is not None:
                    raise EngineUnavailableError(self._hung)
        except (asyncio.CancelledError, GeneratorExit):
            self._end("cancelled")
            put(latest().stopped())
            raise
        except EngineUnavailableError as error:
            stopping = self.state.stopping
            put(latest().stopped() if stopping else latest().lost(error.remark))
            raise
        finally:
            self.state = end_message(self.state, "run")
            self.update(playing=None)

    def _refuse_second(self) -> None:
        """Refuse a second run, also while the engine of the first comes up."""
        if self.state.busy:
            raise RunRefusedError(RUNNING)

    async def _run(
        self, work: Work, purpose: Purpose, limit_seconds: float | None = None
    ) -> Job:
        self.refuse(work)
        self._hung = None
        if self.state.engine in ("released", "failed"):
            self._starting()
            if self.state.job is None:  # nothing is said of its last engine
                self.say("Starting JAX again for this run.", "run")
        self.update(pending=True)
        try:
            number = await self.engine.run(work)
        finally:
            self.state = replace(self.state, pending=False)
        self.has_run = True
        before = time.monotonic() - self._began
        self.state = begin_run(self.state, number, purpose, work, before)
        self._tell(None)
        if self.state.stopping:  # asked for while the engine came up
            await self.engine.stop()
        watch = (
            asyncio.create_task(self._end_late(number, purpose, limit_seconds))
            if limit_seconds and not self.state.process
            else None
        )
        try:
            await self.until(
                lambda state: (
                    state.job is None or state.job.number != number or state.job.between
                )
            )
        finally:
            if watch is not None:
                watch.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watch
        return self.state.jobs[purpose]

    async def _end_late(
        self, number: int, purpose: Purpose, limit_seconds: float
    ) -> None:
        """End the work of a series when its time is over."""
        await asyncio.sleep(limit_seconds)
        if self.state.job is None or self.state.job.number != number:
            return
        series = self.state.series[purpose].overdue()
        self.state = with_series(self.state, purpose, series)
        late = f"It took longer than {limit_seconds:g} s: jaxtui ends the engine."
        self.say(late, "run")
        await self.engine.stop()

    async def stop(self, why: Remark | str = STOPPING) -> None:
        """End the run and the series that it belongs to; the numbers so far stay.

        Args:
            why: what the message line says meanwhile.
        """
        running = self.state.running
        self.state = replace(self.state, stopping=True)
        self.say(why, "run")
        if running:
            await self.engine.stop()

    # The engine.

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        """Plan an experiment, with recipes that do it without jaxtui."""
        return await self.engine.plan(experiment, recipes=recipes)

    async def release(self, why: Remark | str) -> None:
        """Give the accelerator back."""
        await self.engine.release()
        self.state = replace(self.state, engine="released", start=startup.NOTHING)
        self.say(why)

    async def retry(self) -> None:
        """Start the engine again after it failed."""
        self._starting()
        self.say("", "run")
        await self.engine.start()

    def unavailable(self, error: EngineUnavailableError) -> None:
        """Say that a request could not be served."""
        failed = EngineFailed(remark=error.remark)
        if self.state.failed is not None:  # it knows more, as who holds the TPU
            failed = self.state.failed
        self.state = replace(self.state, engine="failed", failed=failed)
        self.say(failed.remark)

    def _starting(self) -> None:
        self.update(engine="starting", failed=None, start=startup.NOTHING)

    def _tell(self, event: Event | None) -> None:
        self._wake()
        self.changed(event)

    def _wake(self) -> None:
        change, self._change = self._change, asyncio.Event()
        change.set()


@asynccontextmanager
async def following(session: Session[_State]) -> AsyncIterator[Session[_State]]:
    """A session whose events are taken in for the length of a ``with`` block.

    The engine is gone afterwards.
    """
    task = asyncio.create_task(session.follow())
    try:
        yield session
    finally:
        await session.engine.close()
        # Whoever waited has been told of a fault.
        await asyncio.gather(task, return_exceptions=True)
