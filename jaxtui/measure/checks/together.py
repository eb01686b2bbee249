"""All devices at once, dispatched from one thread: does one of them lag behind?"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from time import perf_counter, sleep

import jax

from jaxtui import format as fmt
from jaxtui.measure.checks import products, rates
from jaxtui.measure.checks.base import (
    Context,
    TroubleError,
    name,
    shares_silicon,
    troubled,
)
from jaxtui.measure.checks.runners import Runner
from jaxtui.measure.checks.setting import setting
from jaxtui.model import CheckDoing, CheckDone, CheckRead, Expected, Reading, RunEvent
from jaxtui.stats import median

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


def test(context: Context) -> Iterator[RunEvent]:
    """Rounds of the same calls on every device, and then how they compare."""
    if len(context.devices) == 1:
        yield CheckRead(reading=_of_machine(skipped="There is one device."))
        yield CheckDone(device=name(context.devices[0]))
        return
    runners: list[Runner] = []
    yield from _line_up(context, runners)
    yield from _race(context, runners)
    if context.stop():
        return
    for reading in _readings(context, runners):
        yield CheckRead(reading=reading)
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
            runner = _runner(context, device)
            calls = calls or _calls(runner, shares_silicon(context.devices))
            runner.calls = calls
            runner.run_alone()
        except TroubleError as trouble:
            yield CheckRead(reading=troubled(context, device, trouble))
            yield CheckDone(device=name(device))
        else:
            runners.append(runner)


def _runner(context: Context, device: jax.Device) -> Runner:
    chosen = setting(context, device)
    case = products.case(products.natural(chosen.device), chosen)
    return Runner(device, rates.prepared(case, WHAT, device, context.check.seed))


def _calls(runner: Runner, shared: bool) -> int:
    """How many calls of each device make a round that is long enough to be timed."""
    if shared:
        return 1
    runner.run_alone()
    return min(max(round(BURST_SECONDS / min(runner.alone)), 2), MOST_CALLS)


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
            _compare(racing)
        late = max(LATE_SECONDS, LATE_ROUNDS * (perf_counter() - begin))
        rounds += 1


def _round(context: Context, racing: list[Runner], late: float) -> Iterator[RunEvent]:
    """Enqueue the calls of everybody in turn, then look whose last result is there."""
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


def _compare(racing: Sequence[Runner]) -> None:
    """Everybody's time in the round that has ended, over the median."""
    through = [runner for runner in racing if runner.trouble is None]
    if through:
        middle = median([runner.together[-1] for runner in through])
        for runner in through:
            runner.ratios.append(runner.together[-1] / middle)


def _doing(runners: Sequence[Runner]) -> CheckDoing:
    names = tuple(runner.name for runner in runners)
    return CheckDoing(devices=names, what="working on all devices at once")


def _readings(context: Context, runners: Sequence[Runner]) -> Iterator[Reading]:
    for runner in runners:
        if runner.trouble is not None:
            yield troubled(context, runner.device, runner.trouble)
    timed = [runner for runner in runners if runner.trouble is None and runner.ratios]
    if len(timed) < 2:
        yield _of_machine(skipped="Fewer than two devices could do the work.")
        return
    expected = _expected(shares_silicon(context.devices))
    for runner in timed:
        yield _of_runner(runner, expected)
    slowest = max(timed, key=lambda runner: runner.ratio.median)
    yield _of_machine(slowest, expected, _said(slowest, timed))


def _expected(shared: bool) -> Expected:
    most = AT_MOST_SHARED if shared else AT_MOST
    source = f"jaxtui's own bound: {most:.2f} times the median of all devices"
    return Expected(value=most, kind="most", source=source)


def _of_runner(runner: Runner, expected: Expected) -> Reading:
    ratio, case = runner.ratio, runner.product.workload.case
    return Reading(
        test="together",
        device=runner.name,
        what=WHAT,
        measured=ratio.median,
        ci_low=ratio.low,
        ci_high=ratio.high,
        confidence=ratio.confidence,
        expected=expected,
        said=(
            f"{runner.calls} × {products.label(case, runner.device.platform)}:"
            f" {fmt.seconds(median(runner.together))}, alone"
            f" {fmt.seconds(median(runner.alone))}."
        ),
    )


def _said(slowest: Runner, timed: Sequence[Runner]) -> str:
    """Who is slowest, and what the company of the others costs a device."""
    together = median([median(runner.together) for runner in timed])
    alone = median([median(runner.alone) for runner in timed])
    return (
        f"{slowest.place} took {slowest.ratio.median:.2f} times the median of"
        f" {len(timed)} devices. All at once, a device took {together / alone:.2f}"
        " times as long as alone."
    )


def _of_machine(
    slowest: Runner | None = None,
    expected: Expected | None = None,
    said: str = "",
    *,
    skipped: str = "",
) -> Reading:
    ratio = slowest.ratio if slowest else None
    return Reading(
        test="together",
        device=None,
        what=SLOWEST,
        measured=ratio and ratio.median,
        ci_low=ratio and ratio.low,
        ci_high=ratio and ratio.high,
        confidence=ratio and ratio.confidence,
        expected=expected,
        said=said,
        skipped=skipped,
    )
