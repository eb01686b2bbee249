"""The same work for long enough: does a device keep its pace?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter

import jax
import msgspec

from jaxtui import format as fmt
from jaxtui.measure.checks import libtpu_sdk, products, rates
from jaxtui.measure.checks.attempts import attempt, explained
from jaxtui.measure.checks.base import Context, by_device, name, shares_silicon
from jaxtui.measure.checks.setting import setting
from jaxtui.measure.turns import take_turns
from jaxtui.model import CheckRead, Expected, Reading, RunEvent
from jaxtui.stats import median, rounds_interval

AT_MOST = 1.10
"""The last quarter over the first, on an accelerator with nobody else on it."""

AT_MOST_ON_CPU = 1.5
"""On a CPU other programs, and clocks that go up and down, move it more than that."""

BOUND = "jaxtui's own bound: the last quarter takes at most {share:.0%} longer"

TOO_SHORT = " Chips throttle after tens of seconds: level full goes on for longer."

LEAST_BURSTS = 4
"""One for each quarter."""


def test(context: Context) -> Iterator[RunEvent]:
    """One product over and over, on all devices at once.

    Of devices that share silicon only the first works: they would slow each other down.
    """
    first = context.devices[0]
    shared = shares_silicon(context.devices)

    def job(device: jax.Device, seconds: float) -> Iterator[Reading]:
        if shared and device != first:
            yield Reading(
                test=context.check.test,
                device=name(device),
                what="steady",
                skipped=f"{name(device)} shares the host's cores with {name(first)}.",
            )
            return
        whole = context.check.budget_seconds if shared else seconds
        yield from attempt(context, device, partial(_kept, context, device, whole))

    yield from by_device(context, "working steadily", job)
    if not context.stop():
        for reading in libtpu_sdk.readings(context):
            yield CheckRead(reading=reading)


def _kept(context: Context, device: jax.Device, seconds: float) -> Reading | None:
    """How the last quarter compares with the first."""
    chosen = setting(context, device)
    case = products.case(products.natural(chosen.device), chosen)
    what = f"steady {products.label(case, device.platform)}"
    product = rates.prepared(case, what, device, context.check.seed)
    turns = rates.turns_of(product)
    with explained(case, what, "sampling"):
        begin = perf_counter()
        for one in take_turns([turns], seconds, stop=context.stop):
            late = perf_counter() - begin >= seconds
            one.done = late and len(one.means) >= LEAST_BURSTS
    if not turns.done:
        return None
    reading = _compared(turns.means, perf_counter() - begin, what, device)
    if disturbed := rates.disturbance(turns.meter, device):
        # What others do to the cores is no fault of theirs.
        return msgspec.structs.replace(reading, disturbed=disturbed, expected=None)
    if context.check.level == "quick" and device.platform != "cpu":
        return msgspec.structs.replace(reading, said=reading.said + TOO_SHORT)
    return reading


def _compared(
    taken: list[float], seconds: float, what: str, device: jax.Device
) -> Reading:
    """The reading of these seconds per call, in the order in which they were taken."""
    quarter = len(taken) // 4
    first, last = median(taken[:quarter]), median(taken[-quarter:])
    ratio = rounds_interval([each / first for each in taken[-quarter:]])
    most = AT_MOST_ON_CPU if device.platform == "cpu" else AT_MOST
    return Reading(
        test="steady",
        device=name(device),
        what=what,
        measured=ratio.median,
        ci_low=ratio.low,
        ci_high=ratio.high,
        confidence=ratio.confidence,
        expected=Expected(value=most, kind="most", source=BOUND.format(share=most - 1)),
        said=(
            f"{fmt.seconds(first)} per call in the first quarter of"
            f" {fmt.seconds(seconds)}, {fmt.seconds(last)} in the last."
        ),
    )
