"""Running the steps of a lesson through an engine, one work after the other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from jaxtui.commands.driving import Driver
from jaxtui.document import StepResults, StepRow
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.lessons.base import Conclusion, Setting, Step, conclude, next_work
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.model import RunFinished


@dataclass
class Played:
    """A step as far as it was run."""

    step: Step
    setting: Setting
    outcome: Outcome = NOTHING

    @property
    def conclusion(self) -> Conclusion:
        """What its figures say."""
        return conclude(self.step, self.setting, self.outcome)

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
class Course(Driver):
    """How far a lesson has come; read when it is interrupted."""

    played: list[Played] = field(default_factory=list)

    @property
    def flawed(self) -> bool:
        """Whether some step has not everything that it should."""
        return any(played.flawed for played in self.played)

    async def play(self, step: Step, setting: Setting) -> None:
        """Run everything that a step runs; what had arrived stays if it is broken off.

        Raises:
            EngineUnavailableError: There is no engine any more.
        """
        played = Played(step, setting)
        self.played.append(played)
        done = 0
        try:
            while work := next_work(step, setting, played.outcome, done):
                async for event in self.follow(await self.engine.run(work)):
                    played.outcome = collect(played.outcome, event)
                done += 1
        except (asyncio.CancelledError, EngineUnavailableError) as error:
            stopped = isinstance(error, asyncio.CancelledError)
            broken_off = RunFinished(
                outcome="cancelled" if stopped else "crashed", elapsed_seconds=0.0
            )
            played.outcome = collect(played.outcome, broken_off)
            raise
