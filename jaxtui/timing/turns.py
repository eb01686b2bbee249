"""Turns: how everything is timed that is timed more than once.

Whatever is measured takes turns: the calls of one contiguous second agree with each
other and not with the next minute, so all workloads of a run are visited again and
again, in random order. A workload has latency turns (calls that are waited for) and
throughput turns (a pair of queued bursts, whose slope is the time of one call without
the hand-over), also in random order, so that neither always finds the threads where
the other left them.
"""

from __future__ import annotations

import gc
import random
import resource
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter, process_time, sleep
from typing import Literal

import jax

from jaxtui.core import stats
from jaxtui.core.model import Summary
from jaxtui.core.model.measurement import Interval
from jaxtui.core.stats import Pool, median
from jaxtui.tasks.workload import Workload
from jaxtui.timing import clocks, runtime
from jaxtui.timing.clocks import Block
from jaxtui.timing.contention import Meter
from jaxtui.timing.pace import ALONE, Pace

TURN_SECONDS = 0.040
"""The usual length of a turn."""

TURN_SECONDS_AT_MOST = 0.250
"""A lone workload takes turns with no other; longer turns spread its rounds."""

CALLS_AT_MOST = 2000
"""Most calls per turn: samples of a few microseconds each would fill the memory."""

SPREAD_SECONDS = 6.0
"""Rounds should span this long before they are believed: cases that stopped as soon as
their interval was narrow, after 2.4 s, had the long-run median in it in 60 to 70 % of
sweeps, their neighbours that went on in 90 to 95 %."""

ROUNDS_WANTED = 8
"""Rounds below which nothing counts as done, however narrow its interval."""

WARM_UP_CALLS = 5
WARM_UP_SECONDS = 0.1
WARM_UP_SECONDS_AT_MOST = 0.5
"""Longest warm-up, in seconds: a first figure should appear within a second."""

SLOW_CALL_SECONDS = 0.020
"""Above this a burst pair is one and two calls."""

BURST_SECONDS = 0.003
"""Device work that the longer burst should hold, where the queue is deep enough."""

QUEUE_MARGIN = 4
"""Bursts stay this far below the depth of the queue."""

LATENCY_SHARE = 0.6
"""Share of a turn that goes to blocked calls; the rest goes to bursts."""

LOAD_SECONDS = 0.3
"""Seconds of bursts without a pause, after all turns: an H100 lowers its clock under
load, and a product of 346 µs in turns of 40 ms takes 404 to 411 then."""

PROBE_CALLS = 20
"""Calls that are asked whether they were ready on return; outside the rounds."""

FREE_EVERY = 20
"""Every 20th call also times how long freeing its result takes: 5 % of the calls of a
turn, in which no other clock runs."""

REST_SECONDS = 0.3
"""Waited at most for threads to come to rest; some never do."""

BUSY_SHARE = 0.25
"""CPU share of one core; threads that use less are at rest."""

Kind = Literal["latency", "throughput"]

Turn = tuple[int, Kind, int, bool]
"""The next turn: index of its workload; kind; number of calls, or pairs of bursts,
where several processes take it, and 0 for warm-up; whether it is the last of its
workload's round."""

END: Turn = (-1, "latency", 0, True)
"""The end of all turns."""


def never() -> bool:
    """The stop flag of a run that nothing stops."""
    return False


