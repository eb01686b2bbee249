"""Runs a loop: watched and undisturbed repeats in turn, then a traced one."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import takewhile
from time import perf_counter

import jax
import msgspec

from jaxtui import format as text
from jaxtui.measure import (
    coldpath,
    devices,
    estimate,
    notes,
    ops,
    own,
    repeats,
    timeline,
    trace,
)
from jaxtui.measure.errors import RefusedError
from jaxtui.measure.failures import FAULTS
from jaxtui.measure.planning import Supply, plan_case
from jaxtui.measure.repeats import ARRAY, Body, Stamps, Totals, WarmUp
from jaxtui.measure.runner import Runner
from jaxtui.measure.runtime import Runtime
from jaxtui.measure.turns import never
from jaxtui.measure.workload import Pool, Workload, of_function, of_op
from jaxtui.model import (
    HOST_MODES,
    MAXIMUM_LOOP_CALLS,
    Loop,
    LoopCall,
    LoopClock,
    LoopMeasured,
    LoopSeen,
    LoopStarted,
    PlannedCase,
    RunEvent,
)
from jaxtui.model.own import short_name
from jaxtui.stats import median

REPEATS = 7
"""Of each kind, where the budget allows."""

UNDISTURBED_SECONDS = 0.05
"""For so long a loop runs again and again without a watcher: in the first milliseconds
after something else a short one takes a third longer than later on."""

LIVE_SECONDS = 0.5
"""A loop that takes longer is shown while it runs."""

TRACED_CALL_SECONDS = 2.0
"""A longer call is not traced: how much it would write is not known."""

TRACED_REPEATS = 3
"""The first ones behind the start of a trace take longer; the quickest is shown."""

PERTURBED = 1.3
"""A trace under which the loop takes so many times longer than its slowest repeat shows
another loop. Programs of many short kernels can take four times as long."""

STOPPED = "The run was stopped before its trace was complete."

SEEN_SECONDS = 0.2
"""Between two looks at a loop that runs: often enough for an eye, and a look takes some
30 µs of the interpreter."""

BUDGETS_AT_MOST = 10.0
"""A single repeat that takes more than so many budgets is refused."""

SEED = 0
"""Of the arguments; a loop names none."""


def run_loop(loop: Loop, *, stop: Callable[[], bool] = never) -> Iterator[RunEvent]:
    """Run a loop several times, watched and undisturbed.

    ``LoopSeen`` comes of the first repeat: of one that takes long while it runs.
    ``LoopMeasured`` or ``WorkFailed`` ends it, or neither if it was stopped before both
    kinds of repeat had had their turn. It may be stopped between repeats, and between
    the calls of a loop that takes long.
    """
    return _Run(loop, stop).events()


class _Run(Runner):
    phase = "inputs"
    _workload: Workload

    def __init__(self, loop: Loop, stop: Callable[[], bool]) -> None:
        super().__init__(LoopStarted(loop=loop), loop.budget, stop)
        self._loop, self.case = loop, loop.case
        self._source = own.source(loop.case.op)
        self._results = ARRAY
        self._closed = False
        self._random = random.Random(0)
        self._watched: list[tuple[Totals, Stamps]] = []
        self._undisturbed: list[Totals] = []
        self._traced: tuple[Totals, tuple[LoopCall, ...]] | None = None
        self._missing = ""
        """Why there is no trace."""

    def work(self) -> Iterator[RunEvent]:
        planned = plan(self._loop)
        case, device = self.case, devices.find(self.case.device)
        known = yield from self.warm_up(device)
        if self._source is None:
            # Of a function of a file nothing is known before it has run.
            check_memory(self._loop, known.queue_depth, planned)
            check_time(self._loop, device)
        for phase in self._phases(device, known.queue_depth):
            self.phase = phase
            yield self.progress(f"{phase.replace('_', ' ')}: {case.label}")
            if self.stop():
                return
        self.phase = "warm-up"
        yield self.progress(f"warm-up: {case.label}")
        body = Body(
            self._loop,
            self._workload,
            turns=lambda: range(self._loop.calls),
            results=self._results,
        )
        warmth = repeats.warm_up(body)
        check_repeat(self._loop, warmth.repeat_seconds)
        self.phase = "sampling"
        yield from self._repeats(body, warmth)
        if self._watched and self._undisturbed:
            try:
                self._missing = yield from self._trace(body, warmth)
            except FAULTS as error:  # what there is without it stands
                line = (str(error) or type(error).__name__).splitlines()[0]
                self._missing = f"The traced repeat failed: {line}"
            yield self._result(known, warmth)

    def _phases(self, device: jax.Device, depth: int) -> Iterator[str]:
        """Do the phases of the cold path one by one; each is named before it is done.

        A function of a file is called once more, to learn from that.

        Raises:
            RefusedError: Only now it shows that the loop cannot be.
        """
        case, pool = self.case, Pool(SEED)
        if self._source is None:
            yield "inputs"
            self._workload = made = of_op(case, ops.get(case.op), device, pool)
        else:
            yield "import"
            function = own.load(self._source, device)
            yield "inputs"
            self._workload = made = of_function(function, case, device, pool)
            jax.clear_caches()  # what the function has jitted itself is cold, too
        yield from coldpath.make_ready(made)
        if self._source is not None:
            yield "warm-up"
            with made.scope():
                start = perf_counter()
                result = made.call(*made.args)
                jax.block_until_ready(result)
                seconds = perf_counter() - start
            check_repeat(self._loop, self._loop.calls * seconds)
            check_memory(self._loop, depth, made.result_bytes)
            self._results = repeats.results_of(self._loop, made, result)

    def _repeats(self, body: Body, warmth: WarmUp) -> Iterator[RunEvent]:
        live = warmth.repeat_seconds > LIVE_SECONDS
        if live:
            body = replace(body, turns=self._until_stopped)
        for pair in range(REPEATS):
            longest = max([warmth.repeat_seconds, *(t.true for t in self._undisturbed)])
            # Two, and the traced one.
            if self.stop() or (pair and 3 * longest > self.remaining):
                return
            order = [True, False]
            # The screen shows the first one at once.
            if pair and self._random.random() < 0.5:
                order.reverse()
            for watched in order:
                yield self.progress(f"repeat {pair + 1}: {self.case.label}")
                if watched:
                    yield from self._watch(body, shown=not pair, live=live)
                else:
                    self._leave_alone(body)
                if self.stop():
                    return

    def _until_stopped(self) -> Iterable[int]:
        calls = range(self._loop.calls)
        return takewhile(lambda _: not (self._closed or self.stop()), calls)

    def _leave_alone(self, body: Body) -> None:
        fair = self.remaining / (2 * REPEATS)
        end = perf_counter() + min(UNDISTURBED_SECONDS, fair)
        while True:
            totals = body.undisturbed()
            if totals.calls == self._loop.calls:
                self._undisturbed.append(totals)
            if self.stop() or perf_counter() >= end:
                return

    def _watch(self, body: Body, *, shown: bool, live: bool) -> Iterator[RunEvent]:
        """A watched repeat; one that is shown live runs in a thread meanwhile."""
        stamps, seen = body.stamps(), 0
        if shown and live:
            with ThreadPoolExecutor(1) as pool:
                future = pool.submit(body.watched, stamps)
                try:
                    while not wait([future], timeout=SEEN_SECONDS).done:
                        seen = yield from _look(stamps, seen)
                    seen = yield from _look(stamps, seen)
                finally:
                    # If its consumer has left, the loop ends after its next call.
                    self._closed = not future.done()
            totals = future.result()
        else:
            totals = body.watched(stamps)
        if totals.calls == self._loop.calls:
            self._watched.append((totals, stamps))
            if shown:
                yield from _look(stamps, seen)

    def _trace(self, body: Body, warmth: WarmUp) -> Generator[RunEvent, None, str]:
        """A repeat under the runtime's trace, for the device lane and nothing else.

        Returns:
            Why there is none; empty if there is.
        """
        each = warmth.repeat_seconds / self._loop.calls
        if each > TRACED_CALL_SECONDS:
            return f"A call of {text.seconds(each)} is too long for a trace."
        if self.stop() or warmth.repeat_seconds > self.remaining:
            return "There was no time left for a trace."
        yield self.progress(f"traced repeat: {self.case.label}")
        made = self._workload

        def call() -> None:
            with made.scope():
                body.results.ready(made.call(*made.args))

        alone = trace.record(call)
        if self.stop():
            return STOPPED
        if alone.events * self._loop.calls > trace.MOST_EVENTS // TRACED_REPEATS:
            return f"One call alone is {alone.events:,} events of a trace."
        if alone.missing:
            return alone.missing
        if warmth.repeat_seconds > LIVE_SECONDS:
            body = replace(body, turns=self._until_stopped)
        count = int(self.remaining / max(warmth.repeat_seconds, 1e-9))
        taken: list[tuple[Totals, Stamps]] = []

        def loops() -> None:
            for _ in range(max(1, min(count, TRACED_REPEATS))):
                stamps = body.stamps()
                taken.append((body.watched(stamps), stamps))

        found = trace.record(loops)
        if self.stop():
            return STOPPED
        if found.missing:
            return found.missing
        totals, stamps = min(taken, key=lambda repeat: repeat[0].true)
        longest = max(totals.true for totals, _ in self._watched)
        if totals.true > PERTURBED * longest:
            return (
                f"Under a trace the loop took {text.seconds(totals.true)}, without one "
                f"{text.seconds(longest)} at most: too different to stand for it."
            )
        start, end = stamps.entered[0], stamps.entered[0] + totals.true
        runs = [run for run in found.runs if start < (run.start + run.end) / 2 < end]
        calls = stamps.calls(0, self._loop.calls)
        traced = timeline.on_device(calls, start, runs, alone.runs)
        if isinstance(traced, str):
            return traced
        self._traced = totals, traced
        return ""

    def _result(self, known: Runtime, warmth: WarmUp) -> LoopMeasured:
        made = self._workload
        depth = known.queue_depth // made.kernels
        traced = None
        if self._traced is not None:
            totals, calls = self._traced
            traced = _clock([totals])
        else:
            in_order = sorted(self._watched, key=lambda repeat: repeat[0].true)
            stamps = in_order[(len(in_order) - 1) // 2][1]
            calls = stamps.calls(0, self._loop.calls)
        measured = LoopMeasured(
            loop=self._loop,
            calls=calls,
            watched=_clock([totals for totals, _ in self._watched]),
            undisturbed=_clock(self._undisturbed),
            inline=warmth.inline,
            queue_depth=known.queue_depth,
            device_lane="inferred" if traced is None else "measured",
            traced=traced,
            flops=made.flops,
            peak=made.peak,
            held_from=None if warmth.inline else timeline.held_from(calls, depth),
        )
        found = [*timeline.notes(measured, self._missing)]
        if self._source is not None:
            found.append(notes.own(made))
        return msgspec.structs.replace(measured, notes=tuple(found))


def _look(stamps: Stamps, seen: int) -> Generator[RunEvent, None, int]:
    """Report the calls that are complete since the last look; returns how many are."""
    complete = stamps.complete
    if complete > seen:
        yield LoopSeen(first=seen, calls=stamps.calls(seen, complete))
    return complete


def _clock(taken: list[Totals]) -> LoopClock:
    return LoopClock(
        repeats=len(taken),
        stopwatch_seconds=median([totals.stopwatch for totals in taken]),
        true_seconds=median([totals.true for totals in taken]),
    )


# What is refused before it is waited for.


def plan(loop: Loop) -> PlannedCase:
    """The plan of the loop's case.

    Raises:
        RefusedError: The case or the loop cannot be.
    """
    case = loop.case
    if case.mode in HOST_MODES:
        raise RefusedError(
            f"Mode {case.mode} computes in the calling thread, so a loop of it has "
            "nothing asynchronous to show.",
            "Choose mode jit or eager.",
        )
    if not 1 <= loop.calls <= MAXIMUM_LOOP_CALLS:
        raise RefusedError(
            f"A loop cannot have {text.count(loop.calls)} calls.",
            f"It has from 1 to {MAXIMUM_LOOP_CALLS}.",
        )
    planned = plan_case(case, Supply())
    if (problem := planned.problem) is not None:
        raise RefusedError(problem.error, problem.hint, problem.detail)
    if loop.chained and own.source(case.op) is None:
        op = ops.get(case.op)
        first = op.arguments(case.size)[0]
        takes = _array_text(first.shape, first.dtype(case.dtype))
        gives = _array_text(op.result_shape(case.size), op.result_dtype(case.dtype))
        if takes != gives:
            raise RefusedError(
                f"Calls of {case.op} cannot be chained: "
                f"it takes {takes} and gives {gives}.",
                "Choose independent calls, or an op whose result is like its first "
                "argument, such as matmul.",
            )
    return planned


def check_memory(loop: Loop, depth: int, known: PlannedCase | int) -> None:
    """Count the results that are alive at once.

    A computation in flight has its result allocated, whether or not the program still
    has a name for it. ``known`` is the plan of the case, which counts two results; or,
    where all else is there already, the bytes of one.
    """
    case, supply, alive = loop.case, Supply(), results_alive(loop, depth)
    if isinstance(known, int):
        what, needed = short_name(case.op), alive * known
    else:
        what = f"{case.op} {case.size} {case.dtype}"
        result = ops.get(case.op).result_bytes(case.size, case.dtype)
        needed = known.memory_bytes + max(0, alive - 2) * result
        if supply.device(case.device).platform == "cpu":
            needed += known.host_memory_bytes
    free = supply.free_bytes(case.device)
    if free is not None and needed > free:
        raise RefusedError(
            f"{what} needs {text.bytes_text(needed)} on {case.device}, because up to "
            f"{alive} results of this loop are in memory at once; "
            f"{text.bytes_text(free)} are free.",
            "Take fewer calls, a smaller size or a loop that waits in every call.",
        )


def results_alive(loop: Loop, depth: int) -> int:
    """How many results of a loop are in memory at once, at most."""
    if loop.style in ("never", "end"):
        # Every step of an op by op call leaves a result of its own.
        steps = 1 if loop.case.mode != "eager" else 4
        return min(steps * loop.calls, depth + 2)
    # The new one, the last one, and what printing makes of it.
    return 4 if loop.style == "print" else 3


def check_time(loop: Loop, device: jax.Device) -> None:
    """Estimate a slow case from a smaller size before it is waited for."""
    seconds = estimate.of_case(loop.case, device, SEED)
    if seconds is None:
        return
    if seconds > loop.budget:
        raise RefusedError(
            f"One call would take about {text.seconds(seconds)} here (estimated from a "
            f"smaller size), more than the budget of {text.seconds(loop.budget)}.",
            "Take a smaller size or a larger budget.",
        )
    check_repeat(loop, loop.calls * seconds)


def check_repeat(loop: Loop, seconds: float) -> None:
    """Refuse a loop of which one repeat takes many times its budget."""
    if seconds > BUDGETS_AT_MOST * loop.budget:
        raise RefusedError(
            f"{loop.calls} calls would take about {text.seconds(seconds)} here, and "
            f"the budget is {text.seconds(loop.budget)}.",
            "Take fewer calls, a smaller size or a larger budget.",
        )


def _array_text(shape: tuple[int, ...], dtype: str) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"
