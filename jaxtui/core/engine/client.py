"""The UI's side of the engine: start, ask, follow, stop. Never imports jax."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any, cast

from jaxtui.core.engine import startup
from jaxtui.core.engine.active import ActiveRun, has_files
from jaxtui.core.engine.connection import Connection, EngineUnavailableError
from jaxtui.core.engine.process import EngineOptions, EngineProcess
from jaxtui.core.engine.protocol import Envelope, MemoryRequest, RunRequest, StopRequest
from jaxtui.core.engine.silence import Limits
from jaxtui.core.model import (
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Plan,
    Remark,
    RunEvent,
    RunFinished,
    Work,
)
from jaxtui.core.model.remark import Fact

__all__ = ["EngineClient", "EngineOptions", "EngineProcess", "EngineUnavailableError"]


class EngineClient:
    """An engine in a process of its own; where it is gone, a run starts the next one.

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
        self._used = 0
        """The generation in which code was run last that is not jaxtui's."""
        self._waits = False
        """The next engine starts JAX with a run of files."""
        self._ran = 0
        """The generation in which anything was run last."""
        self._closed = False
        self._alone: Remark | None = None
        """The reason why there is no other engine: the processes that it worked with
        are gone."""

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
            await self._connect()

    async def events(self) -> AsyncIterator[Envelope]:
        """Everything in order, of all engines, until ``close``; for one consumer."""
        while (item := await self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    async def run(self, work: Work) -> int:
        """Start a run as soon as the engine is ready; returns its number.

        An experiment in several processes gets an engine in which nothing has run.
        There is one run at a time: whoever asks knows whether the last one has ended.

        Raises:
            EngineUnavailableError: The engine cannot serve.
        """
        # A file is imported before JAX starts, as in a program of its own.
        self._waits = has_files(work)
        fresh = isinstance(work, Experiment) and work.processes > 1
        # Code that is not jaxtui's may have changed anything there.
        used = self._ran if fresh else self._used
        connected = self._connection
        if connected and (self._waits or connected.generation == used):
            await self.release()
        connection = await self._until_ready()
        self._runs += 1
        run = self._run = ActiveRun(self._runs, work)
        self._run_ended.clear()
        connection.send(RunRequest(run=run.number, work=work))
        self._ran = connection.generation
        if run.foreign:
            self._used = connection.generation
        self._in_background(self._watch_run(connection, run))
        return run.number

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        """Plan an experiment; during a run the answer comes after it.

        Args:
            experiment: What is asked for.
            recipes: Ask as well how to do it without jaxtui.

        Raises:
            EngineUnavailableError: The engine cannot serve, or ends meanwhile.
        """
        connection = await self._until_ready()

        def limits() -> Limits:  # during a run the answer comes after it
            return self._run.limits if self._run is not None else Limits()

        return await connection.plan(experiment, limits, recipes=recipes)

    async def stop(self) -> None:
        """End the run, by force after the grace period; returns when it has ended."""
        run, connection = self._run, self._connection
        if run is None or connection is None:
            return
        run.stopping = True
        connection.send(StopRequest(run=run.number))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._run_ended.wait(), self._options.grace_seconds)
        if self._run is run:
            connection.kill()
            await self._run_ended.wait()

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
                raise EngineUnavailableError(Remark("engine-gone"))
            if self._alone is not None:
                raise EngineUnavailableError(self._alone)
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
            facts: dict[str, Fact] = {"error": str(error)}
            remark = Remark("engine-unstartable", facts, "error")
            self._emit(None, EngineFailed(remark=remark))
            raise EngineUnavailableError(remark) from error

    async def _until_ready(self) -> Connection:
        await self.start()
        while (connection := self._connection) is not None:
            await connection.settled.wait()
            if connection.ending or connection.ended.is_set():
                await asyncio.wait({connection.served})
            elif connection.failed is None:
                return connection
            if connection.failed is not None:
                raise EngineUnavailableError(connection.failed.remark)
            if connection.ending:
                await self.start()
        raise EngineUnavailableError.of("engine-gone")

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

    async def _watch_run(self, connection: Connection, run: ActiveRun) -> None:
        """End the engine if nothing comes of the run any more."""
        seconds = await connection.silence(lambda: run.limits, lambda: self._run is run)
        if seconds is not None:
            connection.abort(run.give_up(seconds))

    def _receive(self, connection: Connection, envelope: Envelope) -> None:
        if envelope.run is None:
            self._queue.put_nowait(envelope)
        elif self._run is not None and envelope.run == self._run.number:
            event = cast("RunEvent", envelope.event)
            self._run.observe(event)
            self._queue.put_nowait(envelope)
            self._after(event)

    def _emit(self, run: int | None, event: Event) -> None:
        self._queue.put_nowait(
            Envelope(generation=self.generation, run=run, event=event)
        )

    def _emit_run(self, run: ActiveRun, event: RunEvent) -> None:
        self._emit(run.number, event)
        self._after(event)

    def _after(self, event: RunEvent) -> None:
        if isinstance(event, RunFinished):
            self._run, self._waits = None, False
            self._run_ended.set()

    # Endings.

    async def _serve(self, connection: Connection) -> None:
        await connection.serve()
        self._connection = None
        run, how = self._run, startup.how_ended(connection.returncode)
        if connection.ending or connection.failed is not None:
            pass  # it was to end, or has said why
        elif not connection.ready:
            connection.failed = startup.died(connection.start, connection.returncode)
            if (lost := connection.others_lost()) is not None:
                connection.failed = EngineFailed(remark=lost)
            self._emit(None, connection.failed)
        else:
            if printed := connection.last_words:
                how["printed"] = printed
            if run is not None and run.ledger.current is not None:
                how |= {"case": run.ledger.cases[run.ledger.current].label}
            facts: dict[str, Fact] = {**how, "ready": True}
            if run is None:
                facts["idle"] = True
            remark = Remark("engine-died", facts, "error")
            if connection.killed:
                seconds = self._options.grace_seconds
                remark = Remark("stop-forced", {"seconds": seconds})
            elif connection.hung is not None:
                remark = connection.hung
                if run is not None:
                    run.overdue = remark
            elif (lost := connection.others_lost()) is not None:
                remark = lost
                if run is not None:
                    run.overdue = lost
            if connection.several:
                self._alone = remark
            self._emit(
                None, EngineDied(returncode=connection.returncode, remark=remark)
            )
        if run is not None:
            run.stopping |= connection.ending
            for event in run.died(how):
                self._emit_run(run, event)
