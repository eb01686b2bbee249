"""Running a search for crossings through an engine, one size after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from jaxtui.analysis.crossover import Search, begin
from jaxtui.commands.crossover_request import Request
from jaxtui.commands.driving import Driver
from jaxtui.engine.client import EngineUnavailableError


@dataclass
class Searched(Driver):
    """How far a search has come; read when it is interrupted."""

    search: Search | None = None
    """``None`` until the devices are known."""
    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed_seconds(self) -> float:
        """Since the command began."""
        return time.monotonic() - self.began

    async def begin(self, request: Request) -> None:
        """Wait for the devices, and settle what is compared.

        Raises:
            CannotRun: if the engine ends before.
            SelectionError: if the op, a device or a mode of it does not exist.
        """
        ready = await self.ready(lambda ops: request.sizes(request.info(ops)))
        self.refuse("jax")
        first, second = request.cases(ready.ops, ready.devices)
        sizes = request.sizes(request.info(ready.ops))
        self.search = begin(first, second, sizes, request.budget, request.seed)

    async def find(self, ended: Callable[[Search], None]) -> None:
        """Measure size after size; what was measured stays if that is broken off.

        Args:
            ended: called after each size.
        """
        assert self.search is not None
        try:
            while experiment := self.search.next_work:
                async for event in self.follow(await self.engine.run(experiment)):
                    self.search = self.search.observe(event)
                if self.interrupt.happened:
                    self.search = self.search.stopped()
                ended(self.search)
        except asyncio.CancelledError:
            self.search = self.search.stopped()
            raise
        except EngineUnavailableError:
            self.search = self.search.lost("")
            raise
