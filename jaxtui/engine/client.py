"""The UI's side of the engine: start, ask, follow, stop, restart. Never imports jax."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any, cast

from jaxtui.engine import startup
from jaxtui.engine.active import ActiveRun, has_files
from jaxtui.engine.connection import Connection, EngineUnavailableError
from jaxtui.engine.process import EngineOptions, EngineProcess, how_ended
from jaxtui.engine.protocol import (
    Envelope,
    MemoryRequest,
    RunRequest,
    StopRequest,
)
from jaxtui.model import (
    Busy,
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Logged,
    Plan,
    RunEvent,
    RunFinished,
    Work,
)

__all__ = ["EngineClient", "EngineOptions", "EngineProcess", "EngineUnavailableError"]

MAX_RESTARTS = 3
"""Restarts one after the other, of engines that served for nothing, before there are
no more."""


class EngineClient:
    """An engine in a process of its own, restarted when it dies.

    Args:
        options: how to start engines.
        process: the first one if it is started already.
    """

    def __init__(
        self, options: EngineOptions, process: EngineProcess | None = None
    ) -> None:
        self._options = options
        self._process = process
        self.generation = process.generation if process else 0
        """The number of the newest engine process; 0 before the first."""
        self._connection: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()
        self._queue: asyncio.Queue[Envelope | BaseException | None] = asyncio.Queue()
        self._run: ActiveRun | None = None
        self._run_ended = asyncio.Event()
        self._runs = 0
        self._in_vain = 0
        """Engines one after the other that served for nothing."""
        self._used = 0
        """The generation in which code was run last that is not jaxtui's."""
        self._waits = False
        """The next engine starts JAX with a run of files."""
        self._ran = 0
        """The generation in which anything was run last."""
        self._closed = False

    async def start(self) -> None:
        """Start an engine unless there is one; does not wait until it is ready.

        One that failed is waited for until it is gone.

        Raises:
            EngineUnavailableError: It is closed, or the command cannot be started.
        """
        connection = self._connection
        if connection is not None and connection.failed is not None:
            # The end of one that failed: a driver may keep even a killed process.
            await asyncio.wait({connection.served})
        if self._connection is None:
            self._in_vain = 0
            await self._connect()

    async def events(self) -> AsyncIterator[Envelope]:
        """Everything in order, across restarts, until ``close``; for one consumer."""
        while (item := await self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    async def run(self, work: Work) -> int | None:
        """Start a run as soon as the engine is ready; returns its number.

        An experiment in several processes gets an engine in which nothing has run.

        While another run lasts nothing is started: there is no number, as that of the
        other run would make its events those of this work, and ``Busy`` is an event.

        Raises:
            EngineUnavailableError: The engine cannot serve.
        """
        if self._run is None:
            # A file is imported before JAX starts, as in a program of its own.
            self._waits = has_files(work)
            fresh = isinstance(work, Experiment) and work.processes > 1
            # Code that is not jaxtui's may have changed anything there.
            used = self._ran if fresh else self._used
            connected = self._connection
            if connected and (self._waits or connected.generation == used):
                await self.release()
        connection = await self._until_ready()
        if self._run is not None:
            self._emit(None, Busy(run=self._run.number))
            return None
        self._runs += 1
        self._run = ActiveRun(self._runs, work, connection.offered)
        self._run_ended.clear()
        self._send_run(connection, self._run, work)
        return self._runs

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        """What an experiment would need; during a run the answer comes after it.

        Args:
            experiment: What is asked for.
            recipes: Ask as well how to do it without jaxtui.

        Raises:
            EngineUnavailableError: The engine cannot serve, or ends meanwhile.
        """
        connection = await self._until_ready()
        return await connection.plan(experiment, recipes=recipes)

    async def stop(self) -> None:
        """End the run, by force after the grace period; returns when it has ended."""
        run, connection = self._run, self._connection
        if run is None:
            return
        run.stopping = True
        if connection is not None:
            connection.send(StopRequest(run=run.number))
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(
                    self._run_ended.wait(), self._options.grace_seconds
                )
            if self._run is not run:
                return
            # There is none while a crashed engine is being replaced: then wait again.
            if self._connection is not None:
                self._connection.kill()

    async def release(self) -> None:
        """End the engine, so that the accelerator is free; ``run`` starts it again."""
        async with self._opening:
            if self._process is not None:
                self._process.end()
                self._process = None
        if (connection := self._connection) is not None:
            await connection.end(self._options.grace_seconds)
            await asyncio.wait({connection.served})

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
            for task in (*self._tasks,):
                task.cancel()
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
            self.generation = process.generation
            connection = Connection(process, self._options, self._receive)
            try:
                await connection.open()
            except BaseException:  # broken off: nothing else knows of the process
                process.end()
                raise
            self._connection = connection
            connection.served = self._in_background(self._serve(connection))

    def _spawn(self) -> EngineProcess:
        try:
            number = self.generation + 1
            return EngineProcess.spawn(self._options, number, waits=self._waits)
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
            await connection.settled.wait()
            if connection.failed is not None:
                raise EngineUnavailableError(connection.failed.error, connection.failed)
            if not connection.ending and not connection.ended.is_set():
                return connection
            await asyncio.wait({connection.served})
            if connection.ending:
                await self.start()
        raise EngineUnavailableError("The engine ended before it was ready.")

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._after_task)
        return task

    def _after_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # A fault of this client must not look like an engine with nothing to say.
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._queue.put_nowait(fault)

    # Running.

    def _send_run(self, connection: Connection, run: ActiveRun, work: Work) -> None:
        connection.send(RunRequest(run=run.number, work=work))
        self._ran = connection.generation
        if run.foreign:
            self._used = connection.generation
        if run.patience_seconds is not None:
            self._in_background(self._watch_run(connection, run))

    async def _watch_run(self, connection: Connection, run: ActiveRun) -> None:
        """End the engine if nothing comes of the run any more."""
        silent = await connection.is_silent(
            lambda: run.patience_seconds, lambda: self._run is run
        )
        if silent:
            run.give_up()
            connection.abort()

    def _receive(self, connection: Connection, envelope: Envelope) -> None:
        if envelope.run is None:
            self._queue.put_nowait(envelope)
        elif self._run is not None and envelope.run == self._run.number:
            translated = self._run.translate(cast("RunEvent", envelope.event))
            if translated is not None:
                self._emit_run(self._run, [translated])

    def _emit(self, run: int | None, event: Event) -> None:
        self._queue.put_nowait(
            Envelope(generation=self.generation, run=run, event=event)
        )

    def _emit_run(self, run: ActiveRun, events: list[RunEvent]) -> None:
        for event in events:
            self._emit(run.number, event)
            if isinstance(event, RunFinished):
                self._run, self._waits = None, False
                self._run_ended.set()

    # Endings.

    async def _serve(self, connection: Connection) -> None:
        await connection.serve()
        self._connection = None
        if not connection.ready and not connection.killed and not connection.failed:
            # What ends for a reason that its log names is not started again.
            connection.failed = startup.died(connection.start)
            if connection.failed is not None:
                self._emit(None, connection.failed)
        if connection.ending or connection.failed is not None:
            self._end_run(connection)
            return
        self._in_vain = 0 if connection.proven else self._in_vain + 1
        restarts = self._in_vain <= MAX_RESTARTS and not self._closed
        if connection.killed:
            text = (
                f"It did not stop within {self._options.grace_seconds:g} s;"
                " the engine was ended and starts again."
            )
            self._emit(None, Logged(line=text))
            if self._run is not None:
                self._emit_run(self._run, self._run.cancelled(text))
        else:
            self._died(connection, restarts)
        if restarts:
            await self._restart()
        else:
            self._end_run(connection)

    def _died(self, connection: Connection, restarts: bool) -> None:
        """Tell of a death, and what it ends of the run."""
        run, events = self._run, list[RunEvent]()
        doing = ""
        if run is not None and run.ledger.current is not None:
            doing = f" while timing {run.ledger.cases[run.ledger.current].label}"
        text = f"The engine {how_ended(connection.returncode)}{doing}."
        if run is not None and run.overdue:
            text = run.overdue
        if run is not None and run.stopping:
            events = run.cancelled(text)
        elif run is not None and connection.ready:
            events = run.died(text)
        lasts = run is not None and not (events and isinstance(events[-1], RunFinished))
        if not restarts:
            outlook = (
                "It is not started again by itself;"
                " the next run tries once more, as R does in the app."
            )
        elif lasts and not events:
            outlook = "It is tried once more in a new engine."
        elif lasts:
            outlook = "What had arrived is kept, the rest goes on in a new engine."
        else:
            outlook = "A new one is started."
        died = EngineDied(
            returncode=connection.returncode,
            error=f"{text} {outlook}",
            restarts=restarts,
        )
        self._emit(None, died)
        if run is not None:
            self._emit_run(run, events)

    async def _restart(self) -> None:
        """Start the next engine and hand it what the last one left undone."""
        run = self._run
        try:
            await self._connect()
        except EngineUnavailableError:
            self._end_run(None)
            return
        connection = self._connection
        # Another run may have begun meanwhile, and was sent as it did.
        if connection is not None and run is not None and run is self._run:
            self._send_run(connection, run, run.rest())
            if run.stopping:
                connection.send(StopRequest(run=run.number))

    def _end_run(self, connection: Connection | None) -> None:
        """No engine follows, so the run ends."""
        if self._run is None:
            return
        if self._run.stopping or (connection is not None and connection.ending):
            events = self._run.cancelled("The engine was ended.")
        else:
            failed = connection.failed if connection is not None else None
            text = failed.error if failed else "The engine could not be restarted."
            events = self._run.broken_off(f"The run could not go on. {text}")
        self._emit_run(self._run, events)
