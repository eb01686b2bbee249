"""Requests to the engine that take their time, and what happens without a key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from jaxtui import model
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.model import Experiment
from jaxtui.session import RefusedError
from jaxtui.state import Purpose

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp

Work = Callable[[], Coroutine[Any, Any, None]]
"""A request, not begun yet."""

PAUSE_SECONDS = 0.3
"""How long typing must have paused before the engine is asked about it."""

MOST_FORESEEN = 1000
"""Cases: the plan of many more is megabytes, and what is typed next needs another."""


class Requests:
    """The part of the app that waits for the engine without blocking the screen."""

    @property
    def _owner(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self)

    def background(self, work: Work) -> None:
        """Let a request take its time; an engine that is gone is said to be."""
        self._begin(partial(self._guarded, work), "requests")

    def start(self, work: model.Work, purpose: Purpose) -> None:
        """Have a work run."""
        self.background(partial(self._run, work, purpose))

    async def _run(self, work: model.Work, purpose: Purpose) -> None:
        await self._owner.session.run(work, purpose)

    def foresee(self, experiment: Experiment) -> None:
        """Ask the engine, when typing has paused, what would not work."""
        if len(experiment.cases) > MOST_FORESEEN:
            return
        work = partial(self._foresee, experiment)
        self._begin(partial(self._guarded, work), "plan", exclusive=True)

    def release_if_idle(self) -> None:
        """Give the accelerator back after a time without input."""
        owner = self._owner
        state = owner.session.state
        if owner.idle.over(held=state.accelerator is not None, busy=state.busy):
            why = "No input for ten minutes: the accelerator was released."
            self.background(partial(owner.session.release, why))

    def _begin(self, work: Work, group: str, *, exclusive: bool = False) -> None:
        # The callable and not its coroutine: a worker that is superseded before it
        # began would leave one that is never awaited.
        begin: Callable[[], Awaitable[None]] = work
        self._owner.run_worker(begin, group=group, exclusive=exclusive)

    async def _guarded(self, work: Work) -> None:
        try:
            await work()
        except RefusedError as error:
            self._owner.session.say(str(error))
        except EngineUnavailableError as error:
            self._owner.session.unavailable(error)

    async def _foresee(self, experiment: Experiment) -> None:
        session = self._owner.session
        await asyncio.sleep(PAUSE_SECONDS)
        if session.state.engine != "ready":
            return
        plan = await session.plan(experiment)
        problems = [case.problem for case in plan.cases if case.problem is not None]
        if not self._owner.screen_stack:  # the app has closed meanwhile
            return
        from jaxtui.tui.widgets.case_form import CaseForm

        entry = self._owner.screen_stack[0].query_one(CaseForm)
        if problems and entry.verdict.experiment == experiment:
            count = f" ({len(problems)} cases)" if len(problems) > 1 else ""
            entry.say(f"{problems[0].error} {problems[0].hint}{count}", True)
