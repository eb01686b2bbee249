"""Driving an engine for a command: its devices first, then one work after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from jaxtui.commands.findings import narrate
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.session import EngineFactory, Session, session
from jaxtui.document import Outcome
from jaxtui.engine.client import EngineClient, EngineOptions, EngineUnavailableError
from jaxtui.engine.protocol import Envelope
from jaxtui.model import Event, Hello, Logged, OpInfo, Ready, RunFinished, Work
from jaxtui.signals import Interrupt, interrupt
from jaxtui.tui.state import EMPTY, State

_Result = TypeVar("_Result")


@dataclass
class Driver:
    """How far a command has come with its engine; read when it is interrupted."""

    interrupt: ClassVar[Interrupt] = interrupt
    session: Session | None = None
    lost: bool = False
    """An engine died over some work, and another one in the second attempt, or there is
    none any more."""
    _worked: bool = False
    _options: EngineOptions | None = None
    _events: AsyncIterator[Envelope] | None = None
    _working: bool = False

    @property
    def state(self) -> State:
        """The newest snapshot of the engine."""
        return self.session.state if self.session else EMPTY

    @property
    def outcome(self) -> Outcome:
        """Whether what has arrived is all that there is to be had."""
        if self.interrupt.happened:
            return "cancelled"
        return "incomplete" if self.lost else "complete"

    @property
    def engine(self) -> EngineClient:
        """The engine, once it is started."""
        assert self.session is not None
        return self.session.engine

    def drive(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """What the command's work gives; ``None`` if something broke it off.

        A signal stops the run that goes on, and without one breaks everything off, as
        a second signal does.

        Raises:
            CannotRun: if there is no engine.
        """
        try:
            return self.interrupt.run(work, self._stop)
        except (CannotRun, EngineUnavailableError) as error:
            # Whoever ends all processes of a job has ended the engine as well.
            if self.interrupt.happened:
                return None
            if isinstance(error, CannotRun) or not self._worked:
                raise CannotRun(str(error)) from error
            self.lost = True
            narrate(str(error))
            return None

    @asynccontextmanager
    async def started(
        self, factory: EngineFactory, options: EngineOptions, *, record: bool = False
    ) -> AsyncIterator[Session]:
        """An engine for the length of a ``with`` block.

        Args:
            factory: makes the engine.
            options: how to start it.
            record: keep what is measured in the history.
        """
        self._options = options
        async with session(factory, options, record=record) as self.session:
            self._events = self.session.events()
            yield self.session

    async def ready(
        self, hello: Callable[[Sequence[OpInfo]], object] | None = None
    ) -> Ready:
        """Wait until the engine has listed its devices.

        Args:
            hello: is given the catalogue before the backend is up, which on a TPU
                takes seconds: what can be refused by then is refused.

        Raises:
            CannotRun: if the engine ends before.
        """
        assert self._events is not None
        async for envelope in self._events:
            match envelope.event:
                case Hello(ops=ops) if hello is not None:
                    hello(ops)
                case Ready() as ready:
                    return ready
        raise CannotRun("The engine ended before it had listed its devices.")

    def refuse(self, what: Work | Literal["verdicts", "jax"]) -> None:
        """Once the devices are listed: stop before what means nothing here.

        Raises:
            CannotRun: a setting of JAX makes it meaningless.
        """
        if refusal := self.state.refusal(what):
            raise CannotRun(refusal)

    async def follow(self, number: int) -> AsyncIterator[Event]:
        """What comes of a run, and every line that is printed meanwhile.

        The last event is its ``RunFinished``.
        """
        assert self._events is not None
        self._worked = self._working = True
        async for envelope in self._events:
            event = envelope.event
            if isinstance(event, RunFinished) and envelope.run == number:
                # Not in a ``finally``: whoever leaves the loop at the last event would
                # have it run at some later time, in the middle of the next run.
                self._working = False
                self.lost |= event.outcome == "crashed"
                yield event
                return
            if envelope.run == number or isinstance(event, Logged):
                yield event
        self._working, self.lost = False, True
        yield RunFinished(outcome="crashed", elapsed_seconds=0.0)

    def _stop(self, at_once: bool) -> Coroutine[Any, Any, None] | None:
        if at_once and self._options is not None:
            self._options.grace_seconds = 0.0
        return self.engine.stop() if self._working and not at_once else None
