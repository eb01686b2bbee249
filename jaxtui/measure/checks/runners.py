"""A device among others, all with the same work: how long it took, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import jax

from jaxtui.measure import clocks
from jaxtui.measure.checks.attempts import explained
from jaxtui.measure.checks.base import TroubleError, name
from jaxtui.measure.checks.rates import Prepared
from jaxtui.measure.probe import probe
from jaxtui.stats import Interval, rounds_interval

ALONE_ROUNDS = 3
"""Of one device without the others, for comparison."""


@dataclass
class Runner:
    """A device, its product, and its times."""

    device: jax.Device
    product: Prepared
    calls: int = 1
    """In each round."""
    alone: list[float] = field(default_factory=list)
    """Seconds for the calls of a round while nobody else works."""
    together: list[float] = field(default_factory=list)
    """Seconds from its first call to its last result while all work, by round."""
    ratios: list[float] = field(default_factory=list)
    """The same over the median of all devices."""
    trouble: TroubleError | None = None
    """Why it is out."""
    begun: float = 0.0
    """When the first call of this round was made, by ``perf_counter``."""
    last: Any = None
    """The last result of this round."""

    @property
    def name(self) -> str:
        """The device as people write it: ``tpu:3``."""
        return name(self.device)

    @property
    def place(self) -> str:
        """Its name, and where it sits as far as that is known."""
        coords = probe(lambda: tuple(self.device.coords))
        core = probe(lambda: self.device.core_on_chip)
        if coords is None:
            return self.name
        where = ",".join(map(str, coords))
        return f"{self.name} at ({where})" + (f" core {core}" if core else "")

    @property
    def ratio(self) -> Interval:
        """Its time over the median of all devices, from rounds."""
        return rounds_interval(self.ratios)

    def run_alone(self) -> None:
        """A few rounds without the others, after a first one to warm up.

        Raises:
            TroubleError: A call failed.
        """
        made = self.product.workload
        with explained(made.case, self.product.what, "warm-up"):
            clocks.burst(made.call, made.args, made.wait, 1)
            self.alone = [
                clocks.burst(made.call, made.args, made.wait, self.calls)
                for _ in range(ALONE_ROUNDS)
            ]

    def begin(self) -> None:
        """A round begins for this device."""
        self.begun, self.last = perf_counter(), None

    def call(self) -> None:
        """Enqueue one call, unless it is out."""
        if self.trouble is None:
            with self._or_out("dispatch"):
                made = self.product.workload
                self.last = made.call(*made.args)

    def finished(self) -> bool:
        """Whether it is through with this round, or out; notes the seconds if so."""
        if self.trouble is not None:
            return True
        if not self.last.is_ready():
            return False
        seconds = perf_counter() - self.begun
        with self._or_out("block"):
            self.last.block_until_ready()
            self.together.append(seconds)
        self.last = None
        return True

    @contextmanager
    def _or_out(self, phase: str) -> Iterator[None]:
        try:
            with explained(self.product.workload.case, self.product.what, phase):
                yield
        except TroubleError as trouble:
            self.trouble = trouble
