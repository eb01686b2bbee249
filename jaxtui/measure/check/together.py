"""All devices at once, dispatched from one thread: does one of them lag behind?"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, sleep
from typing import Any

import jax

from jaxtui.measure import clocks
from jaxtui.measure.check import compute, work
from jaxtui.measure.check.base import (
    Context,
    TroubleError,
    error_reading,
    reading,
    translate_errors,
)
from jaxtui.measure.devices import name
from jaxtui.model import CheckDoing, CheckDone, CheckRead, Reading, Remark, RunEvent
from jaxtui.stats import rounds_interval

WHAT = "all at once"

BURST_SECONDS = 0.02
"""Work that each device gets in a round, where it is alone on its silicon."""

MOST_CALLS = 8
"""Most calls in a round, for each device; their results are all in memory."""

LEAST_ROUNDS = 3

LOOK_SECONDS = 0.0001
"""Between two looks at the results: half a percent of the work of a round."""

LATE_SECONDS = 2.0
LATE_ROUNDS = 10
"""After so many seconds, or so many times the length of the last round, those that are
not done are named: if they never are, they alone are to blame."""


@dataclass
class Member:
    device: jax.Device
    product: work.Subject
    calls: int = 1
    """Calls in each round."""
    alone: list[float] = field(default_factory=list)
    """Seconds for the calls of a round while no other works."""
    together: list[float] = field(default_factory=list)
    """Seconds from its first call to its last result while all work, by round."""
    error: TroubleError | None = None
    """The error that took it out of the test."""
    begun: float = 0.0
    """The ``perf_counter`` time of the first call of this round."""
    last: Any = None
    """The last result of this round."""

    def time_alone(self) -> None:
        """A few rounds without the others, after a first one to warm up."""
        workload = self.product.workload
        with translate_errors(workload.case, self.product.what, "warm-up"):
            clocks.burst(workload.call, workload.args, workload.wait, 1)
            self.alone = [
                clocks.burst(workload.call, workload.args, workload.wait, self.calls)
                for _ in range(3)
            ]

    def call(self) -> None:
        """Enqueue one call, unless it is out."""
        if self.error is None:
            with self._catch("dispatch"):
                workload = self.product.workload
                self.last = workload.call(*workload.args)

    def finished(self) -> bool:
        """Return whether it is through with this round, or out; note the seconds."""
        if self.error is None:
            if not self.last.is_ready():
                return False
            seconds = perf_counter() - self.begun
            with self._catch("block"):
                self.last.block_until_ready()
                self.together.append(seconds)
        self.last = None
        return True

    @contextmanager
    def _catch(self, phase: str) -> Iterator[None]:
        try:
            with translate_errors(self.product.workload.case, self.product.what, phase):
                yield
        except TroubleError as error:
            self.error = error


def test(context: Context) -> Iterator[RunEvent]:
    """Rounds of the same calls on every device, and then how they compare."""
    if len(context.devices) == 1:
        yield CheckRead(reading=_skip(Remark("one-device")))
        yield CheckDone(device=name(context.devices[0]))
        return
    members: list[Member] = []
    yield from _prepare(context, members)
    yield from _rounds(context, members)
    if not context.stop():
        yield from (CheckRead(reading=figure) for figure in _readings(context, members))
        yield from (CheckDone(device=name(member.device)) for member in members)


def _prepare(context: Context, members: list[Member]) -> Iterator[RunEvent]:
    """Add every device that can do its product; the others end here."""
    calls = 1 if context.shared else 0
    for device in context.devices:
        if context.stop():
            return
        yield CheckDoing(devices=(name(device),), doing="compiling")
        try:
            member = Member(device, compute.natural_product(context, device, WHAT))
            if not calls:
                # So many make a round that is long enough to be timed.
                member.time_alone()
                fitting = round(BURST_SECONDS / min(member.alone))
                calls = min(max(fitting, 2), MOST_CALLS)
            member.calls = calls
            member.time_alone()
            members.append(member)
        except TroubleError as error:
            yield CheckRead(reading=error_reading("together", device, error))
            yield CheckDone(device=name(device))


def _rounds(context: Context, members: Sequence[Member]) -> Iterator[RunEvent]:
    """Rounds within what the devices alone have left of the budget."""
    spent = sum(sum(member.alone) for member in members)
    end = perf_counter() + context.check.budget_seconds - spent
    shuffled = random.Random(context.check.seed)
    rounds, late = 0, LATE_SECONDS
    yield _doing(members)
    while rounds < LEAST_ROUNDS or perf_counter() < end:
        active = [member for member in members if member.error is None]
        if len(active) < 2 or context.stop():
            return
        shuffled.shuffle(active)
        begin = perf_counter()
        yield from _round(context, active, late)
        late = max(LATE_SECONDS, LATE_ROUNDS * (perf_counter() - begin))
        rounds += 1


def _round(context: Context, active: list[Member], late: float) -> Iterator[RunEvent]:
    """Enqueue the calls of all in turn, then look whose last result is there."""
    for turn in range(active[0].calls):
        for member in active:
            if not turn:
                member.begun, member.last = perf_counter(), None
            member.call()
    waiting, reported, start = list(active), len(active), perf_counter()
    while waiting and not context.stop():
        waiting = [member for member in waiting if not member.finished()]
        if 0 < len(waiting) < reported and perf_counter() - start > late:
            reported = len(waiting)
            yield _doing(waiting)
        sleep(LOOK_SECONDS)
    if reported < len(active) and not waiting:
        yield _doing(active)


def _doing(members: Sequence[Member]) -> CheckDoing:
    names = tuple(name(member.device) for member in members)
    return CheckDoing(devices=names)


def _readings(context: Context, members: Sequence[Member]) -> Iterator[Reading]:
    for member in members:
        if member.error is not None:
            yield error_reading("together", member.device, member.error)
    timed = [member for member in members if member.error is None]
    if len(timed) < 2:
        yield _skip(Remark("one-device"))
        return
    for member in timed:
        figure = rounds_interval(member.together)
        yield reading("together", member.device, WHAT, figure, unit="seconds")


def _skip(why: Remark) -> Reading:
    return reading("together", None, WHAT, remarks=(why,))
