"""What the app and the commands need of an engine; tests fake it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from jaxtui.engine.protocol import Envelope
from jaxtui.model import EngineFailed, Experiment, Plan, Work

MAX_RESTARTS = 3
"""Restarts one after the other, of engines that served for nothing, before there are
no more."""


class EngineUnavailableError(Exception):
    """There is no engine to ask; the events have said why."""

    def __init__(self, error: str, failed: EngineFailed | None = None) -> None:
        """Keep the sentence, and the engine's own words if it had some."""
        super().__init__(error)
        self.failed = failed


class Engine(Protocol):
    """What the app and the commands need of an engine."""

    @property
    def generation(self) -> int:
        """The number of the newest engine process; 0 before the first."""
        ...

    async def start(self) -> None:
        """Start an engine unless there is one; does not wait until it is ready."""
        ...

    def events(self) -> AsyncIterator[Envelope]:
        """Everything in order, across restarts, until ``close``; for one consumer."""
        ...

    async def run(self, work: Work) -> int:
        """Start a run as soon as the engine is ready; returns its number.

        While a run goes on nothing is started: ``Busy`` is an event, and the number
        is that of the run that goes on.

        Raises:
            EngineUnavailableError: The engine cannot serve.
        """
        ...

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        """What an experiment would need; during a run the answer comes after it.

        Args:
            experiment: What is asked for.
            recipes: Ask as well how to do it without jaxtui.

        Raises:
            EngineUnavailableError: The engine cannot serve.
        """
        ...

    async def stop(self) -> None:
        """End the run, by force after the grace period; returns when it has ended."""
        ...

    async def release(self) -> None:
        """End the engine, so that the accelerator is free; ``run`` starts it again."""
        ...

    async def refresh_memory(self) -> None:
        """Ask for a ``Memory`` event; it comes between runs."""
        ...

    async def close(self) -> None:
        """End the engine for good; afterwards no process is left."""
        ...
