"""The loop itself as a program would write it: left alone, and watched.

Both bodies do the same between their first and last clock read; the watched one also
reads the clock around each call and hands its result to the watcher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

from jaxtui.measure.loops.results import ARRAY, Results
from jaxtui.measure.loops.watcher import Watcher
from jaxtui.measure.workload import Workload
from jaxtui.model import Loop, LoopCall


class Totals(NamedTuple):
    """One repeat as a whole, seconds since its first call was entered."""

    stopwatch: float
    """The loop's own code was through."""
    true: float
    """Every result was ready, too."""
    calls: int
    """Fewer than asked for if the loop was stopped."""


@dataclass(frozen=True)
class Body:
    """What is looped over."""

    loop: Loop
    workload: Workload
    turns: Callable[[], Iterable[object]]
    """As many items as there shall be calls."""
    results: Results = ARRAY
    """What is done with what the calls return."""

    def stamps(self) -> Stamps:
        """For one watched repeat."""
        waits = self.results.wait(self.loop.style) is not None
        return Stamps(waits=waits, watcher=Watcher(self.results.ready))

    def undisturbed(self) -> Totals:
        """One repeat with nobody watching."""
        style, chained, first = self.loop.style, self.loop.chained, self.results.first
        call, args = self.workload.call, self.workload.args
        rest, ready = args[1:], self.results.ready
        wait = self.results.wait(style)
        calls, result = 0, None
        with self.workload.scope():
            turns = self.turns()
            start = perf_counter()
            for _ in turns:
                result = call(*args)
                if chained:
                    args = (result[0] if first else result, *rest)
                if wait is not None:
                    wait(result)
                calls += 1
            if style == "end" and result is not None:
                ready(result)
            through = perf_counter()
            if result is not None:
                # A device computes in order: when the last is ready, all are.
                ready(result)
            return Totals(through - start, perf_counter() - start, calls)

    def watched(self, stamps: Stamps) -> Totals:
        """One repeat whose every call is stamped, into ``stamps``."""
        style, chained, first = self.loop.style, self.loop.chained, self.results.first
        call, args = self.workload.call, self.workload.args
        rest, ready = args[1:], self.results.ready
        wait, watch = self.results.wait(style), stamps.watcher.watch
        entered, returned = stamps.entered.append, stamps.returned.append
        waited = stamps.waited.append
        result = None
        with self.workload.scope(), stamps.watcher:
            for _ in self.turns():
                entered(perf_counter())
                result = call(*args)
                returned(perf_counter())
                watch(result)
                if chained:
                    args = (result[0] if first else result, *rest)
                if wait is not None:
                    wait(result)
                    waited(perf_counter())
            if style == "end" and result is not None:
                ready(result)
                stamps.last_waited = perf_counter()
            through = perf_counter()
        return stamps.totals(through)


@dataclass
class Stamps:
    """When the calls of one watched repeat were entered, came back and were ready.

    Grows while the repeat runs, so that another thread may look at what is complete.
    """

    waits: bool
    """The host waits in every call."""
    watcher: Watcher
    entered: list[float] = field(default_factory=list)
    returned: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    last_waited: float | None = None
    """The host was through with waiting for the last result, after the loop."""

    @property
    def complete(self) -> int:
        """How many calls are over, from the first on."""
        ready = len(self.watcher.ready)
        return min(ready, len(self.waited)) if self.waits else ready

    def calls(self, first: int, end: int) -> tuple[LoopCall, ...]:
        """Complete calls as they are reported."""
        return tuple(self._call(index) for index in range(first, end))

    def totals(self, through: float) -> Totals:
        """The repeat as a whole, once all of it is complete."""
        if not self.entered:
            return Totals(0.0, 0.0, 0)
        start, ready = self.entered[0], self.watcher.ready[-1]
        return Totals(
            through - start, max(through, ready) - start, len(self.watcher.ready)
        )

    def _call(self, index: int) -> LoopCall:
        start = self.entered[0]
        waited = self.waited[index] if self.waits else None
        if self.last_waited is not None and index == len(self.entered) - 1:
            waited = self.last_waited
        return LoopCall(
            entered=self.entered[index] - start,
            returned=self.returned[index] - start,
            ready=self.watcher.ready[index] - start,
            waited=None if waited is None else waited - start,
        )
