"""The engine of a command: started, followed, interrupted and ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import click

from jaxtui.core import experiments
from jaxtui.core.engine.client import EngineClient, EngineUnavailableError
from jaxtui.core.history.recording import Past, Recording
from jaxtui.core.model import (
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Joining,
    Remark,
    Waiting,
)
from jaxtui.core.model.hosts import HOST_GONE
from jaxtui.core.session import RunRefusedError, Session, following
from jaxtui.core.signals import Stop, interrupt
from jaxtui.core.state import EMPTY, State
from jaxtui.ui import words
from jaxtui.ui.commands import CannotRun, Declined
from jaxtui.ui.commands.common import Common, spawn_process
from jaxtui.ui.commands.progress import confirm, progress
from jaxtui.ui.commands.terminal import (
    is_secondary_process,
    joined_as,
    say,
    takes_codes,
)
from jaxtui.ui.findings import failure_text, finding_text
from jaxtui.ui.progress import extent_text

LONG_SECONDS = 60.0
"""A run that takes longer is announced where nobody sees its progress."""

_Result = TypeVar("_Result")


class Driver:
    """A command's session: what it has come to is read when it is interrupted.

    Args:
        common: how to start the engine.
        environment: variables to set for it; ``None`` takes one away.
        topology: the name of a TPU that is not here, to compile for.
        record: keep what is measured in the history, unless ``--no-history``.
    """

    def __init__(
        self,
        common: Common,
        *,
        environment: Mapping[str, str | None] | None = None,
        topology: str | None = None,
        record: bool = False,
    ) -> None:
        self._factory = common.factory
        self._options = common.engine_options(environment)
        self._options.topology = topology
        self._record = record and common.record
        self._session: Session[State] | None = None
        self._lost = False
        self._reported: Remark | None = None
        """The reason why the last engine died, once reported."""

    @property
    def session(self) -> Session[State]:
        assert self._session is not None
        return self._session

    @property
    def state(self) -> State:
        return self._session.state if self._session else EMPTY

    @property
    def interrupted(self) -> bool:
        return interrupt.happened

    @property
    def lost(self) -> bool:
        """True if something is missing because an engine died."""
        return self._lost or (self._session is not None and self._session.lost)

    @property
    def complete(self) -> bool:
        """True if what was asked for has arrived."""
        return not self.interrupted and not self.lost

    def drive(
        self,
        work: Coroutine[Any, Any, _Result],
        stop: Stop | None = None,
        limit: float | None = None,
    ) -> _Result | None:
        """Run the command's work and return its result; ``None`` if something broke it
        off.

        A signal stops the current run, and without one breaks everything off, as
        a second signal does.

        Args:
            work: what the command does.
            stop: ends the current run, where that may be another's.
            limit: seconds after which the run is stopped as by a signal.

        Raises:
            CannotRun: if there is no engine.
        """
        try:
            end = stop or self.stop
            if limit is not None:
                work = _limited(work, end, limit)
            return interrupt.run(work, end)
        except RunRefusedError as error:
            raise CannotRun(words.text(error.remark)) from error
        except (CannotRun, EngineUnavailableError) as error:
            # What ends all processes of a job has ended the engine as well.
            if interrupt.happened:
                return None
            has_run = self._session is not None and self._session.has_run
            if isinstance(error, CannotRun):
                raise
            text = words.text(error.remark)
            if not has_run:
                raise CannotRun(text) from error
            self._lost = True
            if error.remark != self._reported:
                say(text, fails=True)
            return None

    @asynccontextmanager
    async def started(self) -> AsyncIterator[Session[State]]:
        """An engine for the length of a ``with`` block; it is gone afterwards."""
        options = self._options
        if self._factory is not None:
            engine = self._factory(options)
        else:
            engine = EngineClient(options, spawn_process(options))
        session = self._session = Session(engine, EMPTY)
        recording: Recording | None = None
        if self._record:
            loop = asyncio.get_running_loop()

            def know(past: Past) -> None:
                loop.call_soon_threadsafe(session.know, past)

            recording = Recording(say, know=know)
            observe, look_back = recording.observe, recording.look_back
            # Of several processes the first keeps what all have measured.
            session.observers.append(
                lambda event: is_secondary_process() or observe(event)
            )
            session.look_back = lambda cases: is_secondary_process() or look_back(cases)
        session.observers.append(self._narrate)
        try:
            async with following(session):
                yield session
        finally:
            if recording is not None:
                if missing := recording.close():
                    say(missing)
                await asyncio.sleep(0)  # for what it has found in the last moment

    def progress(
        self, place: Callable[[State], str] | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Shows how far it is, in a terminal, for the length of a ``with`` block.

        Args:
            place: in a series of runs.
        """
        return progress(lambda: self.state, place)

    async def confirm_start(self, experiment: Experiment, *, sure: bool) -> None:
        """Ask whether to run what is large, and ``warn``.

        Raises:
            Declined: it is not to be run.
            SelectionError: if there is no terminal to ask on.
        """
        extent = experiments.extent(experiment)
        sure |= is_secondary_process()  # the first asks
        if not sure and extent.is_large and not await confirm(extent_text(extent)):
            raise Declined("Nothing was measured.")
        self.announce(extent_text(extent), extent.seconds)
        self.warn()

    def announce(self, what: str, seconds: float) -> None:
        """Say how long a run of minutes takes, where no line shows how far it is."""
        if seconds > LONG_SECONDS and not takes_codes(sys.stderr):
            say(f"{what}.")

    def warn(self) -> None:
        """Say what may keep this machine from doing what it can."""
        for finding in self.state.findings:
            if finding.severity != "info":
                say(finding_text(finding))

    def _narrate(self, event: Event) -> None:
        """Tell of deaths and waits; without devices there is nothing to go on with."""
        state = self.state
        match event:
            case Joining():
                joined_as(state.process)
            case EngineFailed() as failed if not state.devices:
                raise CannotRun(failure_text(failed, state.findings))
            case EngineDied(remark=remark):
                gone = remark.code in HOST_GONE
                text = words.text(remark) if gone else words.sentence(remark)
                say(text, fails=True)
                self._reported = remark
            case Waiting(remark=remark):
                say(finding_text(remark))

    def stop(self, at_once: bool) -> Coroutine[Any, Any, None] | None:
        """End the current run, if there is one; wait no longer where it is urgent."""
        if at_once:
            self._options.grace_seconds = 0.0
        elif self.state.running and not is_secondary_process():
            return self.session.stop()
        return None


async def _limited(
    work: Coroutine[Any, Any, _Result], stop: Stop, seconds: float
) -> _Result:
    """Run the work, and stop it after some time.

    Raises:
        CancelledError: there was no run to stop.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            say(
                f"The limit of {seconds:g} s is reached: the results are those that"
                " arrived."
            )
            if (stopping := stop(False)) is not None:
                await stopping
            else:
                task.cancel()
        return await task
    finally:
        task.cancel()


def refused_topology(driver: Driver, error: CannotRun) -> None:
    """Tell a topology that libtpu does not have from an engine that cannot run.

    Raises:
        UsageError: There is no such topology.
    """
    failed = driver.state.failed
    if failed is not None and failed.remark.code == "topology-refused":
        raise click.UsageError(str(error)) from error
