from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from jaxtui.engine.client import EngineClient, EngineOptions
from jaxtui.engine.protocol import Envelope
from jaxtui.model import Case, Event, Experiment, Hello, Logged, Work

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DEADLINE_SECONDS = 60.0


class Watched:
    """A client with everything that it has said so far."""

    def __init__(self, client: EngineClient) -> None:
        self.client = client
        self.seen: list[Envelope] = []
        self._events = client.events()

    async def next(self) -> Envelope:
        envelope = await asyncio.wait_for(anext(self._events), DEADLINE_SECONDS)
        self.seen.append(envelope)
        return envelope

    async def until(
        self, *kinds: type[Event], when: Callable[[Event], bool] = lambda event: True
    ) -> Event:
        while True:
            event = (await self.next()).event
            if isinstance(event, kinds) and when(event):
                return event

    async def run(self, work: Work) -> int:
        return await asyncio.wait_for(self.client.run(work), DEADLINE_SECONDS)

    async def stop(self) -> None:
        await asyncio.wait_for(self.client.stop(), DEADLINE_SECONDS)

    async def finish(self) -> list[Envelope]:
        await asyncio.wait_for(self.client.close(), DEADLINE_SECONDS)
        self.seen += [envelope async for envelope in self._events]
        return self.seen

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
    def options(**changes: object) -> EngineOptions:
        environment = {"PYTHONPATH": str(ROOT), **changes.pop("environment", {})}
        settings = {
            "command": (sys.executable, str(HERE / "fake_core.py")),
            "environment": environment,
            "grace_seconds": 1.0,
            **changes,
        }
        return EngineOptions(**settings)

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
        await asyncio.wait_for(watched.client.close(), DEADLINE_SECONDS)


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


@pytest.fixture
def ends_within() -> Callable[[int, float], bool]:
    """Whether a process, ours or an orphan, has ended after so many seconds."""

    def ends_within(pid: int, seconds: float) -> bool:
        try:
            watch = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        try:
            return bool(select.select((watch,), (), (), seconds)[0])
        finally:
            os.close(watch)

    return ends_within
