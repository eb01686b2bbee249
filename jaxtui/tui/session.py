"""The app's half of the conversation with the engine: events in, requests out.

It keeps the newest snapshot; when that reaches the screen is the app's affair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from jaxtui.engine import startup
from jaxtui.engine.client import EngineClient, EngineUnavailableError
from jaxtui.model import (
    CheckDoing,
    CheckDone,
    CheckRead,
    EngineFailed,
    Event,
    Experiment,
    Logged,
    LoopSeen,
    PhaseMeasured,
    PhaseStarted,
    Plan,
    Progress,
    Sampled,
    SnippetShown,
    SnippetTimed,
    Work,
)
from jaxtui.tui.state import EMPTY, Purpose, State, begun, reduce, released

STOPPING = "Stopping after this turn."

_FREQUENT = (
    Sampled,
    Progress,
    Logged,
    PhaseStarted,
    PhaseMeasured,
    LoopSeen,
    SnippetShown,
    SnippetTimed,
    CheckDoing,
    CheckRead,
    CheckDone,
)
"""Events that wait for the next redraw; whatever else happens is shown at once."""


class Session:
    """One engine, and what is known of it.

    Args:
        engine: started by ``follow``, closed by ``close``.
        changed: called after each change; True if it should be shown at once.
    """

    def __init__(self, engine: EngineClient, changed: Callable[[bool], None]) -> None:
        self._engine = engine
        self._changed = changed
        self.latest: State = EMPTY
        """The newest snapshot."""
        self.observe: Callable[[Event], None] | None = None
        """Given every event, to keep what is measured; ``None`` keeps nothing."""

    async def follow(self) -> None:
        """Start the engine and take in its events for as long as it has any."""
        await self._engine.start()
        async for envelope in self._engine.events():
            self.latest = reduce(self.latest, envelope)
            if self.observe is not None:
                self.observe(envelope.event)
            self._changed(_is_urgent(envelope.event))

    def update(self, **changes: Any) -> None:
        """Change fields of the snapshot that belong to the screens."""
        self.latest = replace(self.latest, **changes)
        self._changed(True)

    def say(self, message: str) -> None:
        """Put one line on the message line."""
        self.update(message=message)

    async def run(self, work: Work, purpose: Purpose = "bench") -> None:
        """Start a run, and the engine before it if there is none."""
        if self.latest.running:
            self.say("A run is going on: stop it first.")
            return
        if refusal := self.latest.refusal(work):
            self.say(refusal)
            return
        if self.latest.engine in ("released", "failed"):
            self._starting("Starting JAX again for this run.")
        number = await self._engine.run(work)
        self.latest = begun(self.latest, number, purpose)
        self._changed(True)

    async def stop(self, why: str = STOPPING) -> None:
        """End the run; its numbers so far stay.

        Args:
            why: what the message line says meanwhile.
        """
        self.say(why)
        await self._engine.stop()
        if self.latest.message == why:
            self.say("")

    async def release(self, why: str) -> None:
        """Give the accelerator back."""
        await self._engine.release()
        self.latest = replace(released(self.latest), message=why)
        self._changed(True)

    async def retry(self) -> None:
        """Start the engine again after it failed."""
        self._starting("")
        await self._engine.start()

    def _starting(self, message: str) -> None:
        self.update(
            engine="starting", failed=None, message=message, start=startup.NOTHING
        )

    def unavailable(self, error: EngineUnavailableError) -> None:
        """Say that a request could not be served."""
        failed = error.failed or EngineFailed(
            reason="internal",
            error=str(error),
            hint="Press R to start the engine again.",
        )
        self.update(engine="failed", failed=failed, message=failed.error)

    async def refresh_memory(self) -> None:
        """Ask for fresh memory figures."""
        await self._engine.refresh_memory()

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        """What an experiment would need, and how to do it without jaxtui."""
        return await self._engine.plan(experiment, recipes=recipes)

    async def close(self) -> None:
        """End the engine."""
        await self._engine.close()


def _is_urgent(event: Event) -> bool:
    return not isinstance(event, _FREQUENT)
