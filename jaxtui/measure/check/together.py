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
from jaxtui.measure.check import products, work
from jaxtui.measure.check.base import (
    Context,
    TroubleError,
    explained,
    name,
    place,
    reading,
    setting,
    shares_silicon,
    troubled,
)
from jaxtui.model import CheckDoing, CheckDone, CheckRead, Expected, Reading, RunEvent
from jaxtui.stats import Interval, median, rounds_interval

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
class Runner:
    """A device, its product, and its times."""

    device: jax.Device
    product: work.Prepared
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

    @property
    def name(self) -> str:
        """The device as people write it: ``tpu:3``."""
        return name(self.device)

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


def test(context: Context) -> Iterator[RunEvent]:
    """Rounds of the same calls on every device, and then how they compare."""
    if len(context.devices) == 1:
        yield CheckRead(reading=_skipped("There is one device."))
        yield CheckDone(device=name(context.devices[0]))
        return
    runners: list[Runner] = []
    yield from _line_up(context, runners)
    yield from _race(context, runners)
    if context.stop():
        return
    for one in _readings(context, runners):
        yield CheckRead(reading=one)
    for runner in runners:
        yield CheckDone(device=runner.name)


def _line_up(context: Context, runners: list[Runner]) -> Iterator[RunEvent]:
    """Add every device that can do its product; the others end here."""
    calls = 0
    for device in context.devices:
        if context.stop():
            return
        yield CheckDoing(devices=(name(device),), what=f"compiling for {name(device)}")
        try:
            chosen = setting(context, device)
            case = products.case(products.natural(chosen.device), chosen)
            product = work.prepared(case, WHAT, device, context.check.seed)
            runner = Runner(device, product)
            if shares_silicon(context.devices):
                calls = 1
            elif not calls:
                # So many make a round that is long enough to be timed.
                runner.run_alone()
                wanted = round(BURST_SECONDS / min(runner.alone))
                calls = min(max(wanted, 2), MOST_CALLS)
            runner.calls = calls
            runner.run_alone()
        except TroubleError as trouble:
            yield CheckRead(reading=troubled(context, device, trouble))
            yield CheckDone(device=name(device))
        else:
            runners.append(runner)


def _race(context: Context, runners: Sequence[Runner]) -> Iterator[RunEvent]:
    """Rounds within what the devices alone have left of the budget."""
    spent = sum(sum(runner.alone) for runner in runners)
    end = perf_counter() + context.check.budget_seconds - spent
    shuffled = random.Random(context.check.seed)
    rounds, late = 0, LATE_SECONDS
    yield _doing(runners)
    while rounds < LEAST_ROUNDS or perf_counter() < end:
        racing = [runner for runner in runners if runner.trouble is None]
        if len(racing) < 2 or context.stop():
            return
        shuffled.shuffle(racing)
        begin = perf_counter()
        yield from _round(context, racing, late)
        if not context.stop():
            through = [runner for runner in racing if runner.trouble is None]
            times = [runner.together[-1] for runner in through]
            for runner, seconds in zip(through, times, strict=True):
                runner.ratios.append(seconds / median(times))
        late = max(LATE_SECONDS, LATE_ROUNDS * (perf_counter() - begin))
        rounds += 1


def _round(context: Context, racing: list[Runner], late: float) -> Iterator[RunEvent]:
    """Enqueue the calls of all in turn, then look whose last result is there."""
    for turn in range(racing[0].calls):
        for runner in racing:
            if not turn:
                runner.begin()
            runner.call()
    waiting, named, start = list(racing), len(racing), perf_counter()
    while waiting and not context.stop():
        waiting = [runner for runner in waiting if not runner.finished()]
        if 0 < len(waiting) < named and perf_counter() - start > late:
            named = len(waiting)
            yield _doing(waiting)
        sleep(LOOK_SECONDS)
    if named < len(racing) and not waiting:
        yield _doing(racing)


def _doing(runners: Sequence[Runner]) -> CheckDoing:
    names = tuple(runner.name for runner in runners)
    return CheckDoing(devices=names, what="working on all devices at once")


def _readings(context: Context, runners: Sequence[Runner]) -> Iterator[Reading]:
    for runner in runners:
        if runner.trouble is not None:
            yield troubled(context, runner.device, runner.trouble)
    timed = [runner for runner in runners if runner.trouble is None and runner.ratios]
    if len(timed) < 2:
        yield _skipped("Fewer than two devices could do the work.")
        return
    most = AT_MOST_SHARED if shares_silicon(context.devices) else AT_MOST
    source = f"jaxtui's own bound: {most:.2f} times the median of all devices"
    expected = Expected(value=most, kind="most", source=source)
    for runner in timed:
        label = products.label(runner.product.workload.case, runner.device.platform)
        yield reading(
            "together",
            runner.device,
            WHAT,
            runner.ratio,
            expected=expected,
            said=(
                f"{runner.calls} × {label}: {fmt.seconds(median(runner.together))},"
                f" alone {fmt.seconds(median(runner.alone))}."
            ),
        )
    slowest = max(timed, key=lambda runner: runner.ratio.median)
    together = median([median(runner.together) for runner in timed])
    alone = median([median(runner.alone) for runner in timed])
    said = (
        f"{place(slowest.device)} took {slowest.ratio.median:.2f} times the median of"
        f" {len(timed)} devices. All at once, a device took {together / alone:.2f}"
        " times as long as alone."
    )
    yield reading(
        "together", None, SLOWEST, slowest.ratio, expected=expected, said=said
    )


def _skipped(why: str) -> Reading:
    return reading("together", None, SLOWEST, skipped=why)