class Turns:
    """The turns of one workload, and what they say so far. All times in seconds."""

    def __init__(
        self,
        workload: Workload,
        *,
        queue_depth: int = 1,
        results_at_most: int | None = None,
        latency: bool = True,
        throughput: bool = True,
        warm_up_seconds: float = WARM_UP_SECONDS,
        burst_seconds: float = BURST_SECONDS,
        rests: bool = False,
        settles: bool = False,
        pace: Pace = ALONE,
    ) -> None:
        """Take what is called; nothing is run yet.

        Args:
            workload: Through its cold path, or callable as it is.
            queue_depth: Computations that the runtime lets be in flight.
            results_at_most: Results for which there is memory; ``None`` for any number.
            latency: Whether there are turns of blocked calls.
            throughput: Whether there are turns of bursts; on the host there are none.
            warm_up_seconds: Of calls before the first turn.
            burst_seconds: Of work in the longer burst.
            rests: Whether its turns wait for NumPy's threads although NumPy may be what
                it runs; those of JAX always do.
            settles: Whether a turn begins with as many calls that do not count: among
                very many workloads most of a turn would be what the one before left of
                memory and caches.
            pace: Of those that call it at the same time.
        """
        self.workload = workload
        self.pace = pace
        self.done = False
        """Gets no more turns."""
        self.fault: BaseException | None = None
        """The exception of a turn, which ends its turns."""
        self.rounds: list[Block] = []
        self.medians: list[float] = []
        """Median ready of each round."""
        self.slopes: list[float] = []
        """Pipelined seconds per call of each throughput turn."""
        self.means: list[float] = []
        """Mean seconds per call of the longer bursts of each throughput turn."""
        self.loaded: float | None = None
        """Mean seconds per call of such bursts under load, on an accelerator."""
        self.page_faults: list[float] = []
        """Minor page faults per blocked call, one per round."""
        self.freeing: list[float] = []
        """Seconds to give back a result, of a call now and then."""
        self.compiles = 0
        """Programs that were compiled in the rounds."""
        self.meter = Meter()
        self.warm = False
        """The warm-up is over."""
        self.warmed_up = False
        """True if there was time for calls before the first turn."""
        self.ready_share = 0.0
        """Share of calls whose result was ready on return."""
        self.implicit_transfer = False
        self.call_seconds = workload.phases.first_call or 0.0
        """About how long a blocked call takes."""
        self.burst = (1, 2)
        """The number of calls in each burst of a pair."""
        self.queue_depth = queue_depth
        self._results_at_most = results_at_most
        self._latency = latency or workload.on_return
        self._throughput = throughput and not workload.on_return
        self.rests = rests
        self._settles = settles
        self.warm_up_seconds = warm_up_seconds
        self._burst_seconds = burst_seconds
        self._random = random.Random(0)
        self.provisional = False
        """The only round is that of the first calls, until there is a real one."""
        self.apart = False
        """True if its few calls are timed after all turns, because each takes a
        second."""
        self._ready, self._dispatch, self._pooled = Pool(), Pool(), 0

    @property
    def overfull(self) -> int:
        """Computations in flight at the end of the long burst, if above the depth."""
        in_flight = self.burst[1] * self.workload.kernels
        return in_flight if in_flight > self.queue_depth else 0

    @property
    def interval(self) -> Interval:
        return stats.rounds_interval(self.medians)

    def summaries(self) -> tuple[Summary, Summary | None]:
        """Return the summaries of ready and dispatch, after at least one round."""
        for block in self.rounds[self._pooled :]:
            self._ready.add(block.ready)
            self._dispatch.add(block.dispatch)
        self._pooled = len(self.rounds)
        ready = self._ready.summary(self.medians)
        if self.workload.on_return:
            return ready, None
        medians = [median(block.dispatch) for block in self.rounds]
        return ready, self._dispatch.summary(medians)

    @property
    def pipelined(self) -> Interval | None:
        """Seconds per queued call; ``None`` before the first throughput turn.

        Where other programs disturb more than the difference of the bursts, or may
        have and there is no telling, the longer burst alone is what is known: it is too
        long by one hand-over, while a slope that is disturbed is anything.
        """
        if not self.slopes:
            return None
        interval = stats.rounds_interval(self.slopes)
        if interval.low <= 0 or len(self.slopes) < stats.MINIMUM_ROUNDS:
            return stats.rounds_interval(self.means)
        return interval

    @property
    def pipelined_seconds(self) -> float | None:
        """Median slope; ``None`` without bursts or when noise made it negative."""
        slope = median(self.slopes) if self.slopes else 0.0
        return slope if slope > 0 else None

    @property
    def free_seconds(self) -> float | None:
        """Median seconds to give back a result; ``None`` where no call was timed so."""
        return median(self.freeing) if self.freeing else None

    def kinds(self, seconds: float, share: float) -> list[Kind]:
        """The turns of the next round; ``share`` is what is left of the time for it."""
        kinds: list[Kind] = ["latency"] if self._latency else []
        # Long bursts only if six rounds fit all the same, the first pair included.
        pair = sum(self.burst) * self.call_seconds
        missing = max(1, stats.MINIMUM_ROUNDS - len(self.rounds))
        fits = share >= missing * max(self.call_seconds, seconds) + pair
        if self._throughput and (pair <= seconds or fits or not self._latency):
            kinds.append("throughput")
        return kinds

    @property
    def rounds_taken(self) -> int:
        """The number of turns of bursts, or else of blocked calls."""
        return len(self.slopes) if self._throughput else len(self.rounds)

    @property
    def per_call(self) -> Interval | None:
        """Seconds per call: pipelined where there are bursts, else ``ready``."""
        if self._throughput:
            return self.pipelined
        return self.interval if self.medians else None

    def reseed(self, seed: int) -> None:
        """Let its chances be others than those of its neighbours."""
        self._random = random.Random(seed)

    def warm_up(self) -> None:
        """Run until it is warm, and see how its calls behave."""
        self.first_calls()
        self.settle()

    def first_calls(self) -> Block:
        """Five calls and 0.1 s, half a second at most, but one call; returns the last
        half of them.
        """
        workload = self.workload
        self.warm = True
        self.call_seconds = self.pace.decide(lambda: self.call_seconds, float)
        block = self._find_guard()
        with self._scope():
            eager = workload.case.mode == "eager"
            if block is None and (
                not self.call_seconds
                or (eager and self.call_seconds > WARM_UP_SECONDS_AT_MOST)
            ):
                # There was none yet, or it took so long because it compiled kernels.
                block = self._calls(0.0)
            if block is not None:
                single = block.ready[0]
                self.call_seconds = self.pace.decide(lambda: single, float)
            if self.call_seconds > WARM_UP_SECONDS_AT_MOST:
                # There was a first call as well.
                self.warmed_up = self.call_seconds < 2 * WARM_UP_SECONDS_AT_MOST
                return block or self._calls(0.0)
            affordable = WARM_UP_SECONDS_AT_MOST / max(self.call_seconds, 1e-9)
            calls = WARM_UP_CALLS if self.warm_up_seconds else 1
            least = max(1, min(calls, int(affordable)))
            block = self._calls(self.warm_up_seconds, least)
        half = len(block.ready) // 2
        last = Block(block.dispatch[half:], block.ready[half:])
        self.call_seconds = self.pace.decide(lambda: median(last.ready), float)
        self.warmed_up = len(block.ready) > 1
        return last

    def settle(self) -> None:
        """See how its calls behave, once they are warm."""
        workload = self.workload
        call, args = workload.call, workload.args
        if self.warm_up_seconds and self.call_seconds <= WARM_UP_SECONDS_AT_MOST:
            with self._scope():
                self._free(1)
                if self._latency and not workload.on_return:
                    probes = PROBE_CALLS if self.call_seconds < SLOW_CALL_SECONDS else 2
                    self.ready_share = clocks.ready_at_return(call, args, probes)
        self.burst = self.pace.decide(self._plan_burst, tuple[int, int])

    def show(self, first: Block) -> None:
        """Let these calls stand for a round, until there is one."""
        self.provisional = True
        self.rounds, self.medians = [first], [median(first.ready)]
        self.page_faults = [0.0]

    def _forget_first(self) -> None:
        self.provisional = False
        self.rounds, self.medians, self.page_faults = [], [], []
        self._ready, self._dispatch, self._pooled = Pool(), Pool(), 0

    def count(self, kind: Kind, seconds: float) -> int:
        """Return how many calls, or pairs of bursts, fit into a turn of ``seconds``."""
        unit_seconds = max(self.call_seconds, 1e-7)
        if kind == "throughput":
            unit_seconds *= sum(self.burst)
        return min(CALLS_AT_MOST, max(1, int(seconds / unit_seconds)))

    def turn(self, kind: Kind, seconds: float, count: int = 0) -> None:
        """Take a turn: about ``seconds``, a tenth more or less at random, or ``count``
        calls or pairs of bursts.

        The jitter keeps turns from falling into step with periodic disturbances.
        """
        seconds *= 0.9 + 0.2 * self._random.random()
        self.meter.start()
        with self._scope():
            if kind == "latency":
                self._latency_turn(seconds, count)
            else:
                self._throughput_turn(seconds, count)
        self.meter.stop()

    def _latency_turn(self, seconds: float, count: int) -> None:
        seconds = min(seconds, CALLS_AT_MOST * max(self.call_seconds, 1e-7))
        # Where a turn has no room for several calls there is nothing to get used to.
        if self._settles and not count and 2 * self.call_seconds < seconds:
            self._calls(seconds)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        compiled = runtime.compilations().compiles
        block = self._calls(seconds, count=count)
        self.compiles += runtime.compilations().compiles - compiled
        after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        if self.provisional:
            self._forget_first()
        self.page_faults.append((after - before) / len(block.ready))
        self.call_seconds = median(block.ready)
        self.rounds.append(block)
        self.medians.append(self.call_seconds)
        self._free(len(block.ready) // FREE_EVERY)

    def _throughput_turn(self, seconds: float, pairs: int) -> None:
        workload, (few, many) = self.workload, self.burst
        burst_seconds: dict[int, list[float]] = {few: [], many: []}
        spent = 0.0
        while not burst_seconds[many] or (
            len(burst_seconds[many]) < pairs if pairs else spent < seconds
        ):
            for count in self._random.sample(self.burst, 2):
                burst = clocks.burst(workload.call, workload.args, workload.wait, count)
                burst_seconds[count].append(burst)
                spent += burst
        short, long = median(burst_seconds[few]), median(burst_seconds[many])
        self.slopes.append((long - short) / (many - few))
        self.means.append(long / many)

    def load(self) -> None:
        """Keep an accelerator busy for longer than any turn, and see what that does."""
        workload, many = self.workload, self.burst[1]
        idle = workload.device is None or workload.on_cpu or self.pace.shared
        if idle or not self.means:
            return
        seconds_per_call: list[float] = []
        with self._scope():
            while sum(seconds_per_call) < LOAD_SECONDS:
                burst = clocks.burst(workload.call, workload.args, workload.wait, many)
                seconds_per_call.append(burst)
        self.loaded = median(seconds_per_call[len(seconds_per_call) // 2 :]) / many

    def _calls(self, seconds: float, least: int = 1, count: int = 0) -> Block:
        workload = self.workload
        if self.pace.shared:
            count = count or self.pace.decide(
                lambda: max(least, self.count("latency", seconds)), int
            )
            # All begin at the same time: the last to hear of it is waited for here.
            workload.wait(workload.call(*workload.args))
            seconds, least = 0.0, count
        block = clocks.calls(
            workload.call, workload.args, workload.wait, seconds, least=least
        )
        return Block([], block.dispatch) if workload.on_return else block

    def _free(self, count: int) -> None:
        if self._latency:
            workload = self.workload
            call, args, wait = workload.call, workload.args, workload.wait
            self.freeing += clocks.free(call, args, wait, count)

    def _plan_burst(self) -> tuple[int, int]:
        room = (self.queue_depth - QUEUE_MARGIN) // self.workload.kernels
        if self._results_at_most is not None:
            room = min(room, self._results_at_most)
        if self.call_seconds > SLOW_CALL_SECONDS or room < 3:
            return 1, 2
        calls = max(6, round(self._burst_seconds / max(self.call_seconds, 1e-9)))
        long = min(calls, room)
        return max(1, long // 3), long

    def _find_guard(self) -> Block | None:
        """A call that shows whether resident inputs really need no transfer."""
        workload = self.workload
        if not workload.guarded:
            return None
        try:
            with self._scope():
                return clocks.calls(workload.call, workload.args, workload.wait, 0.0)
        # Libraries wrap what JAX raises.
        except Exception as error:
            if "Disallowed" not in str(error):
                raise
            self.implicit_transfer = True
            return None

    def _scope(self) -> ExitStack:
        stack = ExitStack()
        stack.enter_context(self.workload.scope())
        if self.workload.guarded and not self.implicit_transfer:
            stack.enter_context(jax.transfer_guard("disallow"))
        return stack


def take_turns(
    series: Sequence[Turns],
    seconds: float,
    *,
    stop: Callable[[], bool],
    seed: int = 0,
    faults: tuple[type[BaseException], ...] = (),
    announce: bool = False,
    pace: Pace = ALONE,
) -> Iterator[Turns]:
    """Give all workloads turns; yields the one that has just had a round.

    Ends when all are ``done``, which is up to the caller, or ``stop``. What
    raised is yielded once more, with its ``fault``.

    Args:
        series: Who takes turns.
        seconds: How long this is meant to go on; decides how long a turn is.
        stop: Asked before each turn.
        seed: Of the order.
        faults: What a turn may raise.
        announce: Yield also what is about to be warmed up, not ``warm`` yet: its
            first calls may take long, or never come back.
        pace: Of those that take the same turns.
    """
    chance, end = random.Random(seed), perf_counter() + seconds
    for current in series:
        current.reseed(chance.getrandbits(32))
    warm_up = sum(current.warm_up_seconds for current in series if not current.warm)
    length = max(turn_seconds(seconds - warm_up, len(series)), pace.turn_seconds)
    # Preparing the workloads may have left threads that spin.
    restless = True

    queue: list[tuple[int, Kind]] = []
    remaining: Counter[int] = Counter()
    alone: set[int] = set()

    def begin_round() -> None:
        active = [place for place, current in enumerate(series) if not current.done]
        share = (end - perf_counter()) / max(1, len(active))
        queue.extend(
            (place, kind)
            for place in active
            for kind in series[place].kinds(length, share)
        )
        chance.shuffle(queue)
        # NumPy's together, because all others have to wait for its threads.
        queue.sort(key=lambda turn: not series[turn[0]].workload.on_return)
        remaining.clear()
        remaining.update(place for place, _ in queue)
        alone.clear()
        alone.update(place for place, count in remaining.items() if count == 1)

    def seconds_of(place: int, kind: Kind) -> float:
        part = LATENCY_SHARE if kind == "latency" else 1 - LATENCY_SHARE
        return length if place in alone else part * length

    def next_turn() -> Turn:
        while True:
            if not queue:
                begin_round()
            if not queue or stop():
                return END
            place, kind = queue[0]
            current = series[place]
            if pace.shared and not (current.warm or current.done):
                return place, kind, 0, False
            del queue[0]
            remaining[place] -= 1
            if not current.done:
                seconds = seconds_of(place, kind)
                count = current.count(kind, seconds) if pace.shared else 0
                return place, kind, count, not remaining[place]

    while (turn := pace.decide(next_turn, Turn)) != END:
        place, kind, count, last = turn
        current = series[place]
        try:
            if restless and (current.rests or not current.workload.on_return):
                rest()
            restless = current.workload.on_return
            if not current.warm:
                if announce:
                    yield current
                current.warm_up()
                if pace.shared:  # now it is known how long a call takes
                    continue
            current.turn(kind, seconds_of(place, kind), count)
        except GeneratorExit:
            raise
        except faults as error:
            pace.fail(error)
            current.fault, current.done = error, True
        if current.done or last:
            yield current


def turn_seconds(available: float, count: int) -> float:
    spread = SPREAD_SECONDS / (10 * max(1, count))
    usual = min(max(spread, TURN_SECONDS), TURN_SECONDS_AT_MOST)
    return max(0.002, min(usual, available / (ROUNDS_WANTED * max(1, count))))


def is_checkpoint(rounds: int) -> bool:
    """Return whether a workload may stop after this round.

    At 8, 12, 16, 24, 32, 48 … rounds: who looks after every round stops when chance
    has made an interval narrow.
    """
    if rounds < ROUNDS_WANTED:
        return False
    power = 1 << (rounds.bit_length() - 1)
    return rounds in (power, power + power // 2)


def is_due(rounds: int) -> bool:
    """Return whether all calls are summed up again after this round.

    After every round that would be quadratic.
    """
    return rounds % (1 << max(0, rounds.bit_length() - 4)) == 0


def rest(at_most: float = REST_SECONDS) -> float:
    """Wait until no thread of this process is busy; gives the seconds that it took.

    The threads of OpenBLAS, which multiplies for NumPy, go on spinning for 0.1 s after
    a product, in case there is another one: meanwhile a product of JAX takes twice as
    long on two cores.
    """
    start, quiet = perf_counter(), 0
    # Several looks in a row: others may have had the core in one.
    while (waited := perf_counter() - start) < at_most and quiet < 3:
        before, used = perf_counter(), process_time()
        sleep(0.004)
        busy = process_time() - used >= BUSY_SHARE * (perf_counter() - before)
        quiet = 0 if busy else quiet + 1
    return waited


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Disable garbage collection, and restore it afterwards."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
