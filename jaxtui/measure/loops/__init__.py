"""Runs a loop: watched and undisturbed repeats in turn, then a traced one."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import takewhile
from time import perf_counter

import msgspec

from jaxtui import format as text
from jaxtui.measure import devices, trace
from jaxtui.measure.failures import FAULTS
from jaxtui.measure.loops import findings, repeats, subjects
from jaxtui.measure.loops.repeats import Body, Stamps, Totals, Warmth
from jaxtui.measure.loops.subjects import Subject
from jaxtui.measure.runner import Runner
from jaxtui.measure.session import Session
from jaxtui.measure.turns import never
from jaxtui.model import (
    Loop,
    LoopCall,
    LoopClock,
    LoopMeasured,
    LoopSeen,
    LoopStarted,
    RunEvent,
)
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

SEEN_SECONDS = 0.2
"""Between two looks at a loop that runs: often enough for an eye, and a look takes some
30 µs of the interpreter."""


def run_loop(loop: Loop, *, stop: Callable[[], bool] = never) -> Iterator[RunEvent]:
    """Run a loop several times, watched and undisturbed.

    The first event is ``LoopStarted``, then come ``Progress`` and, for a loop that
    takes long, ``LoopSeen``. ``LoopMeasured`` or ``WorkFailed`` ends it, or neither if
    it was stopped before both kinds of repeat had had their turn; the last event is
    ``RunFinished``. Nothing happens until the first event is asked for, and closing
    the generator ends the run.

    Args:
        loop: What to run.
        stop: Asked between repeats, and between the calls of a loop that takes long;
            once true, the run ends as ``cancelled``.
    """
    return _Run(loop, stop).events()


class _Run(Runner):
    phase = "inputs"

    def __init__(self, loop: Loop, stop: Callable[[], bool]) -> None:
        super().__init__(LoopStarted(loop=loop), loop.budget, stop)
        self._loop, self.case = loop, loop.case
        self._closed = False
        self._random = random.Random(0)
        self._watched: list[tuple[Totals, Stamps]] = []
        self._undisturbed: list[Totals] = []
        self._traced: tuple[Totals, tuple[LoopCall, ...]] | None = None
        self._missing = "There was no time left for a trace."

    def work(self) -> Iterator[RunEvent]:
        planned = subjects.plan(self._loop)
        case, device = self.case, devices.find(self.case.device)
        known = yield from self.warm_up(device)
        subject = Subject(self._loop, planned, device)
        subject.check(known.queue_depth)
        for phase in subject.phases():
            self.phase = phase
            yield self.progress(f"{phase.replace('_', ' ')}: {case.label}")
            if self.stop():
                return
        self.phase = "warm-up"
        yield self.progress(f"warm-up: {case.label}")
        body = Body(
            self._loop,
            subject.workload,
            turns=lambda: range(self._loop.calls),
            results=subject.results,
        )
        warmth = repeats.warm_up(body)
        subjects.check_repeat(self._loop, warmth.repeat_seconds)
        self.phase = "sampling"
        yield from self._repeats(body, warmth)
        if self._watched and self._undisturbed:
            try:
                yield from self._trace(body, warmth)
            except FAULTS as error:  # what there is without it stands
                line = (str(error) or type(error).__name__).splitlines()[0]
                self._missing = f"The traced repeat failed: {line}"
            yield self._measured(subject, known, warmth)

    def _repeats(self, body: Body, warmth: Warmth) -> Iterator[RunEvent]:
        live = warmth.repeat_seconds > LIVE_SECONDS
        if live:
            body = replace(body, turns=self._until_stopped)
        for pair in range(REPEATS):
            longest = max([warmth.repeat_seconds, *(t.true for t in self._undisturbed)])
            # Two, and the traced one.
            if self.stop() or (pair and 3 * longest > self.remaining):
                return
            kinds = [self._watch, self._leave_alone]
            if self._random.random() < 0.5:
                kinds.reverse()
            if live and not pair:
                # The screen shows it.
                kinds = [self._watch_live, self._leave_alone]
            for repeat in kinds:
                yield self.progress(f"repeat {pair + 1}: {self.case.label}")
                yield from repeat(body)
                if self.stop():
                    return

    def _until_stopped(self) -> Iterable[int]:
        calls = range(self._loop.calls)
        return takewhile(lambda _: not (self._closed or self.stop()), calls)

    def _leave_alone(self, body: Body) -> Iterator[RunEvent]:
        fair = self.remaining / (2 * REPEATS)
        end = perf_counter() + min(UNDISTURBED_SECONDS, fair)
        while True:
            totals = body.undisturbed()
            if totals.calls == self._loop.calls:
                self._undisturbed.append(totals)
            if self.stop() or perf_counter() >= end:
                return iter(())

    def _watch(self, body: Body) -> Iterator[RunEvent]:
        stamps = body.stamps()
        self._keep(body.watched(stamps), stamps)
        return iter(())

    def _watch_live(self, body: Body) -> Iterator[RunEvent]:
        """As ``_watch``, in a thread, while this one looks at it now and then."""
        stamps = body.stamps()
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(body.watched, stamps)
            seen = 0
            try:
                while not wait([future], timeout=SEEN_SECONDS).done:
                    seen = yield from _look(stamps, seen)
                yield from _look(stamps, seen)
            finally:
                # If its consumer has left, the loop ends after its next call.
                self._closed = not future.done()
        self._keep(future.result(), stamps)

    def _keep(self, totals: Totals, stamps: Stamps) -> None:
        if totals.calls == self._loop.calls:
            self._watched.append((totals, stamps))

    def _trace(self, body: Body, warmth: Warmth) -> Iterator[RunEvent]:
        """A repeat under the runtime's trace, for the device lane and nothing else."""
        each = warmth.repeat_seconds / self._loop.calls
        if each > TRACED_CALL_SECONDS:
            self._missing = f"A call of {text.seconds(each)} is too long for a trace."
            return
        if self.stop() or warmth.repeat_seconds > self.remaining:
            return
        yield self.progress(f"traced repeat: {self.case.label}")
        made = body.workload

        def call() -> None:
            with made.scope():
                body.results.ready(made.call(*made.args))

        alone = trace.record(call)
        self._missing = alone.missing
        if alone.events * self._loop.calls > trace.MOST_EVENTS // TRACED_REPEATS:
            self._missing = f"One call alone is {alone.events:,} events of a trace."
        if self._missing:
            return
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
            self._missing = "The run was stopped before its trace was complete."
        else:
            self._missing = found.missing
        if self._missing:
            return
        totals, stamps = min(taken, key=lambda repeat: repeat[0].true)
        longest = max(totals.true for totals, _ in self._watched)
        if totals.true > PERTURBED * longest:
            self._missing = (
                f"Under a trace the loop took {text.seconds(totals.true)}, without one "
                f"{text.seconds(longest)} at most: too different to stand for it."
            )
            return
        start, end = stamps.entered[0], stamps.entered[0] + totals.true
        runs = [run for run in found.runs if start < (run.start + run.end) / 2 < end]
        calls = stamps.calls(0, self._loop.calls)
        traced = findings.traced(calls, start, runs, alone.runs)
        if isinstance(traced, str):
            self._missing = traced
        else:
            self._traced = totals, traced

    def _measured(
        self, subject: Subject, known: Session, warmth: Warmth
    ) -> LoopMeasured:
        depth = known.queue_depth // subject.workload.kernels
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
            flops=subject.flops,
            peak=subject.peak,
            held_from=None if warmth.inline else findings.held_from(calls, depth),
        )
        notes = (*findings.notes(measured, self._missing), *subject.notes)
        return msgspec.structs.replace(measured, notes=notes)


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
