"""Running a search for crossings through an engine, one size after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from jaxtui.commands.crossover_request import Request
from jaxtui.commands.interrupt import Interrupt
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.session import Session
from jaxtui.crossover import Search, begin, cancelled, observe
from jaxtui.crossover.search import given_up
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.engine.protocol import Envelope
from jaxtui.model import Experiment, Hello, Ready, RunFinished
from jaxtui.tui.state import EMPTY, State


@dataclass
class Searched:
    """How far a search has come; read when it is interrupted."""

    interrupt: Interrupt = field(default_factory=Interrupt)
    session: Session | None = None
    search: Search | None = None
    """``None`` until the devices are known."""
    working: bool = False
    """A size is being measured."""
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
        """Ends the size that is being measured."""
        if not self.working or self.session is None:
            return None
        return self.session.engine.stop()

    async def begin(self, session: Session, request: Request) -> None:
        """Take the engine, wait for its devices, and settle what is compared.

        Raises:
            CannotRun: if the engine ends before.
            SelectionError: if the op, a device or a mode of it does not exist.
        """
        self.session, self._events = session, session.events()
        async for envelope in self._events:
            match envelope.event:
                case Hello(ops=ops):
                    # Before the backend is up, which on a TPU takes seconds.
                    request.sizes(request.info(ops))
                case Ready(ops=ops, devices=devices):
                    first, second = request.cases(ops, devices)
                    sizes = request.sizes(request.info(ops))
                    self.search = begin(
                        first, second, sizes, request.budget, request.seed
                    )
                    session.warn()
                    return
        raise CannotRun("The engine ended before it had listed its devices.")

    async def find(self, ended: Callable[[Search], None]) -> None:
        """Measure size after size; what was measured stays if that is broken off.

        Args:
            ended: called after each size.
        """
        assert self.search is not None
        try:
            while experiment := self.search.next_experiment:
                self.search = await self._do(experiment, self.search)
                if self.interrupt.happened:
                    self.search = cancelled(self.search)
                ended(self.search)
        except asyncio.CancelledError:
            self.search = cancelled(self.search)
            raise

    async def _do(self, experiment: Experiment, search: Search) -> Search:
        """One size, until it is finished."""
        assert self.session is not None
        assert self._events is not None
        try:
            number = await self.session.engine.run(experiment)
        except EngineUnavailableError as error:
            return given_up(search, f"JAX could not be started again: {error}")
        self.working = True
        try:
            async for envelope in self._events:
                if envelope.run == number:
                    search = observe(search, envelope.event)
                    if isinstance(envelope.event, RunFinished):
                        return search
        finally:
            self.working = False
        return given_up(search, "The engine has gone.")
