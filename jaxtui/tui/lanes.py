"""From the stamps of a loop's calls to two lanes on one time axis.

Pure: the stamps may be anything, and what comes out can be drawn. The host lane is
what was recorded; so is the device lane where the calls have the device's own times.
Else it is inferred from the order in which results became ready, because a device that
works through a queue begins one when it ends the last.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from jaxtui import stats
from jaxtui.model import LoopCall, LoopKernel
from jaxtui.model.loops import HELD_SHARE
from jaxtui.stats import median

Kind = Literal["dispatch", "wait", "compute"]
"""What a bar shows: a call until it returned, the host waiting, the device at work."""

LONGEST = 1e9
"""Seconds; later stamps are drawn there."""

SMALLEST_SPAN = 1e-6
"""Seconds that are shown at least."""

NEARLY_FULL = 0.75
"""Only calls entered with at least this share of the deepest queue can be held back
by it: elsewhere a slow call is the machine's doing."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that one call did, from when to when."""

    call: int
    """Index of the call."""
    kind: Kind
    start: float
    end: float
    """Seconds; not before ``start``."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The two lanes, and what can be read off them; times in seconds."""

    host: tuple[Bar, ...] = ()
    """Dispatches in the order of the calls, then the waits."""
    device: tuple[Bar, ...] = ()
    """One for each call, in their order."""
    through: float = 0.0
    """The loop's own code was through: where a stopwatch around it stops."""
    total: float = 0.0
    """Every result was ready, and the host through."""
    measured: bool = False
    """The device lane has the device's own times."""
    kernels: tuple[tuple[LoopKernel, ...], ...] = ()
    """Of each call, where they are known."""

    @property
    def calls(self) -> int:
        """How many calls are known."""
        return len(self.device)

    @property
    def pending(self) -> int:
        """Results that were not ready when the loop's own code was through."""
        return sum(bar.end > self.through for bar in self.device)

    def computing_at(self, time: float) -> int:
        """Index of the call that the device works on, or of the last one."""
        ready = bisect_right([bar.end for bar in self.device], time)
        return max(0, min(ready, self.calls - 1))


def timeline(calls: Sequence[LoopCall]) -> Timeline:
    """Put calls on two lanes."""
    dispatches = tuple(_dispatch(index, call) for index, call in enumerate(calls))
    measured = bool(calls) and all(call.device_end is not None for call in calls)
    device = tuple(_measured(calls) if measured else _computations(calls, dispatches))
    host = (*dispatches, *_waits(calls, dispatches))
    through = max((bar.end for bar in host), default=0.0)
    total = max((bar.end for bar in (*host, *device)), default=0.0)
    kernels = tuple(call.kernels for call in calls)
    return Timeline(host, device, through, total, measured, kernels)


def _sane(seconds: float) -> float:
    # In this order: comparisons with NaN are false, so that NaN becomes zero.
    return min(max(0.0, seconds), LONGEST)


def _dispatch(index: int, call: LoopCall) -> Bar:
    entered = _sane(call.entered)
    return Bar(index, "dispatch", entered, max(entered, _sane(call.returned)))


def _computations(
    calls: Sequence[LoopCall], dispatches: Sequence[Bar]
) -> Iterator[Bar]:
    """Each begins when it was asked for and the one before was ready."""
    before = 0.0
    for call, dispatch in zip(calls, dispatches, strict=True):
        start = max(before, dispatch.start)
        before = max(start, _sane(call.ready))
        yield Bar(dispatch.call, "compute", start, before)


def _measured(calls: Sequence[LoopCall]) -> Iterator[Bar]:
    """In the order of the calls, each ends no earlier than the one before."""
    before = 0.0
    for index, call in enumerate(calls):
        start = _sane(call.device_start or 0.0)
        before = max(before, start, _sane(call.device_end or 0.0))
        yield Bar(index, "compute", start, before)


