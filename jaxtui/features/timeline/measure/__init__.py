"""Runs a loop of calls, as the timeline shows it.

``_LoopRun.work`` is the whole course: the cold path, a warm-up, watched and undisturbed
repeats in turn, a repeat under the runtime's trace, and the result. ``repeats`` has
what one repeat does and what its stamps show, ``trace`` what the device did meanwhile,
and ``jaxtui.features.timeline.lanes`` draws both.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import chain, takewhile
from time import perf_counter

import jax
import msgspec

from jaxtui.core.model import (
    Loop,
    LoopCall,
    LoopClock,
    LoopMeasured,
    LoopSeen,
    Remark,
    RunEvent,
)
from jaxtui.core.model.machine import members
from jaxtui.core.model.own import short_name
from jaxtui.core.stats import median
from jaxtui.features.bench.measure import estimate, notes
from jaxtui.features.bench.measure.planning import Supply, plan_case
from jaxtui.features.timeline.measure import repeats
from jaxtui.features.timeline.measure.repeats import ARRAY, Body, Stamps, Totals, WarmUp
from jaxtui.tasks import devices, ops, own
from jaxtui.tasks.errors import RefusedError, check_fault, full_text
from jaxtui.tasks.failures import FAULTS
from jaxtui.tasks.workload import Workload
from jaxtui.timing import coldpath
from jaxtui.timing import profiler as trace
from jaxtui.timing.profiler import MissingTraceError, Trace
from jaxtui.timing.runner import Runner
from jaxtui.timing.runtime import Runtime
from jaxtui.timing.turns import never

REPEATS = 7
"""Repeats of each kind, where the budget allows."""

UNDISTURBED_SECONDS = 0.05
"""Seconds for which a loop repeats without a watcher: a short loop takes a third longer
in the first milliseconds after something else ran."""

LIVE_SECONDS = 0.5
"""A loop that takes longer is shown while it runs."""

TRACED_CALL_SECONDS = 2.0
"""A longer call is not traced: how much it would write is not known."""

TRACED_REPEATS = 3
"""The first ones behind the start of a trace take longer; the quickest is shown."""

PERTURBED = 1.3
"""A trace under which the loop takes so many times longer than its slowest repeat shows
another loop. Programs of many short kernels can take four times as long."""

SEEN_SECONDS = 0.2
"""Between two looks at a loop that runs: often enough for an eye, and a look takes some
30 µs of the interpreter."""

ENOUGH_REPEATS = 3
"""Fewer repeats of a kind get a remark. A short loop has many more undisturbed ones."""

SEED = 0
"""The seed of the arguments."""


def run_loop(loop: Loop, *, stop: Callable[[], bool] = never) -> Iterator[RunEvent]:
    """Run a loop several times, watched and undisturbed.

    ``LoopSeen`` comes of the first repeat: of one that takes long while it runs.
    ``LoopMeasured`` or ``WorkFailed`` ends it, or neither if it was stopped before both
    kinds of repeat had had their turn. It may be stopped between repeats, and between
    the calls of a loop that takes long.
    """
    return _LoopRun(loop, stop).events()


class _LoopRun(Runner):
    phase = "inputs"
    _workload: Workload

    def __init__(self, loop: Loop, stop: Callable[[], bool]) -> None:
        super().__init__(loop.budget, stop)
        self._loop, self.case = loop, loop.case
        self._source = own.source(loop.case.op)
        self._results = ARRAY
        self._live = False
        self._closed = False
        self._random = random.Random(0)
        self._watched: list[Stamps] = []
        self._undisturbed: list[list[Totals]] = []
        """The repeats of each turn."""

    def work(self) -> Iterator[RunEvent]:
        check(self._loop)
        device = devices.find(self.case.device)
        device_runtime = yield from self.warm_up(device)
        if self._source is None:
            # Of a function of a file nothing is known before it has run.
            _check_time(self._loop, device)
        for phase in self._phases(device):
            yield self.enter(phase)
            if self.stop():
                return
        yield self.enter("warm-up")
        calls = range(self._loop.calls)
        body = Body(self._loop, self._workload, lambda: calls, self._results)
        warmth = repeats.warm_up(body)
        _check_repeat(self._loop, warmth.repeat_seconds)
        if warmth.repeat_seconds > LIVE_SECONDS:
            self._live = True
            body = replace(body, turns=lambda: takewhile(self._goes_on, calls))
        self.phase = "sampling"
        yield from self._repeats(body, warmth)
        if not (self._watched and self._undisturbed):
            return
        traced, missing = None, None
        try:
            traced = yield from self._trace(body, warmth)
        except MissingTraceError as error:
            missing = error.remark
        except FAULTS as error:  # what there is without it stands
            check_fault(error)
            missing = Remark("traced-repeat-failed", detail=full_text(error))
        yield self._result(device_runtime, warmth, traced, missing)

    def _phases(self, device: jax.Device) -> Iterator[str]:
        """Do the phases of the cold path one by one; each is named before it is done.

        A function of a file is called once more, to learn from that.

        Raises:
            RefusedError: Only now it shows that the loop cannot be.
        """
        workload = self._workload = yield from coldpath.begin(
            self.case, (device,), SEED
        )
        if self._source is not None:
            yield "warm-up"
            with workload.scope():
                start = perf_counter()
                result = workload.call(*workload.args)
                jax.block_until_ready(result)
                seconds = perf_counter() - start
            _check_repeat(self._loop, self._loop.calls * seconds)
            if isinstance(workload.args, own.CopiedArguments):
                _check_donation(self._loop, workload.args.used)
            self._results = repeats.results_of(self._loop, workload, result)

    def _goes_on(self, _: int) -> bool:
        """Asked between the calls of a loop that is live."""
        return not (self._closed or self.stop())

    def _repeats(self, body: Body, warmth: WarmUp) -> Iterator[RunEvent]:
        for turn in range(REPEATS):
            longest = max(
                [warmth.repeat_seconds, *(t.true for t in chain(*self._undisturbed))]
            )
            # One of each, and the traced one.
            if self.stop() or (turn and 3 * longest > self.remaining):
                return
            kinds = ["watched", "undisturbed"]
            # The screen shows the first one at once.
            if turn:
                self._random.shuffle(kinds)
            for kind in kinds:
                yield self.progress("repeat", self.case.label)
                if kind == "watched":
                    yield from self._watch(body)
                else:
                    self._leave_alone(body)
                if self.stop():
                    return

    def _leave_alone(self, body: Body) -> None:
        fair = self.remaining / (2 * REPEATS)
        end = perf_counter() + min(UNDISTURBED_SECONDS, fair)
        turn: list[Totals] = []
        while not (turn and perf_counter() >= end):
            totals = body.run()
            if totals.calls == self._loop.calls:
                turn.append(totals)
            if self.stop():
                break
        if turn:
            self._undisturbed.append(turn)

    def _watch(self, body: Body) -> Iterator[RunEvent]:
        """A watched repeat; the first one is shown, live if it is long."""
        stamps, reported, is_first = body.stamps(), 0, not self._watched
        if is_first and self._live:
            with ThreadPoolExecutor(1) as pool:
                future = pool.submit(body.watch, stamps)
                try:
                    while not wait([future], timeout=SEEN_SECONDS).done:
                        reported = yield from _look(stamps, reported)
                    reported = yield from _look(stamps, reported)
                finally:
                    # If its consumer has left, the loop ends after its next call.
                    self._closed = not future.done()
            future.result()
        else:
            body.watch(stamps)
        if stamps.totals.calls == self._loop.calls:
            self._watched.append(stamps)
            if is_first:
                yield from _look(stamps, reported)

    def _trace(
        self, body: Body, warmth: WarmUp
    ) -> Generator[RunEvent, None, tuple[Totals, tuple[LoopCall, ...]]]:
        """A repeat under the runtime's trace, for the device lane and nothing else.

        Raises:
            MissingTraceError: There is none, or it would not show this loop.
        """
        loop, repeat_seconds = self._loop, warmth.repeat_seconds
        too_long = repeat_seconds / loop.calls > TRACED_CALL_SECONDS
        if too_long or self.stop() or repeat_seconds > self.remaining:
            raise MissingTraceError(Remark("trace-no-time"))
        yield self.progress("traced-repeat", self.case.label)
        workload = self._workload

        def call() -> None:
            with workload.scope():
                body.results.ready(workload.call(*workload.args))

        # Tells which of the programs that a loop runs are those of its calls.
        alone = self._record(call)
        if alone.events * loop.calls > trace.MOST_EVENTS // TRACED_REPEATS:
            raise MissingTraceError(trace.too_large(alone.events * loop.calls))
        fitting = int(self.remaining / max(repeat_seconds, 1e-9))
        traced = [body.stamps() for _ in range(max(1, min(fitting, TRACED_REPEATS)))]

        def loops() -> None:
            for stamps in traced:
                body.watch(stamps)

        recorded = self._record(loops)
        stamps = min(traced, key=lambda stamps: stamps.totals.true)
        totals = stamps.totals
        longest = max(stamps.totals.true for stamps in self._watched)
        if totals.true > PERTURBED * longest:
            facts = {"traced_seconds": totals.true, "longest_seconds": longest}
            raise MissingTraceError(Remark("trace-perturbed", {**facts}))
        start, end = stamps.entered[0], stamps.entered[0] + totals.true
        runs = trace.between(start, end, recorded.runs)
        return totals, trace.on_device(stamps.calls(), start, runs, alone.runs)

    def _record(self, work: Callable[[], object]) -> Trace:
        recorded = trace.record(work)
        if self.stop():
            raise MissingTraceError(Remark("trace-no-time"))
        return recorded

    def _result(
        self,
        device_runtime: Runtime,
        warmth: WarmUp,
        traced: tuple[Totals, tuple[LoopCall, ...]] | None,
        missing: Remark | None,
    ) -> LoopMeasured:
        workload = self._workload
        if traced is not None:
            drawn, calls = traced
        else:
            in_order = sorted(self._watched, key=lambda stamps: stamps.totals.true)
            stamps = in_order[(len(in_order) - 1) // 2]
            drawn, calls = stamps.totals, stamps.calls()
        depth = device_runtime.queue_depth // workload.kernels
        measured = LoopMeasured(
            loop=self._loop,
            calls=calls,
            watched=_clock([[stamps.totals] for stamps in self._watched]),
            undisturbed=_clock(self._undisturbed),
            inline=warmth.inline,
            queue_depth=device_runtime.queue_depth,
            device_lane="inferred" if traced is None else "measured",
            traced=None if traced is None else _clock([[drawn]]),
            flops=workload.flops,
            peak=workload.peak,
            held_from=None if warmth.inline else repeats.held_from(calls, depth),
        )
        remarks = [*_remarks(measured, drawn), *filter(None, [missing])]
        if self._source is not None:
            remarks.append(notes.own(workload))
        return msgspec.structs.replace(measured, notes=tuple(remarks))


def _remarks(measured: LoopMeasured, drawn: Totals) -> Iterator[Remark]:
    """Yield the remarks that qualify the figures of a loop.

    Args:
        measured: the loop.
        drawn: the repeat whose calls it has.
    """
    plain, repeats_of_each = measured.undisturbed, measured.watched.repeats
    if repeats_of_each < ENOUGH_REPEATS:
        yield Remark("few-repeats", {"repeats": repeats_of_each}, "warning")
    if measured.inline:
        yield Remark("inline")
    if measured.held_from is not None:
        yield Remark("queue-full", {"call": measured.held_from})
    facts = {
        "repeats": plain.repeats,
        "traced": measured.traced is not None,
        "work": drawn.true / max(plain.true_seconds, 1e-12),
        "stopwatch": drawn.stopwatch / max(plain.stopwatch_seconds, 1e-12),
    }
    yield Remark("instrumented", {**facts})
    if measured.device_lane == "inferred":
        yield Remark("inferred")


def _look(stamps: Stamps, reported: int) -> Generator[RunEvent, None, int]:
    """Report the calls that are complete since the last look; returns how many are."""
    if calls := stamps.calls(reported):
        yield LoopSeen(first=reported, calls=calls)
    return reported + len(calls)


def _clock(turns: list[list[Totals]]) -> LoopClock:
    totals = list(chain(*turns))
    medians = [_medians(turn) for turn in turns]
    factors = [true / max(stopwatch, 1e-12) for stopwatch, true in medians]
    stopwatch, true = _medians(totals)
    return LoopClock(
        repeats=len(totals),
        stopwatch_seconds=stopwatch,
        true_seconds=true,
        factor=(min(factors), max(factors)) if len(factors) > 1 else None,
    )


def _medians(turn: list[Totals]) -> tuple[float, float]:
    """Return the median stopwatch and work times, in seconds."""
    return (
        median([totals.stopwatch for totals in turn]),
        median([totals.true for totals in turn]),
    )


# What is refused before it is waited for.


def _check_donation(loop: Loop, used: tuple[int, ...]) -> None:
    """Refuse a loop in which a call finds an argument that another has used up."""
    if loop.chained and used == (0,):
        return
    raise RefusedError.of(
        "donates-arguments", function=short_name(loop.case.op), chained=loop.chained
    )


def check(loop: Loop) -> None:
    """Refuse a loop that cannot be.

    Raises:
        RefusedError: The case or the loop cannot be.
    """
    case = loop.case
    if len(members(case.device)) > 1:
        raise RefusedError.of("loop-on-group", device=case.device)
    if (problem := plan_case(case, Supply()).problem) is not None:
        raise RefusedError(problem.remark)
    if loop.chained and own.source(case.op) is None:
        op = ops.get(case.op)
        first = op.arguments(case.size)[0]
        takes = first.shape, first.dtype(case.dtype)
        if takes != (op.result_shape(case.size), op.result_dtype(case.dtype)):
            raise RefusedError.of("cannot-chain", function=case.op)


def _check_time(loop: Loop, device: jax.Device) -> None:
    """Estimate a slow case from a smaller size before it is waited for."""
    seconds = estimate.of_case(loop.case, device, SEED)
    if seconds is None:
        return
    if seconds > loop.budget:
        raise RefusedError.of(
            "loop-too-slow", seconds=seconds, budget=loop.budget, calls=1
        )
    _check_repeat(loop, loop.calls * seconds)


def _check_repeat(loop: Loop, seconds: float) -> None:
    """Refuse a loop of which one repeat takes many times its budget."""
    if seconds > 10 * loop.budget:
        raise RefusedError.of(
            "loop-too-slow", seconds=seconds, budget=loop.budget, calls=loop.calls
        )
