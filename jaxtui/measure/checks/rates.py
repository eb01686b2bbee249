"""How fast a device does what it is given: turns of queued bursts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import jax

from jaxtui.measure import clocks, notes
from jaxtui.measure.checks import work
from jaxtui.measure.checks.attempts import explained
from jaxtui.measure.clocks import Call
from jaxtui.measure.contention import Meter
from jaxtui.measure.session import DEFAULT_QUEUE_DEPTH
from jaxtui.measure.turns import WARM_UP_SECONDS, Turns, take_turns
from jaxtui.measure.workload import Workload
from jaxtui.model import Case
from jaxtui.stats import Interval

WARM_UP_SHARE = 0.2
"""Of the budget that may go into warming up."""

BURST_SECONDS = 0.03
"""Work of the longer burst of a pair: the clock, and one hand-over more or less, are
then below one percent of it."""


@dataclass(frozen=True)
class Prepared:
    """A workload that only has to be called, and what readings of it are called."""

    what: str
    workload: Workload


@dataclass(frozen=True)
class Rate:
    """Seconds per call, from turns."""

    seconds: Interval
    rounds: int
    disturbed: str = ""
    """Who else used the cores that the device computes on, one sentence."""

    @property
    def counted(self) -> str:
        """How many rounds there were, in words."""
        return f"{self.rounds} round{'' if self.rounds == 1 else 's'}"


def callable_on(
    device: jax.Device, case: Case, call: Call, args: tuple[Any, ...]
) -> Workload:
    """A compiled call with its arguments on a device; its result is one array."""
    return Workload(
        case=case, call=call, args=args, device=device, wait=clocks.wait_for_array
    )


def prepared(case: Case, what: str, device: jax.Device, seed: int) -> Prepared:
    """A case, compiled, with inputs on the device.

    Raises:
        TroubleError: It cannot be compiled, or its inputs do not fit.
    """
    with explained(case, what, "compile"):
        call = work.compiled(case, device)
    with explained(case, what, "inputs"):
        args = work.arguments(case, device, seed)
    return Prepared(what, callable_on(device, case, call, args))


def turns_of(prepared: Prepared, warm_up_seconds: float = WARM_UP_SECONDS) -> Turns:
    """Throughput turns of a prepared call."""
    return Turns(
        prepared.workload,
        queue_depth=DEFAULT_QUEUE_DEPTH,
        latency=False,
        warm_up_seconds=warm_up_seconds,
        burst_seconds=BURST_SECONDS,
    )


def throughput(
    prepared: Prepared, seconds: float, stop: Callable[[], bool]
) -> Rate | None:
    """Seconds per call without the hand-over: the slope of two queued bursts.

    Args:
        prepared: What is called.
        seconds: For warming up and for turns; there is at least one.
        stop: Asked between turns.

    Returns:
        ``None`` if it was stopped before the first turn.

    Raises:
        TroubleError: A call failed.
    """
    turns = turns_of(prepared, min(WARM_UP_SECONDS, WARM_UP_SHARE * seconds))
    end = perf_counter() + seconds
    with explained(prepared.workload.case, prepared.what, "sampling"):
        for one in take_turns([turns], seconds, stop=stop):
            one.done = perf_counter() >= end
    if (interval := turns.per_call) is None:
        return None
    assert prepared.workload.device is not None
    found = disturbance(turns.meter, prepared.workload.device)
    return Rate(interval, len(turns.slopes), found)


def disturbance(meter: Meter, device: jax.Device) -> str:
    """Who else used the cores of a device meanwhile; empty if that is no matter."""
    note = notes.contended(meter.usage) if device.platform == "cpu" else None
    return note.text if note else ""