def _waits(calls: Sequence[LoopCall], dispatches: Sequence[Bar]) -> Iterator[Bar]:
    """The host does one thing at a time: it waits when it is through with calling."""
    entered = list(accumulate((bar.start for bar in dispatches), max))
    busy = list(accumulate((bar.end for bar in dispatches), max))
    before = 0.0
    for index, call in enumerate(calls):
        if call.waited is None:
            continue
        waited = _sane(call.waited)
        entered_by_then = max(bisect_left(entered, waited), index + 1)
        start = max(before, busy[entered_by_then - 1])
        if waited > start:
            yield Bar(index, "wait", start, waited)
            before = waited


@dataclass(frozen=True, slots=True)
class Window:
    """The stretch of time that is in view, in seconds."""

    start: float
    end: float

    @property
    def span(self) -> float:
        """How long it is; never zero."""
        return self.end - self.start

    def shows(self, bar: Bar) -> bool:
        """Whether any of it is in view."""
        return bar.end >= self.start and bar.start <= self.end

    def zoomed(self, factor: float, anchor: float, whole: Window) -> Window:
        """Closer by a factor; the anchor, if it is in view, keeps its place."""
        span = min(max(self.span / factor, SMALLEST_SPAN), whole.span)
        anchor = min(max(anchor, self.start), self.end)
        share = (anchor - self.start) / self.span
        return _within(anchor - share * span, span, whole)

    def showing(self, bar: Bar, whole: Window) -> Window:
        """Scrolled as little as needed to see a bar, or its beginning if it is long."""
        room = 0.1 * self.span
        start = self.start
        if bar.end > self.end:
            start = bar.end + room - self.span
        if bar.start < start:
            start = bar.start - room
        return _within(start, self.span, whole)

    def following(self, time: float, whole: Window) -> Window:
        """Scrolled on by nearly its length when a cursor has left it."""
        if self.start <= time <= self.end:
            return self
        return _within(time - 0.05 * self.span, self.span, whole)


def whole(total: float) -> Window:
    """All of a loop that took so long."""
    return Window(0.0, max(total, SMALLEST_SPAN))


def _within(start: float, span: float, whole: Window) -> Window:
    start = max(whole.start, min(start, whole.end - span))
    return Window(start, start + span)


@dataclass(frozen=True, slots=True)
class Queue:
    """What the calls of a loop say about the queue between host and device."""

    in_flight: tuple[int, ...]
    """For each call: how many results were not ready when it was entered."""
    dispatch: tuple[float, ...]
    """Seconds until each call returned."""
    computation: float
    """Seconds that one computation took: the median."""
    held: int | None
    """Index of the first call that was held back; ``None`` if none was."""

    @property
    def deepest(self) -> int:
        """The most that was in flight when a call was entered, as it was seen."""
        return max(self.in_flight, default=0)

    @property
    def depth(self) -> int:
        """What the queue takes: so much was in flight when it first held a call back.

        Later counts may be higher, because a watcher sees late that a result is ready.
        """
        return self.deepest if self.held is None else self.in_flight[self.held]

    def is_held(self, call: int) -> bool:
        """Whether a call took long because the queue was full."""
        return (
            self.held is not None
            and call >= self.held
            and self.dispatch[call] > HELD_SHARE * self.computation
            and self.in_flight[call] >= NEARLY_FULL * self.deepest
        )


def queue(line: Timeline) -> Queue:
    """How full the queue was when each call was entered, and how long that held it."""
    dispatches = line.host[: line.calls]
    flying = stats.in_flight(
        [bar.start for bar in dispatches], [bar.end for bar in line.device]
    )
    took = tuple(bar.end - bar.start for bar in dispatches)
    lengths = [bar.end - bar.start for bar in line.device]
    computation = median(lengths) if lengths else 0.0
    least = max(2.0, NEARLY_FULL * max(flying, default=0))
    held = next(
        (
            index
            for index, seconds in enumerate(took)
            if seconds > HELD_SHARE * computation and flying[index] >= least
        ),
        None,
    )
    return Queue(tuple(flying), took, computation, held)
