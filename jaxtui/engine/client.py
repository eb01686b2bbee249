"""The UI's side of the engine: start, ask, listen, stop, restart. Never imports jax."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import cast

from jaxtui.engine import waiting
from jaxtui.engine.active import ActiveRun
from jaxtui.engine.connection import Connection
from jaxtui.engine.endings import describe_end, describe_outlook
from jaxtui.engine.interface import MAX_RESTARTS, Engine, EngineUnavailableError
from jaxtui.engine.process import EngineOptions, EngineProcess
from jaxtui.engine.protocol import (
    Envelope,
    MemoryRequest,
    RunRequest,
    StopRequest,
)
from jaxtui.engine.questions import Questions
from jaxtui.model import (
    Busy,
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Logged,
    Plan,
    Planned,
    RunEvent,
    RunFinished,
    Waiting,
    Work,
)

__all__ = [
    "Engine",
    "EngineClient",
    "EngineOptions",
    "EngineProcess",
    "EngineUnavailableError",
]


class EngineClient:
    """An ``Engine`` in a process of its own, restarted when it dies."""

    def __init__(
        self, options: EngineOptions, process: EngineProcess | None = None
    ) -> None:
        """Take how to start engines, and the first one if it is started already."""
        self._options = options
        self._process = process
        self._generation = process.generation if process else 0
        self._connection: Connection | None = None
        self._serving: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._queue: asyncio.Queue[Envelope | BaseException | None] = asyncio.Queue()
        self._run: ActiveRun | None = None
        self._run_ended = asyncio.Event()
        self._runs = 0
        self._questions = Questions()
        self._in_vain = 0
        """Engines one after the other that served for nothing."""
        self._used = 0
        """The generation in which code was run last that is not jaxtui's."""
        self._watching_run: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def generation(self) -> int:
        """The number of the newest engine process; 0 before the first."""
        return self._generation

    async def start(self) -> None:
        """Start an engine unless there is one; does not wait until it is ready.

        One that failed is waited for until it is gone.

        Raises:
            EngineUnavailableError: It is closed, or the command cannot be started.
        """
        connection, serving = self._connection, self._serving
        if connection is not None and connection.failed is not None and serving:
            # The end of one that failed: a driver may keep even a killed process.
            await asyncio.wait({serving})
        if self._connection is None:
            self._in_vain = 0
            await self._connect()

    async def events(self) -> AsyncIterator[Envelope]:
        """Everything in order, across restarts, until ``close``; for one consumer."""
        while (item := await self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    async def run(self, work: Work) -> int:
        """Start a run as soon as the engine is ready; returns its number."""
        await self._replace_used()
        connection = await self._until_ready()
        if self._run is not None:
            self._emit(None, Busy(run=self._run.number))
            return self._run.number
        self._runs += 1
        self._run = ActiveRun(self._runs, work, connection.offered)
        self._run_ended.clear()
        self._send_run(connection, RunRequest(run=self._runs, work=work))
        return self._runs

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        """What an experiment would need; during a run the answer comes after it."""
        connection = await self._until_ready()
        return await self._questions.ask(experiment, connection.send, recipes=recipes)

    async def stop(self) -> None:
        """End the run, by force after the grace period; returns when it has ended."""
        run, connection = self._run, self._connection
        if run is None:
            return
        run.stopping = True
        if connection is not None:
            connection.send(StopRequest(run=run.number))
        while not await self._has_ended(run):
            # There is none while a crashed engine is being replaced: then wait again.
            if self._connection is not None:
                self._connection.kill()

    async def release(self) -> None:
        """End the engine, so that the accelerator is free; ``run`` starts it again."""
        async with self._opening:
            if self._process is not None:
                self._process.end()
                self._process = None
        connection, serving = self._connection, self._serving
        if connection is not None and serving is not None:
            await connection.end(self._options.grace_seconds)
            await asyncio.wait({serving})

    async def refresh_memory(self) -> None:
        """Ask for a ``Memory`` event; it comes between runs."""
        if self._connection is not None:
            self._connection.send(MemoryRequest())

    async def close(self) -> None:
        """End the engine for good; afterwards no process is left."""
        self._closed = True
        try:
            await self.release()
        finally:
            if self._serving is not None and not self._serving.done():
                self._serving.cancel()
            self._queue.put_nowait(None)

    # Starting.

    async def _connect(self) -> None:
        async with self._opening:
            if self._connection is not None:
                return
            if self._closed:
                raise EngineUnavailableError("The engine is closed.")
            process = self._process or self._spawn()
            self._process = None
            self._generation = process.generation
            connection = Connection(process, self._receive)
            try:
                await connection.open()
            except BaseException:  # broken off: nobody else knows of the process
                process.end()
                raise
            self._connection = connection
            self._serving = asyncio.ensure_future(self._serve(connection))
            self._watching = asyncio.ensure_future(self._watch_start(connection))
            for task in (self._serving, self._watching):
                task.add_done_callback(self._tell_fault)

    def _spawn(self) -> EngineProcess:
        try:
            return EngineProcess.spawn(self._options, self._generation + 1)
        except OSError as error:
            failed = EngineFailed(
                reason="internal",
                error=f"The engine cannot be started: {error}",
                hint="Look at the command that starts it.",
            )
            self._emit(None, failed)
            raise EngineUnavailableError(failed.error, failed) from error

    async def _until_ready(self) -> Connection:
        await self.start()
        while (connection := self._connection) is not None:
            serving = self._serving
            await connection.settled.wait()
            if connection.failed is not None:
                raise EngineUnavailableError(connection.failed.error, connection.failed)
            if not connection.asked_to_end and not connection.ended.is_set():
                return connection
            if serving is not None:
                await asyncio.wait({serving})
            if connection.asked_to_end:
                await self.start()
        raise EngineUnavailableError("The engine ended before it was ready.")

    # Code that is not jaxtui's.

    async def _replace_used(self) -> None:
        """End an engine in which such code has run: it may have changed anything."""
        used = self._connection is not None and self._connection.generation
        if used and used == self._used and self._run is None:
            await self.release()

    def _send_run(self, connection: Connection, request: RunRequest) -> None:
        connection.send(request)
        run = self._run
        if run is not None and run.foreign:
            self._used = connection.generation
            watching = asyncio.ensure_future(self._watch_run(connection, run))
            watching.add_done_callback(self._tell_fault)
            self._watching_run = watching

    async def _watch_run(self, connection: Connection, run: ActiveRun) -> None:
        """End the engine if nothing comes of the run any more."""
        limit = run.patience_seconds
        await connection.settled.wait()
        connection.touch()
        while limit and self._run is run and not connection.ended.is_set():
            left = limit - connection.silent_seconds
            if left <= 0:
                run.give_up()
                connection.abort()
                return
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(connection.ended.wait(), min(left, 1.0))

    async def _has_ended(self, run: ActiveRun) -> bool:
        """Whether the run ends within the grace period."""
        ended = self._run_ended.wait()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(ended, self._options.grace_seconds)
        return self._run is not run

    def _tell_fault(self, task: asyncio.Task[None]) -> None:
        """A fault of this client must not look like an engine with nothing to say."""
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._queue.put_nowait(fault)

    async def _watch_start(self, connection: Connection) -> None:
        """Say that a start takes long, and end one that takes too long."""
        limit = self._options.start_limit_seconds
        moments = {*self._options.slow_seconds, *([limit] if limit else ())}
        async for seconds in connection.slow_starts(sorted(moments)):
            if connection.asked_to_end:
                return
            if limit and seconds >= limit:
                if failed := await connection.give_up(limit):
                    self._emit(None, failed)
                return
            finding = waiting.slow(connection.start, seconds)
            self._emit(None, Waiting(elapsed_seconds=seconds, finding=finding))

    # Listening.

    async def _serve(self, connection: Connection) -> None:
        await connection.serve()
        self._connection = None
        if not connection.ready and not connection.killed and not connection.failed:
            self._explain_end(connection)
        if connection.asked_to_end or connection.failed is not None:
            self._stay_down(connection)
            return
        self._in_vain = 0 if connection.proven else self._in_vain + 1
        restarts = self._in_vain <= MAX_RESTARTS and not self._closed
        if connection.killed:
            self._stopped_by_force()
        else:
            self._died(connection, restarts)
        if restarts:
            await self._restart()
        else:
            self._stay_down(connection)

    def _receive(self, connection: Connection, envelope: Envelope) -> None:
        event = envelope.event
        if envelope.run is None:
            if isinstance(event, Planned):
                self._questions.answer(event)
            self._queue.put_nowait(envelope)
        elif self._run is not None and envelope.run == self._run.number:
            translated = self._run.translate(cast("RunEvent", event))
            if translated is not None:
                self._emit_run(self._run, [translated])

    def _emit(self, run: int | None, event: Event) -> None:
        self._queue.put_nowait(
            Envelope(generation=self._generation, run=run, event=event)
        )

    def _emit_run(self, run: ActiveRun, events: list[RunEvent]) -> None:
        for event in events:
            self._emit(run.number, event)
            if _is_last(event):
                self._run = None
                self._run_ended.set()

    # Endings.

    def _explain_end(self, connection: Connection) -> None:
        """What ends for a reason that its log names is not started again."""
        connection.failed = waiting.died(connection.start)
        if connection.failed is not None:
            self._emit(None, connection.failed)

    def _died(self, connection: Connection, restarts: bool) -> None:
        run = self._run
        case = None
        if run is not None and run.ledger.current is not None:
            case = run.ledger.cases[run.ledger.current]
        text = describe_end(connection.returncode, case)
        if run is not None and run.overdue:
            text = run.overdue
        events: list[RunEvent] = []
        if run is not None and run.stopping:
            events = run.cancelled(text)
        elif run is not None and connection.ready:
            events = run.died(text)
        going_on = run is not None and not (events and _is_last(events[-1]))
        outlook = describe_outlook(restarts, going_on, again=not events)
        died = EngineDied(
            returncode=connection.returncode,
            error=f"{text} {outlook}",
            restarts=restarts,
        )
        self._emit(None, died)
        if run is not None:
            self._emit_run(run, events)

    def _stopped_by_force(self) -> None:
        text = (
            f"It did not stop within {self._options.grace_seconds:g} s;"
            " the engine was ended and starts again."
        )
        self._emit(None, Logged(line=text))
        if self._run is not None:
            self._emit_run(self._run, self._run.cancelled(text))

    async def _restart(self) -> None:
        """Start the next engine and hand it what the last one left undone."""
        try:
            await self._connect()
        except EngineUnavailableError:
            self._stay_down(None)
            return
        connection = self._connection
        if connection is None:
            return
        if self._run is not None:
            work = self._run.rest()
            self._send_run(connection, RunRequest(run=self._run.number, work=work))
            if self._run.stopping:
                connection.send(StopRequest(run=self._run.number))
        self._questions.ask_again(connection.send)

    def _stay_down(self, connection: Connection | None) -> None:
        """No engine follows: whoever waits for something is told so."""
        asked = connection is not None and connection.asked_to_end
        failed = connection.failed if connection is not None else None
        if self._run is not None:
            if asked or self._run.stopping:
                events = self._run.cancelled("The engine was ended.")
            else:
                text = failed.error if failed else "The engine could not be restarted."
                events = self._run.broken_off(f"The run could not go on. {text}")
            self._emit_run(self._run, events)
        self._questions.refuse_all("The engine ended.", failed)


def _is_last(event: RunEvent) -> bool:
    return isinstance(event, RunFinished)
