from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import Case, Event, Experiment, Hello, Logged, Work
from tests.processes import FAKE_PYTHON, LIMIT_SECONDS, ROOT


class Watched:
    """A client with everything that it has said so far."""

    def __init__(self, client: EngineClient) -> None:
        self.client = client
        self.seen: list[Envelope] = []
        self._events = client.events()

    async def until(
        self, *kinds: type[Event], when: Callable[[Event], bool] = lambda event: True
    ) -> Event:
        while True:
            envelope = await asyncio.wait_for(anext(self._events), LIMIT_SECONDS)
            self.seen.append(envelope)
            if isinstance(envelope.event, kinds) and when(envelope.event):
                return envelope.event

    async def run(self, work: Work) -> int:
        return await asyncio.wait_for(self.client.run(work), LIMIT_SECONDS)

    async def stop(self) -> None:
        await asyncio.wait_for(self.client.stop(), LIMIT_SECONDS)

    async def finish(self) -> None:
        await asyncio.wait_for(self.client.close(), LIMIT_SECONDS)
        self.seen += [envelope async for envelope in self._events]

    def of(self, *kinds: type[Event]) -> list[Event]:
        return [seen.event for seen in self.seen if isinstance(seen.event, kinds)]

    def log(self) -> list[str]:
        return [event.line for event in self.of(Logged) if isinstance(event, Logged)]

    async def pid(self) -> int:
        event = await self.until(Hello)
        assert isinstance(event, Hello)
        return event.pid


Opener = Callable[..., Awaitable[Watched]]


@pytest.fixture
def fake_options() -> Callable[..., EngineOptions]:
    def options(**changes: Any) -> EngineOptions:
        environment = {"PYTHONPATH": str(ROOT), **changes.pop("environment", {})}
        settings: dict[str, Any] = {
            "command": tuple(FAKE_PYTHON.split()),
            "grace_seconds": 1.0,
        }
        return EngineOptions(**{**settings, **changes, "environment": environment})

    return options


@pytest.fixture
async def open_engine(
    fake_options: Callable[..., EngineOptions],
) -> AsyncIterator[Opener]:
    opened: list[Watched] = []

    async def open_engine(**changes: object) -> Watched:
        watched = Watched(EngineClient(fake_options(**changes)))
        opened.append(watched)
        await watched.client.start()
        return watched

    yield open_engine
    for watched in opened:
        await asyncio.wait_for(watched.client.close(), LIMIT_SECONDS)


@pytest.fixture
def experiment() -> Callable[..., Experiment]:
    """``experiment("quick", ("abort", 2))``: ops with the turn in which they act."""

    def make(*ops: str | tuple[str, int], budget: float | None = None) -> Experiment:
        pairs = [(op, 0) if isinstance(op, str) else op for op in ops]
        cases = tuple(
            Case(op=op, size=size, dtype="float32", device="cpu:0", mode="jit")
            for op, size in pairs
        )
        return Experiment(cases=cases, budget_seconds=budget)

    return make
