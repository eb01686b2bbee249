"""Running the health check through an engine, one test after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from jaxtui.commands.check_request import Request
from jaxtui.commands.interrupt import Interrupt
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.session import Session
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.engine.protocol import Envelope
from jaxtui.health.examination import (
    Examination,
    begin,
    cancelled,
    given_up,
    observe,
    overdue,
)
from jaxtui.model import Check, CheckTest, Event, Logged, Ready, RunFinished, WorkFailed
from jaxtui.tui.state import EMPTY, State


@dataclass
class Checked:
    """How far a check has come; read when it is interrupted."""

    interrupt: Interrupt = field(default_factory=Interrupt)
    session: Session | None = None
    examination: Examination | None = None
    """``None`` until the devices are known."""
    test: CheckTest | None = None
    """The one that goes on, or was the last."""
    working: bool = False
    """It is being run."""
    began: float = field(default_factory=time.monotonic)
    _events: AsyncIterator[Envelope] | None = None

    @property
    def state(self) -> State:
        """The newest snapshot of the engine."""
        return self.session.state if self.session else EMPTY

    @property
    def elapsed_seconds(self) -> float:
        """Since the command began."""
        return time.monotonic() - self.began

    def stop(self) -> Coroutine[Any, Any, None] | None:
        """Ends the test that is going on."""
        if not self.working or self.session is None:
            return None
        return self.session.engine.stop()

    async def begin(self, session: Session, request: Request) -> Examination:
        """Take the engine, wait for its devices, and choose those to test.

        Raises:
            CannotRun: if the engine ends before, or there is nothing to test.
            SelectionError: if a device does not exist.
        """
        self.session, self._events = session, session.events()
        async for envelope in self._events:
            if isinstance(envelope.event, Ready):
                ready = envelope.event
                chosen = request.chosen(ready.devices, ready.host)
                self.examination = begin(chosen, request.level, request.limit)
                return self.examination
        raise CannotRun("The engine ended before it had listed its devices.")

    async def examine(self, ended: Callable[[CheckTest], None]) -> None:
        """Run every test; what was read stays if that is broken off.

        Args:
            ended: called with each test that has all its readings.
        """
        assert self.examination is not None
        try:
            while check := self.examination.next_check:
                self.test = check.test
                self.examination = await self._do(check, self.examination)
                if self.interrupt.happened:
                    self.examination = cancelled(self.examination)
                    return
                following = self.examination.next_check
                if following is None or following.test != check.test:
                    ended(check.test)
        except asyncio.CancelledError:
            self.examination = cancelled(self.examination)
            raise

    async def _do(self, check: Check, examination: Examination) -> Examination:
        """One test, until it is finished."""
        assert self.session is not None
        try:
            number = await self.session.engine.run(check)
        except EngineUnavailableError as error:
            return given_up(examination, f"JAX could not be started again: {error}")
        self.working = True
        watching = asyncio.create_task(self._end_late(examination.limit_seconds))
        try:
            return await self._follow(number)
        finally:
            self.working = False
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _follow(self, number: int) -> Examination:
        """Take in the events of a run until its last one."""
        assert self._events is not None
        assert self.examination is not None
        printed: list[str] = []
        async for envelope in self._events:
            if isinstance(envelope.event, Logged):
                printed.append(envelope.event.line)
            if envelope.run != number:
                continue
            event = _with_last_words(envelope.event, printed)
            self.examination = observe(self.examination, event)
            if isinstance(event, RunFinished):
                return self.examination
        return given_up(self.examination, "The engine has gone.")

    async def _end_late(self, limit_seconds: float) -> None:
        """End the test that goes on when its time is over."""
        await asyncio.sleep(limit_seconds)
        assert self.session is not None
        assert self.examination is not None
        self.examination = overdue(self.examination)
        await self.session.engine.stop()


def _with_last_words(event: Event, printed: Sequence[str]) -> Event:
    """A failure without a text of its own gets what the engine had printed."""
    if not isinstance(event, WorkFailed) or event.detail:
        return event
    return msgspec.structs.replace(event, detail="\n".join(printed))
