"""What one call costs a user, by what is counted: seconds with their interval."""

from __future__ import annotations

from typing import Literal

from jaxtui.model import Case, Measurement
from jaxtui.stats import MINIMUM_ROUNDS, Interval, interval_of

Clock = Literal["call", "call_and_transfers", "first_call", "first_call_and_transfers"]
"""What is counted: a warm call alone, or with its arguments sent and its result
fetched; and the same for the very first call, which is traced, lowered and compiled."""

CLOCKS: tuple[Clock, ...] = (
    "call",
    "call_and_transfers",
    "first_call",
    "first_call_and_transfers",
)

DOUBT = 0.2
"""What is given to figures that have no interval, either way: single observations
(compile), a few copies in a row (transfers), fewer than six rounds."""


def clocks(first: Case, second: Case) -> tuple[Clock, ...]:
    """The clocks that can tell two cases of one op and size apart.

    Two cases that need the same arguments at the same place pay the same for sending
    them; nothing is compiled for what runs on the host alone.
    """
    sent = _transfers(first) != _transfers(second)
    compiled = not (first.on_host and second.on_host)
    return tuple(
        clock
        for clock in CLOCKS
        if (sent or "transfers" not in clock) and (compiled or "first" not in clock)
    )


def cost(measurement: Measurement, clock: Clock) -> Interval | None:
    """The seconds of a call by this clock; ``None`` if they were not measured.

    The transfers are the measured phases ``transfer`` and ``fetch`` of fresh arrays,
    added to a call whose inputs are resident; a call whose inputs are on the host sends
    them itself. What runs on the host has neither transfers nor anything to compile.
    """
    case, phases = measurement.case, measurement.phases
    warm = _warm(measurement)
    if warm is None or case.on_host:
        return warm
    if "first" in clock:
        if phases.first_call is None:
            return None
        warm = _plus(Interval(0.0, 0.0, 0.0), phases.cold_seconds)
    if "transfers" not in clock:
        return warm
    sent = 0.0 if case.inputs == "host" else phases.transfer
    if sent is None or phases.fetch is None:
        return None
    return _plus(warm, sent + phases.fetch)


def start_seconds(measurement: Measurement) -> float | None:
    """What a user pays until the first result is there, arguments sent once: compile
    and first transfer included; ``None`` if it was not measured.
    """
    if measurement.case.on_host:
        return measurement.ready.median if measurement.ready else None
    phases = measurement.phases
    if phases.first_call is None:
        return None
    sent = 0.0 if measurement.case.inputs == "host" else phases.transfer or 0.0
    return phases.cold_seconds + sent


def _warm(measurement: Measurement) -> Interval | None:
    ready = measurement.ready
    if ready is None or ready.median <= 0:
        return None
    found = interval_of(ready)
    if ready.rounds >= MINIMUM_ROUNDS:
        return found
    return found._replace(
        low=min(found.low, (1 - DOUBT) * found.median),
        high=max(found.high, (1 + DOUBT) * found.median),
    )


def _plus(warm: Interval, more: float) -> Interval:
    """With seconds that have no interval of their own."""
    return Interval(
        warm.low + (1 - DOUBT) * more,
        warm.median + more,
        warm.high + (1 + DOUBT) * more,
    )


def _transfers(case: Case) -> tuple[str, ...]:
    """What decides on the seconds for sending and fetching."""
    return (case.device,) if case.on_host else (case.device, case.dtype, case.inputs)
