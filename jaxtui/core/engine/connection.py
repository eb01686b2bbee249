"""An engine process on asyncio: lines in, events and log lines out, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from jaxtui.core.engine import silence, startup
from jaxtui.core.engine.process import KILL_SECONDS, EngineOptions, EngineProcess
from jaxtui.core.engine.protocol import (
    MAX_LINE_BYTES,
    Envelope,
    GoodbyeRequest,
    PlanRequest,
    Request,
    decode_envelope,
    encode,
)
from jaxtui.core.model import (
    EngineFailed,
    Event,
    Experiment,
    Hello,
    Host,
    HostLost,
    Logged,
    Plan,
    Planned,
    Ready,
    Remark,
    Waiting,
)
from jaxtui.core.model.remark import Fact, RemarkError
from jaxtui.machine import messages
from jaxtui.machine.hosts import heartbeat_seconds
from jaxtui.machine.packages import version_numbers as numbers

MAX_LOG_LINE_BYTES = 64 * 1024
"""A longer line of the log is cut into pieces of this size."""

_LOOK_SECONDS = 0.25
"""Seconds between two looks whether the process still exists."""

_DRAIN_SECONDS, _LOG_DRAIN_SECONDS = 2.0, 0.5
"""Seconds until the pipes of events and of the log are closed: a process that has left
the engine's group may keep them open."""

_LAST_WORDS_SECONDS = 0.3
"""Seconds that a process gets to write where it is, before it is ended."""

_EXIT_SECONDS = 2.0

