"""All devices at once, dispatched from one thread: does one of them lag behind?"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, sleep
from typing import Any

import jax

from jaxtui import format as fmt
from jaxtui.measure import clocks
from jaxtui.measure.check import compute, work
from jaxtui.measure.check.base import (
    Context,
    TroubleError,
    error_reading,
    reading,
    shares_silicon,
    translate_errors,
)
from jaxtui.measure.devices import name, place
from jaxtui.model import CheckDoing, CheckDone, CheckRead, Expected, Reading, RunEvent
from jaxtui.stats import median, rounds_interval

WHAT = "all devices at once"
SLOWEST = "slowest of all devices at once"

AT_MOST = 1.10
"""Of the median of all devices, on accelerators, which have nothing in common but the
thread that feeds them."""

AT_MOST_SHARED = 2.0
"""Where devices compute on the same cores: who gets how much of them is chance."""

BURST_SECONDS = 0.02
"""Work that each device gets in a round, where it is alone on its silicon."""

MOST_CALLS = 8
"""In a round, for each device; their results are all in memory."""

LEAST_ROUNDS = 3

LOOK_SECONDS = 0.0001
"""Between two looks at the results: half a percent of the work of a round."""

LATE_SECONDS = 2.0
LATE_ROUNDS = 10
"""After so many seconds, or so many times the length of the last round, those that are
not done are named: if they never are, they alone are to blame."""

ALONE_ROUNDS = 3
"""Of one device without the others, for comparison."""


@dataclass
class Racer:
    device: jax.Device
    product: work.Subject
    calls: int = 1
    """In each round."""
    alone: list[float] = field(default_factory=list)
    """Seconds for the calls of a round while no other works."""
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

    def run_alone(self) -> None:
        """A few rounds without the others, after a first one to warm up.

        Raises:
            TroubleError: A call failed.
        """
        made = self.product.workload
        with translate_errors(made.case, self.product.what, "warm-up"):
            clocks.burst(made.call, made.args, made.wait, 1)
            self.alone = [
                clocks.burst(made.call, made.args, made.wait, self.calls)
                for _ in range(ALONE_ROUNDS)
            ]

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
            with translate_errors(self.product.workload.case, self.product.what, phase):
                yield
        except TroubleError as trouble:
            self.trouble = trouble


def test(context: Context) -> Iterator[RunEvent]:
    """Rounds of the same calls on every device, and then how they compare."""
    if len(context.devices) == 1:
        yield CheckRead(reading=_skip("There is one device."))
        yield CheckDone(device=name(context.devices[0]))
        return
    racers: list[Racer] = []
    yield from _line_up(context, racers)
    yield from _race(context, racers)
    if context.stop():
        return
    for one in _readings(context, racers):
        yield CheckRead(reading=one)
    for racer in racers:
        yield CheckDone(device=name(racer.device))


def _line_up(context: Context, racers: list[Racer]) -> Iterator[RunEvent]:
    """Add every device that can do its product; the others end here."""
    calls = 0
    for device in context.devices:
        if context.stop():
            return
        yield CheckDoing(devices=(name(device),), what=f"compiling for {name(device)}")
        try:
            racer = Racer(device, compute.natural_product(context, device, WHAT))
            if shares_silicon(context.devices):
                calls = 1
            elif not calls:
                # So many make a round that is long enough to be timed.
                racer.run_alone()
                wanted = round(BURST_SECONDS / min(racer.alone))
                calls = min(max(wanted, 2), MOST_CALLS)
            racer.calls = calls
            racer.run_alone()
        except TroubleError as trouble:
            yield CheckRead(reading=error_reading("together", device, trouble))
            yield CheckDone(device=name(device))
        else:
            racers.append(racer)


def _race(context: Context, racers: Sequence[Racer]) -> Iterator[RunEvent]:
    """Rounds within what the devices alone have left of the budget."""
    spent = sum(sum(racer.alone) for racer in racers)
    end = perf_counter() + context.check.budget_seconds - spent
    shuffled = random.Random(context.check.seed)
    rounds, late = 0, LATE_SECONDS
    yield _doing(racers)
    while rounds < LEAST_ROUNDS or perf_counter() < end:
        racing = [racer for racer in racers if racer.trouble is None]
        if len(racing) < 2 or context.stop():
            return
        shuffled.shuffle(racing)
        begin = perf_counter()
        yield from _round(context, racing, late)
        if not context.stop():
            through = [racer for racer in racing if racer.trouble is None]
            times = [racer.together[-1] for racer in through]
            for racer, seconds in zip(through, times, strict=True):
                racer.ratios.append(seconds / median(times))
        late = max(LATE_SECONDS, LATE_ROUNDS * (perf_counter() - begin))
        rounds += 1


def _round(context: Context, racing: list[Racer], late: float) -> Iterator[RunEvent]:
    """Enqueue the calls of all in turn, then look whose last result is there."""
    for turn in range(racing[0].calls):
        for racer in racing:
            if not turn:
                racer.begun, racer.last = perf_counter(), None
            racer.call()
    waiting, named, start = list(racing), len(racing), perf_counter()
    while waiting and not context.stop():
        waiting = [racer for racer in waiting if not racer.finished()]
        if 0 < len(waiting) < named and perf_counter() - start > late:
            named = len(waiting)
            yield _doing(waiting)
        sleep(LOOK_SECONDS)
    if named < len(racing) and not waiting:
        yield _doing(racing)


def _doing(racers: Sequence[Racer]) -> CheckDoing:
    names = tuple(name(racer.device) for racer in racers)
    return CheckDoing(devices=names, what="working on all devices at once")


def _readings(context: Context, racers: Sequence[Racer]) -> Iterator[Reading]:
    for racer in racers:
        if racer.trouble is not None:
            yield error_reading("together", racer.device, racer.trouble)
    timed = [racer for racer in racers if racer.trouble is None and racer.ratios]
    if len(timed) < 2:
        yield _skip("Fewer than two devices could do the work.")
        return
    most = AT_MOST_SHARED if shares_silicon(context.devices) else AT_MOST
    source = f"jaxtui's own bound: {most:.2f} times the median of all devices"
    expected = Expected(value=most, kind="most", source=source)
    for racer in timed:
        label = compute.label(racer.product.workload.case, racer.device.platform)
        yield reading(
            "together",
            racer.device,
            WHAT,
            rounds_interval(racer.ratios),
            expected=expected,
            said=(
                f"{racer.calls} × {label}: {fmt.seconds(median(racer.together))},"
                f" alone {fmt.seconds(median(racer.alone))}."
            ),
        )
    slowest = max(timed, key=lambda racer: rounds_interval(racer.ratios).median)
    worst = rounds_interval(slowest.ratios)
    together = median([median(racer.together) for racer in timed])
    alone = median([median(racer.alone) for racer in timed])
    said = (
        f"{place(slowest.device)} took {worst.median:.2f} times the median of"
        f" {len(timed)} devices. All at once, a device took {together / alone:.2f}"
        " times as long as alone."
    )
    yield reading("together", None, SLOWEST, worst, expected=expected, said=said)


def _skip(why: str) -> Reading:
    return reading("together", None, SLOWEST, skipped=why)
