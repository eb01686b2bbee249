"""Running the steps of a lesson through an engine, one work after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Any

from jaxtui.commands.interrupt import Interrupt
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.session import Session
from jaxtui.document import StepResults, StepRow
from jaxtui.engine.protocol import Envelope
from jaxtui.lessons.base import Conclusion, Setting, Step, next_work
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.model import Ready, RunFinished, Work
from jaxtui.tui.state import EMPTY, State


@dataclass
class Played:
    """A step as far as it was run."""

    step: Step
    setting: Setting
    outcome: Outcome = NOTHING

    @property
    def conclusion(self) -> Conclusion:
        """What its figures say."""
        return self.step.conclude(self.setting, self.outcome)

    @property
    def flawed(self) -> bool:
        """Whether something of it has no result.

        That TensorFlow, which is optional, is not installed is none of its business.
        """
        failures = [
            failure
            for failure in self.outcome.failures
            if failure.case.mode != "tensorflow"
        ]
        return bool(failures or self.outcome.problem)

    @property
    def results(self) -> StepResults:
        """All of it as a record."""
        conclusion, outcome = self.conclusion, self.outcome
        return StepResults(
            title=self.step.title,
            # Interim ones have not ended.
            measurements=tuple(one for one in outcome.measurements if one.stopped),
            claim=self.step.claim,
            holds=conclusion.holds,
            takeaway=conclusion.takeaway,
            rows=tuple(
                StepRow(
                    what=row.what,
                    yours=row.yours,
                    published=row.published,
                    remark=row.remark,
                )
                for row in conclusion.rows
            ),
            timings=dict(outcome.timings),
            values=dict(outcome.values),
            loops=outcome.loops,
            failures=outcome.failures,
            problem=outcome.problem,
        )


@dataclass
class Course:
    """How far a lesson has come; read when it is interrupted."""

    interrupt: Interrupt = field(default_factory=Interrupt)
    played: list[Played] = field(default_factory=list)
    session: Session | None = None
    working: bool = False
    """A work is being run."""
    _events: AsyncIterator[Envelope] | None = None

    @property
    def state(self) -> State:
        """The newest snapshot."""
        return self.session.state if self.session else EMPTY

    @property
    def flawed(self) -> bool:
        """Whether some step has not everything that it should."""
        return any(played.flawed for played in self.played)

    def stop(self) -> Coroutine[Any, Any, None] | None:
        """Ends the work that is going on."""
        if not self.working or self.session is None:
            return None
        return self.session.engine.stop()

    async def begin(self, session: Session) -> None:
        """Take the engine, and wait until it has listed its devices.

        Raises:
            CannotRun: if it ends before.
        """
        self.session, self._events = session, session.events()
        async for envelope in self._events:
            if isinstance(envelope.event, Ready):
                return
        raise CannotRun("The engine ended before it had listed its devices.")

    async def play(self, step: Step, setting: Setting) -> Played:
        """Run everything that a step runs; what had arrived stays if it is broken off.

        Raises:
            EngineUnavailableError: There is no engine any more.
        """
        played = Played(step, setting)
        self.played.append(played)
        done = 0
        try:
            while work := next_work(step, setting, played.outcome, done):
                await self._do(work, played)
                done += 1
        except asyncio.CancelledError:
            broken_off = RunFinished(outcome="cancelled", elapsed_seconds=0.0)
            played.outcome = collect(played.outcome, broken_off)
            raise
        return played

    async def _do(self, work: Work, played: Played) -> None:
        """One work, until it is finished."""
        assert self.session is not None
        assert self._events is not None
        number = await self.session.engine.run(work)
        self.working = True
        try:
            async for envelope in self._events:
                if envelope.run == number:
                    played.outcome = collect(played.outcome, envelope.event)
                    if isinstance(envelope.event, RunFinished):
                        return
        finally:
            self.working = False