_LAST_LINES = 60
"""Lines of the log that are kept to say why the process ended."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class EngineUnavailableError(RemarkError):
    """An error: there is no engine; the events have said why."""


class Connection:
    """The client's side of one engine process.

    Args:
        process: the engine.
        options: how patient to be with it.
        receive: gets its envelopes; log lines, and what this side says of its start,
            are events among them.
    """

    def __init__(
        self,
        process: EngineProcess,
        options: EngineOptions,
        receive: Callable[[Connection, Envelope], None],
    ) -> None:
        self._process, self._options = process, options
        self._receive = receive
        self.generation = process.generation
        self.ready = False
        """``Ready`` has arrived, or ``Hello`` from one that waits for its first run."""
        self.failed: EngineFailed | None = None
        """``EngineFailed``, if it has arrived, or why this side gave it up."""
        self.start = startup.NOTHING
        """The progress of its start."""
        self.hosts: tuple[Host, ...] = ()
        """The hosts of the processes that it works with, where there are several."""
        self.several = False
        """True for one of several processes."""
        self.lost: Remark | None = None
        """The process that is gone, and this one with it, if it has said so."""
        self.ending = False
        """True if its end is no crash."""
        self.killed = False
        """True if this side ended it."""
        self.hung: Remark | None = None
        """The reason why it was ended as if it had crashed."""
        self._gone = asyncio.Event()
        """Set once it was killed."""
        self.settled = asyncio.Event()
        """Set once it is ready, or has failed, ended, or was given up."""
        self.ended = asyncio.Event()
        """The process is gone, and all that it said has been received."""
        self.served: asyncio.Task[None]
        """The client's task: it is done when all that follows from that is."""
        self.returncode: int | None = None
        self._heard = 0
        """Events; what is merely printed does not count."""
        self._last_lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._lost_in_log: Remark | None = None
        """The process that is gone, as jaxlib says before it aborts: long before its
        last line."""
        self._plans: dict[int, asyncio.Future[Plan]] = {}
        """The answers that are awaited, by the numbers of their requests."""
        self._plan_numbers = itertools.count(1)

    async def open(self) -> None:
        """Take over the pipes; from now on requests can be sent."""
        requests, events, log = self._process.take_pipes()
        self._writer, _ = await _loop().connect_write_pipe(
            asyncio.BaseProtocol, os.fdopen(requests, "wb", buffering=0)
        )
        self._events, self._events_pipe = await _reader(events, MAX_LINE_BYTES)
        self._log, self._log_pipe = await _reader(log, MAX_LOG_LINE_BYTES)

    async def serve(self) -> None:
        """Receive until the process has ended."""
        logging = asyncio.ensure_future(self._receive_log())
        receiving = asyncio.ensure_future(self._receive_events())
        starting = asyncio.ensure_future(self._watch_start())
        try:
            # What the process has forked may hold its end of the pipe.
            while not receiving.done() and self._process.popen.poll() is None:
                await asyncio.wait({receiving}, timeout=_LOOK_SECONDS)
                if self._gone.is_set():
                    break
            self.returncode = await self._exit_status()
            self._process.kill()
            await asyncio.wait({receiving}, timeout=_DRAIN_SECONDS)
            # A fault of this side must not look like an engine with nothing to say.
            for task in (receiving, starting):
                if task.done():
                    task.result()
            await asyncio.wait({logging}, timeout=_LOG_DRAIN_SECONDS)
        finally:
            for task in (receiving, logging, starting):
                task.cancel()
            self._process.kill()
            for pipe in (self._writer, self._events_pipe, self._log_pipe):
                # asyncio stumbles over closing a pipe that the other end closed.
                if not pipe.is_closing():
                    pipe.close()
            self.settled.set()
            self.ended.set()
            for answer in self._plans.values():
                if not answer.done():
                    ended = Remark("engine-gone", severity="error")
                    why = self.failed.remark if self.failed else self.hung or ended
                    error = EngineUnavailableError(why)
                    answer.set_exception(error)

    def send(self, request: Request) -> None:
        """Send a request; one to an engine that is gone is lost, as is the engine."""
        if not self._writer.is_closing():
            self._writer.write(encode(request))

    async def plan(
        self,
        experiment: Experiment,
        limits: Callable[[], silence.Limits],
        *,
        recipes: bool,
    ) -> Plan:
        """Plan an experiment, with recipes that do it without jaxtui.

        Args:
            experiment: what is asked for.
            limits: how long the process may say nothing.
            recipes: ask as well how to do it without jaxtui.

        Raises:
            EngineUnavailableError: The process ends before it has answered.
        """
        number = next(self._plan_numbers)
        answer: asyncio.Future[Plan] = _loop().create_future()
        self._plans[number] = answer
        self.send(PlanRequest(request=number, experiment=experiment, recipes=recipes))
        watch = asyncio.ensure_future(
            self.silence(limits, lambda: not (answer.done() or self.ended.is_set()))
        )
        try:
            tasks: set[asyncio.Future[Any]] = {answer, watch}
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and (seconds := watch.result()) is not None:
                self.abort(Remark("engine-hung", {"seconds": seconds}, "error"))
            return await answer
        finally:
            watch.cancel()
            del self._plans[number]

    async def end(self, grace_seconds: float) -> None:
        """Say goodbye, wait, kill what is left, and wait until all is received."""
        self.ending = True
        self.send(GoodbyeRequest())
        if not await _wait(self.ended, grace_seconds):
            self.kill()
            await self.ended.wait()

    def others_lost(self) -> Remark | None:
        """Return the process that is gone, if that is why this one has ended."""
        joined = self.start.joining
        if self.lost is not None or joined is None:
            return self.lost
        remark = self._lost_in_log
        if remark is None:
            return None
        process, name = remark.facts.get("process"), ""
        names = joined.hostnames
        if isinstance(process, int) and process < len(names):
            name = names[process]
        facts = {**remark.facts, "hostname": name}
        if not self.hosts or numbers(self.hosts[0].jax or "") >= (0, 7):
            facts["seconds"] = heartbeat_seconds(os.environ)
        return _timestamped(msgspec.structs.replace(remark, facts=facts))

    @property
    def last_words(self) -> str:
        """Return the last lines that it printed before Python said that it crashed."""
        words = messages.last_words(self._last_lines)
        return words.partition(messages.FAULT)[0].strip()

    def kill(self) -> None:
        """End the process now; ``ended`` tells when it is gone."""
        self.killed = True
        self._process.kill()
        self._gone.set()

    def abort(self, why: Remark) -> None:
        """End the process as if it had crashed."""
        self.hung = why
        self._process.kill()
        self._gone.set()

    async def silence(
        self, limits: Callable[[], silence.Limits], concerned: Callable[[], bool]
    ) -> float | None:
        """Wait for a silence that is too long, counted from when it is ready.

        Args:
            limits: of now.
            concerned: whether whoever waits still is.

        Returns:
            The limit that has passed, seconds; ``None`` if it has ended before, or
            whoever waits is not concerned any more.
        """
        await self.settled.wait()

        def spent() -> float | None:
            # One of several may wait for the others, which work.
            pid = self._process.popen.pid
            return None if self.several else silence.cpu_seconds(pid)

        def say(seconds: float, left: float) -> None:
            facts: dict[str, Fact] = {"seconds": seconds, "left": left}
            remark = Remark("engine-silent", facts, "warning")
            self._say(Waiting(elapsed_seconds=seconds, remark=remark))

        return await silence.hangs(
            lambda: self._heard,
            spent,
            limits,
            lambda: concerned() and not self.ended.is_set(),
            say,
        )

    async def _watch_start(self) -> None:
        """Say that a start takes long, and end one that takes too long."""
        limit, began = self._options.start_limit_seconds, _loop().time()
        early = self._options.hosts_seconds
        for seconds in sorted({early, self._options.slow_seconds, limit} - {0.0}):
            settled = await _wait(self.settled, began + seconds - _loop().time())
            if settled or self.ending:
                return
            waits = startup.awaits_others(self.start) or startup.is_slice(self.start)
            if seconds == early and not waits:
                continue
            if limit and seconds >= limit:
                await self._give_up(limit)
                return
            remark = startup.slow(self.start, seconds)
            self._say(Waiting(elapsed_seconds=seconds, remark=remark))

    async def _give_up(self, limit_seconds: float) -> None:
        """End a process that has not started, unless it has at the last moment."""
        if self.start.hardware:
            # It has begun: its faulthandler writes to the log where it is.
            self._process.popen.send_signal(signal.SIGUSR1)
            await _wait(self.settled, _LAST_WORDS_SECONDS)
        if not self.settled.is_set():
            self.failed = startup.timed_out(self.start, limit_seconds)
            self.settled.set()
            self.kill()
            self._say(self.failed)

    async def _receive_events(self) -> None:
        while True:
            try:
                line = await self._events.readline()
            except ValueError:
                self._log_line("event too long")
                return
            if not line.endswith(b"\n"):
                return
            try:
                envelope = decode_envelope(line)
            except msgspec.DecodeError as error:
                self._log_line(f"event: {error}: {line[:200]!r}")
                continue
            self._heard += 1
            event = envelope.event
            if envelope.run is not None:
                self._receive(self, envelope)
                continue
            self.start = startup.observe(self.start, event)
            if isinstance(event, Ready) or (
                isinstance(event, Hello) and self._process.waits
            ):
                self.ready = True
                self.settled.set()
                if isinstance(event, Ready):
                    self.hosts, self.several = event.hosts, bool(self.start.joining)
            elif isinstance(event, HostLost):
                self.lost = _timestamped(event.remark)
            elif isinstance(event, EngineFailed):
                self.failed = event
                self.settled.set()
            elif isinstance(event, Planned):
                answer = self._plans.get(event.request)
                if answer is not None and not answer.done():
                    answer.set_result(event.plan)
            self._receive(self, envelope)

    async def _receive_log(self) -> None:
        async for line in _log_lines(self._log):
            self._log_line(line)

    def _log_line(self, line: str) -> None:
        event = Logged(line=line)
        # Who is lost may stand in the next line.
        self._last_lines.append(line)
        remark = messages.lost_processes("\n".join([*self._last_lines][-2:]))
        if remark and (not self._lost_in_log or remark.code == "host-lost"):
            self._lost_in_log = remark
        if not self.ready:
            self.start = startup.observe(self.start, event)
        self._say(event)

    def _say(self, event: Event) -> None:
        """Add an event of this side to those of the process."""
        envelope = Envelope(generation=self.generation, run=None, event=event)
        self._receive(self, envelope)

    async def _exit_status(self) -> int | None:
        """The status of a process that has closed its event pipe, so is ending."""
        popen = self._process.popen
        for seconds in (_EXIT_SECONDS, KILL_SECONDS):
            deadline, pause = _loop().time() + seconds, 0.001
            while popen.poll() is None and _loop().time() < deadline:
                # Neither SIGCHLD nor a thread of its own: this lasts milliseconds.
                await asyncio.sleep(pause)
                pause = min(pause * 2, 0.05)
            if popen.returncode is not None:
                break
            self._process.kill()
        return popen.returncode


def _timestamped(remark: Remark) -> Remark:
    """Add the time at which this host heard of it, seconds since 1970."""
    return msgspec.structs.replace(remark, facts={**remark.facts, "at": time.time()})


async def _log_lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    """Lines of any length and any bytes, as text without colours."""
    rest = b""
    while chunk := await reader.read(MAX_LOG_LINE_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) >= MAX_LOG_LINE_BYTES:
            lines.append(rest)
            rest = b""
        for line in lines:
            yield _clean(line)
    if rest:
        yield _clean(rest)


def _clean(line: bytes) -> str:
    return _COLOUR.sub("", line.decode(errors="replace"))


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event; return whether it was set in time."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(event.wait(), max(0.0, seconds))
    return event.is_set()


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def _reader(
    fd: int, limit: int
) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader(limit=limit)
    transport, _ = await _loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    return reader, transport
