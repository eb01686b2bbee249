"""Running the health check through an engine, one test after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from jaxtui.analysis.examination import (
    Examination,
    begin,
    cancelled,
    given_up,
    observe,
    overdue,
)
from jaxtui.commands.check_request import Request
from jaxtui.commands.driving import Driver
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.model import Check, CheckTest, Event, Logged, WorkFailed


@dataclass
class Checked(Driver):
    """How far a check has come; read when it is interrupted."""

    examination: Examination | None = None
    """``None`` until the devices are known."""
    test: CheckTest | None = None
    """The one that goes on, or was the last."""
    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed_seconds(self) -> float:
        """Since the command began."""
        return time.monotonic() - self.began

    async def begin(self, request: Request) -> None:
        """Wait for the devices, and choose those to test.

        Raises:
            CannotRun: if the engine ends before, there is nothing to test, or no
                verdict would mean anything.
            SelectionError: if a device does not exist.
        """
        ready = await self.ready()
        self.refuse("verdicts")
        chosen = request.chosen(ready.devices, ready.host)
        self.examination = begin(chosen, request.level, request.limit)

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
        try:
            number = await self.engine.run(check)
        except EngineUnavailableError as error:
            return given_up(examination, f"JAX could not be started again: {error}")
        watching = asyncio.create_task(self._end_late(examination.limit_seconds))
        try:
            return await self._observe(number)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _observe(self, number: int) -> Examination:
        """Take in the events of a run until its last one."""
        assert self.examination is not None
        printed: list[str] = []
        async for event in self.follow(number):
            if isinstance(event, Logged):
                printed.append(event.line)
            told = _with_last_words(event, printed)
            self.examination = observe(self.examination, told)
        return self.examination

    async def _end_late(self, limit_seconds: float) -> None:
        """End the test that goes on when its time is over."""
        deaths = -1
        assert self.examination is not None
        # One that begins again, as its engine has died, has all its time again.
        while deaths != self.examination.deaths or self.state.engine == "starting":
            deaths = self.examination.deaths
            await asyncio.sleep(limit_seconds)
        self.examination = overdue(self.examination)
        await self.engine.stop()


def _with_last_words(event: Event, printed: Sequence[str]) -> Event:
    """A failure without a text of its own gets what the engine had printed."""
    if not isinstance(event, WorkFailed) or event.detail:
        return event
    return msgspec.structs.replace(event, detail="\n".join(printed))
