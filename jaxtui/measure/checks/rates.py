"""How fast a device does what it is given: rounds of queued bursts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import jax

from jaxtui.measure import clocks
from jaxtui.measure.checks import work
from jaxtui.measure.checks.attempts import explained
from jaxtui.measure.clocks import Call
from jaxtui.measure.contention import Meter, contention_note
from jaxtui.measure.sampling import QUEUE_MARGIN, SLOW_CALL_SECONDS
from jaxtui.measure.session import DEFAULT_QUEUE_DEPTH
from jaxtui.model import Case
from jaxtui.stats import Interval, rounds_interval

WARM_UP_SECONDS = 0.1
"""Of calls before the first round, where the budget has as much for it."""

WARM_UP_SHARE = 0.2
"""Of the budget that may go into warming up."""

BURST_SECONDS = 0.03
"""Work of the longer burst of a pair: the clock, and one hand-over more or less, are
then below one percent of it."""

LEAST_ROUNDS = 6
"""Of fewer slopes the median is at the mercy of a single disturbance."""

LEAST_BURST = 3
"""Calls of the longer burst, where more than one fits into its time."""


@dataclass(frozen=True)
class Prepared:
    """A call that only has to be made, and what readings of it are called."""

    case: Case
    what: str
    call: Call
    args: tuple[Any, ...]
    device: jax.Device


@dataclass(frozen=True)
class Rate:
    """Seconds per call, from rounds."""

    seconds: Interval
    rounds: int
    disturbed: str = ""
    """Who else used the cores that the device computes on, one sentence."""

    @property
    def counted(self) -> str:
        """How many rounds there were, in words."""
        return f"{self.rounds} round{'' if self.rounds == 1 else 's'}"


def prepared(case: Case, what: str, device: jax.Device, seed: int) -> Prepared:
    """A case, compiled, with inputs on the device.

    Raises:
        TroubleError: It cannot be compiled, or its inputs do not fit.
    """
    with explained(case, what, "compile"):
        call = work.compiled(case, device)
    with explained(case, what, "inputs"):
        args = work.arguments(case, device, seed)
    return Prepared(case, what, call, args, device)


def throughput(
    prepared: Prepared, seconds: float, stop: Callable[[], bool]
) -> Rate | None:
    """Seconds per call without the hand-over: the slope of two queued bursts.

    Args:
        prepared: What is called.
        seconds: For warming up and for rounds; there is at least one.
        stop: Asked between rounds.

    Returns:
        ``None`` if it was stopped before the first round.

    Raises:
        TroubleError: A call failed.
    """
    with explained(prepared.case, prepared.what, "sampling"):
        return _sampled(prepared, seconds, stop)


def warm_up(call: Call, args: Sequence[Any], seconds: float) -> float:
    """Call until it is warm; returns the seconds of the fastest blocked call."""
    clocks.blocked_calls(call, args, 0.0)
    return min(clocks.blocked_calls(call, args, seconds).ready)


def pair(call_seconds: float) -> tuple[int, int]:
    """How many calls the two bursts of a pair queue, for calls that take so long."""
    if call_seconds > SLOW_CALL_SECONDS:
        return 1, 2
    wanted = round(BURST_SECONDS / max(call_seconds, 1e-9))
    long = min(max(wanted, LEAST_BURST), DEFAULT_QUEUE_DEPTH - QUEUE_MARGIN)
    return max(long // 3, 1), long


def disturbance(meter: Meter, device: jax.Device) -> str:
    """Who else used the cores of a device meanwhile; empty if that is no matter."""
    note = contention_note(meter.usage) if device.platform == "cpu" else None
    return note.text if note else ""


def _sampled(
    prepared: Prepared, seconds: float, stop: Callable[[], bool]
) -> Rate | None:
    call, args = prepared.call, prepared.args
    end = perf_counter() + seconds
    warming = min(WARM_UP_SECONDS, WARM_UP_SHARE * seconds)
    counts = pair(warm_up(call, args, warming))
    shuffled = random.Random(0)
    slopes: list[float] = []
    means: list[float] = []
    meter = Meter()
    meter.start()
    while not stop() and (not slopes or perf_counter() < end):
        order = list(counts)
        shuffled.shuffle(order)
        taken = {count: clocks.burst(call, args, count) for count in order}
        short, long = counts
        slopes.append((taken[long] - taken[short]) / (long - short))
        means.append(taken[long] / long)
    meter.stop()
    if not slopes:
        return None
    interval = rounds_interval(slopes)
    # Where other programs disturb more than the difference of the bursts, or may have
    # and nobody can tell, the longer burst alone is what is known: it is too long by
    # one hand-over, while a slope that is disturbed is anything.
    if interval.low <= 0 or len(slopes) < LEAST_ROUNDS:
        interval = rounds_interval(means)
    return Rate(interval, len(slopes), disturbance(meter, prepared.device))
