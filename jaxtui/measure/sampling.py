"""Turns of one case: blocked calls for latency, queued bursts for throughput."""

from __future__ import annotations

import random
import resource
from contextlib import ExitStack
from typing import NamedTuple

import jax

from jaxtui.measure import clocks
from jaxtui.measure.clocks import Block
from jaxtui.measure.contention import Meter
from jaxtui.measure.executable import Executable
from jaxtui.model import COMPILED_MODES
from jaxtui.stats import Interval, median, rounds_interval

WARM_UP_CALLS = 5
WARM_UP_SECONDS = 0.1
WARM_UP_SECONDS_AT_MOST = 2.0

SLOW_CALL_SECONDS = 0.020
"""Above this a burst pair is one and two calls."""

BURST_SECONDS = 0.003
"""Device work that the longer burst should hold, where the queue is deep enough."""

QUEUE_MARGIN = 4
"""Bursts stay this far below the depth of the queue."""

LATENCY_SHARE = 0.6
"""Share of a turn that goes to blocked calls; the rest goes to bursts."""

PROBE_CALLS = 20
"""Calls that are asked whether they were ready on return; outside the rounds."""


class Burst(NamedTuple):
    """How many calls the two bursts of a pair queue."""

    short: int
    long: int


class Sampler:
    """The rounds of one case, and what they say so far. All times in seconds."""

    def __init__(self, executable: Executable, queue_depth: int) -> None:
        self.executable = executable
        self.rounds: list[Block] = []
        self.medians: list[float] = []
        """Median ready of each round."""
        self.slopes: list[float] = []
        """Pipelined seconds per call, one per round that had bursts."""
        self.half_widths: list[float] = []
        """Relative half-width of the interval after each round."""
        self.page_faults: list[float] = []
        """Minor page faults per blocked call, one per round."""
        self.meter = Meter()
        self.warmed_up = False
        self.ready_share = 0.0
        """Share of calls whose result was ready on return."""
        self.implicit_transfer = False
        self.call_seconds = executable.phases.first_call or 0.0
        """About how long a blocked call takes."""
        self.burst = Burst(1, 2)
        self.queue_depth = queue_depth
        self._blocks = not executable.case.on_host
        self._random = random.Random(0)

    @property
    def overfull(self) -> int:
        """Computations in flight at the end of the long burst, if above the depth."""
        in_flight = self.burst.long * self.executable.kernels
        return in_flight if in_flight > self.queue_depth else 0

    def warm_up(self) -> None:
        """Run the case until it is warm: five calls and 0.1 s, two seconds at most."""
        call, args = self.executable.call, self.executable.args
        loops = self.executable.loops
        loop = loops.calls if self._blocks else clocks.plain_calls
        self._find_guard()
        with self._scope():
            if self.call_seconds > WARM_UP_SECONDS_AT_MOST and self._compiled_in_calls:
                self.call_seconds = loop(call, args, 0.0).ready[0]
            if self.call_seconds > WARM_UP_SECONDS_AT_MOST:
                return
            least = min(
                WARM_UP_CALLS,
                int(WARM_UP_SECONDS_AT_MOST / max(self.call_seconds, 1e-9)),
            )
            block = loop(call, args, WARM_UP_SECONDS, least=max(1, least))
            self.call_seconds = median(block.ready[len(block.ready) // 2 :])
            self.warmed_up = len(block.ready) > 1
            if self._blocks:
                probes = PROBE_CALLS if self.call_seconds < SLOW_CALL_SECONDS else 2
                self.ready_share = loops.ready_at_return(call, args, probes)
        self.burst = self._plan_burst()

    def turn(self, seconds: float, *, bursts: bool = True) -> Block:
        """One round: about ``seconds`` of calls, jittered by up to a fifth.

        The jitter keeps turns from falling into step with periodic disturbances. Bursts
        come first because they make the system spread threads over the cores again:
        among ops that one thread computes, a sigmoid of a million elements takes 0.6 to
        0.8 ms for a whole turn of blocked calls, and 0.45 to 0.6 ms behind its bursts
        (two cores; that op alone: 0.45 ms).
        """
        seconds *= 1 + 0.2 * self._random.random()
        bursts = bursts and self._blocks
        latency = seconds * (LATENCY_SHARE if bursts else 1.0)
        self.meter.start()
        with self._scope():
            if bursts:
                self._burst_pairs(seconds - latency)
            block = self._latency(latency)
        self.meter.stop()
        self.rounds.append(block)
        self.medians.append(median(block.ready))
        self.half_widths.append(self.interval.half_width)
        return block

    @property
    def interval(self) -> Interval:
        """The interval of the median ``ready`` over the rounds."""
        return rounds_interval(self.medians)

    @property
    def pipelined_seconds(self) -> float | None:
        """Median slope; ``None`` without bursts or when noise made it negative."""
        slope = median(self.slopes) if self.slopes else 0.0
        return slope if slope > 0 else None

    def _latency(self, seconds: float) -> Block:
        call, args = self.executable.call, self.executable.args
        loop = self.executable.loops.calls if self._blocks else clocks.plain_calls
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        block = loop(call, args, seconds)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        self.page_faults.append((after - before) / len(block.ready))
        self.call_seconds = median(block.ready)
        return block

    def _burst_pairs(self, seconds: float) -> None:
        call, args = self.executable.call, self.executable.args
        burst = self.executable.loops.burst
        short: list[float] = []
        long: list[float] = []
        spent = 0.0
        while not short or spent < seconds:
            order = [(short, self.burst.short), (long, self.burst.long)]
            self._random.shuffle(order)
            for taken, count in order:
                taken.append(burst(call, args, count))
            spent += short[-1] + long[-1]
        calls = self.burst.long - self.burst.short
        self.slopes.append((median(long) - median(short)) / calls)

    def _plan_burst(self) -> Burst:
        room = (self.queue_depth - QUEUE_MARGIN) // self.executable.kernels
        if self.call_seconds > SLOW_CALL_SECONDS or room < 3:
            return Burst(1, 2)
        wanted = max(6, round(BURST_SECONDS / max(self.call_seconds, 1e-9)))
        long = min(wanted, room)
        return Burst(max(1, long // 3), long)

    def _find_guard(self) -> None:
        """See whether resident inputs really need no transfer."""
        if not self._guards:
            return
        try:
            with self._scope():
                jax.block_until_ready(self.executable.call(*self.executable.args))
        except jax.errors.JaxRuntimeError as error:
            if "Disallowed" not in str(error):
                raise
            self.implicit_transfer = True

    @property
    def _compiled_in_calls(self) -> bool:
        """Whether the first call took so long because it compiled every kernel."""
        return self.executable.case.mode == "eager"

    @property
    def _guards(self) -> bool:
        case = self.executable.case
        resident = case.mode in COMPILED_MODES and case.inputs == "device"
        return resident and not self.implicit_transfer

    def _scope(self) -> ExitStack:
        stack = ExitStack()
        stack.enter_context(self.executable.scope())
        if self._guards:
            stack.enter_context(jax.transfer_guard("disallow"))
        return stack
