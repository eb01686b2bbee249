"""Matrix products in every dtype that matters on a chip: its FLOP/s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import jax

from jaxtui import format as fmt
from jaxtui.measure import ops
from jaxtui.measure.check import expectations, products, work
from jaxtui.measure.check.base import (
    Context,
    Job,
    Setting,
    attempt,
    by_device,
    guarded,
    name,
    reading,
    setting,
    shares_silicon,
)
from jaxtui.model import CheckDoing, CheckRead, Reading, RunEvent
from jaxtui.stats import median

SUSPICIOUS = 0.75
"""A rate below this share of the median of all devices is measured again."""


def test(context: Context) -> Iterator[RunEvent]:
    """Products one kind after the other, on all devices at once."""

    def job(device: jax.Device, seconds: float) -> Iterator[Reading]:
        chosen = setting(context, device)
        kinds = products.kinds(chosen.device, context.check.level)
        for kind in kinds:
            if context.stop():
                return
            share = seconds / len(kinds)
            measure = partial(_measured, context, device, chosen, kind, share)
            yield from attempt(context, device, measure)

    events = by_device(context, "multiplying matrices", job)
    if len(context.devices) > 1 and shares_silicon(context.devices):
        events = measured_again(context, job, events)
    yield from events


def _measured(
    context: Context,
    device: jax.Device,
    chosen: Setting,
    kind: products.Kind,
    seconds: float,
) -> Reading | None:
    case = products.case(kind, chosen)
    what = products.label(case, device.platform)
    prepared = work.prepared(case, what, device, context.check.seed)
    rate = work.throughput(prepared, seconds, context.stop)
    if rate is None:
        return None
    return reading(
        "compute",
        device,
        what,
        rate.seconds,
        per=ops.get(case.op).flops(case.size, case.dtype),
        unit="flop/s",
        expected=expectations.product_peak(chosen.device, case.dtype, case.precision),
        disturbed=rate.disturbed,
        said=f"{fmt.seconds(rate.seconds.median)} per call, {rate.counted}.",
    )


def measured_again(
    context: Context, job: Job, events: Iterable[RunEvent]
) -> Iterator[RunEvent]:
    """The events of a test, with the better reading of devices that seemed slow.

    CPU devices share the host's cores and are measured one after the other: a device
    whose turn fell into a bad moment looks slow, and is not. One that is slow stays so.

    Args:
        context: The test.
        job: What measures one device: rates, where more is better.
        events: What came of it on all devices; held back until all are known.
    """
    held: list[RunEvent] = []
    rates: dict[str, dict[str | None, float]] = {}
    for event in events:
        if isinstance(event, CheckDoing):
            yield event
            continue
        held.append(event)
        if isinstance(event, CheckRead) and event.reading.measured is not None:
            of_all = rates.setdefault(event.reading.what, {})
            of_all[event.reading.device] = event.reading.measured
    slow = {
        device
        for found in rates.values()
        for device, rate in found.items()
        if rate < SUSPICIOUS * median(list(found.values()))
    }
    better: dict[tuple[str | None, str], Reading] = {}
    for device in context.devices:
        if name(device) not in slow:
            continue
        if context.stop():
            return
        what = f"looking again at {name(device)}"
        yield CheckDoing(devices=(name(device),), what=what)
        seconds = context.check.budget_seconds / len(context.devices)
        for one in guarded(context, job, device, seconds):
            better[one.device, one.what] = one
    for event in held:
        if isinstance(event, CheckRead):
            old = event.reading
            new = better.get((old.device, old.what), old)
            if old.measured is not None and new.measured is not None:
                best = new if new.measured > old.measured else old
                event = CheckRead(reading=best)
        yield event
