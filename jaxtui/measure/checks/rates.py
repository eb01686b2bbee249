"""How fast a device does what it is given: rounds of queued bursts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
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
from jaxtui.measure.turns import QUEUE_MARGIN, SLOW_CALL_SECONDS
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
    clocks.calls(call, args, clocks.wait_for_array, 0.0)
    return min(clocks.calls(call, args, clocks.wait_for_array, seconds).ready)


def pair(call_seconds: float) -> tuple[int, int]:
    """How many calls the two bursts of a pair queue, for calls that take so long."""
    if call_seconds > SLOW_CALL_SECONDS:
        return 1, 2
    wanted = round(BURST_SECONDS / max(call_seconds, 1e-9))
    long = min(max(wanted, LEAST_BURST), DEFAULT_QUEUE_DEPTH - QUEUE_MARGIN)
    return max(long // 3, 1), long


def disturbance(meter: Meter, device: jax.Device) -> str:
    """Who else used the cores of a device meanwhile; empty if that is no matter."""
    note = notes.contended(meter.usage) if device.platform == "cpu" else None
    return note.text if note else ""


class Slopes:
    """The rounds of one call, for whoever has turns of its own to give."""

    def __init__(self, prepared: Prepared, warming: float) -> None:
        """Warm the call up for so many seconds, and see how many a burst is."""
        self._call, self._args = prepared.call, prepared.args
        self._counts = pair(warm_up(self._call, self._args, warming))
        self._shuffled = random.Random(0)
        self._slopes: list[float] = []
        self._means: list[float] = []

    @property
    def rounds(self) -> int:
        """How many there were."""
        return len(self._slopes)

    def round(self) -> None:
        """One more: both bursts of a pair."""
        order = list(self._counts)
        self._shuffled.shuffle(order)
        taken = {
            count: clocks.burst(self._call, self._args, clocks.wait_for_array, count)
            for count in order
        }
        short, long = self._counts
        self._slopes.append((taken[long] - taken[short]) / (long - short))
        self._means.append(taken[long] / long)

    def interval(self) -> Interval | None:
        """Seconds per call; ``None`` before the first round."""
        if not self._slopes:
            return None
        interval = rounds_interval(self._slopes)
        # Where other programs disturb more than the difference of the bursts, or may
        # have and nobody can tell, the longer burst alone is what is known: it is too
        # long by one hand-over, while a slope that is disturbed is anything.
        if interval.low <= 0 or self.rounds < LEAST_ROUNDS:
            return rounds_interval(self._means)
        return interval


def _sampled(
    prepared: Prepared, seconds: float, stop: Callable[[], bool]
) -> Rate | None:
    end = perf_counter() + seconds
    slopes = Slopes(prepared, min(WARM_UP_SECONDS, WARM_UP_SHARE * seconds))
    meter = Meter()
    meter.start()
    while not stop() and (not slopes.rounds or perf_counter() < end):
        slopes.round()
    meter.stop()
    interval = slopes.interval()
    if interval is None:
        return None
    return Rate(interval, slopes.rounds, disturbance(meter, prepared.device))
