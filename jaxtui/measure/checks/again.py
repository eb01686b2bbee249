"""A second look at a device that seems slow, where the machine's mood may be to blame.

CPU devices share the host's cores and are measured one after the other: a device whose
turn fell into a bad moment looks slow, and is not. One that is slow stays so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import jax

from jaxtui.measure.checks.base import Context, Job, guarded, name
from jaxtui.model import CheckDoing, CheckRead, Reading, RunEvent
from jaxtui.stats import median

SUSPICIOUS = 0.75
"""A rate below this share of the median of all devices is looked at again."""


def looked_at_again(
    context: Context, job: Job, events: Iterable[RunEvent]
) -> Iterator[RunEvent]:
    """The events of a test, with the better reading of devices that seemed slow.

    Args:
        context: The test.
        job: What measures one device: rates, where more is better.
        events: What came of it on all devices; held back until all are known.
    """
    held: list[RunEvent] = []
    for event in events:
        if isinstance(event, CheckDoing):
            yield event
        else:
            held.append(event)
    readings = [one.reading for one in held if isinstance(one, CheckRead)]
    better: dict[tuple[str | None, str], Reading] = {}
    for device in _slow(context.devices, readings):
        if context.stop():
            return
        what = f"looking again at {name(device)}"
        yield CheckDoing(devices=(name(device),), what=what)
        seconds = context.check.budget_seconds / len(context.devices)
        for reading in guarded(context, job, device, seconds):
            better[reading.device, reading.what] = reading
    for event in held:
        yield _improved(event, better)


def _slow(
    devices: Iterable[jax.Device], readings: Iterable[Reading]
) -> Iterator[jax.Device]:
    rates: dict[str, dict[str | None, float]] = {}
    for one in readings:
        if one.measured is not None:
            rates.setdefault(one.what, {})[one.device] = one.measured
    slow = {
        device
        for found in rates.values()
        for device, rate in found.items()
        if rate < SUSPICIOUS * median(list(found.values()))
    }
    return (device for device in devices if name(device) in slow)


def _improved(
    event: RunEvent, better: dict[tuple[str | None, str], Reading]
) -> RunEvent:
    if not isinstance(event, CheckRead):
        return event
    old = event.reading
    new = better.get((old.device, old.what))
    if new is None or new.measured is None or old.measured is None:
        return event
    return CheckRead(reading=new) if new.measured > old.measured else event
