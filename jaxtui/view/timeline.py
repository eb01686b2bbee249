"""One repeat of a loop: host and device on one time axis, the queue, and the words.

The stamps may be anything, and what comes out can be drawn. The host lane is what was
recorded; so is the device lane where the calls have the device's own times. Else it is
inferred from the order in which results became ready, because a device that works
through a queue begins one when it ends the last.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from jaxtui import format as fmt
from jaxtui import stats
from jaxtui.model import MAXIMUM_LOOP_CALLS, Loop, LoopCall, LoopMeasured, Remark
from jaxtui.state import Job, State
from jaxtui.view.text import Line, Span

Kind = Literal["dispatch", "wait", "compute"]
"""What a bar shows: a call until it returned, the host waiting, the device at work."""

LONGEST = 1e9
"""Seconds; later stamps are drawn there."""

CALLS = (1, 2, 5, 10, 20, 40, 64, 100, MAXIMUM_LOOP_CALLS)
"""The numbers of calls that keys go through."""


def next_calls(calls: int, by: int) -> int:
    """The number of calls after this one, or the one before."""
    if by > 0:
        return next((one for one in CALLS if one > calls), CALLS[-1])
    return next((one for one in reversed(CALLS) if one < calls), CALLS[0])


# One repeat.


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
    in_flight: tuple[int, ...] = ()
    """For each call: how many results were not ready when it was entered; never more
    than the queue takes."""
    held: tuple[int, ...] = ()
    """Indices of the calls that were held back because the queue was full."""

    @property
    def calls(self) -> int:
        """How many calls are known."""
        return len(self.device)

    def computing_at(self, time: float) -> int:
        """Index of the call that the device works on, or of the last one."""
        ready = bisect_right([bar.end for bar in self.device], time)
        return max(0, min(ready, self.calls - 1))


def timeline(calls: Sequence[LoopCall], held_from: int | None = None) -> Timeline:
    """Put calls on two lanes.

    Args:
        calls: of one repeat, from the first on.
        held_from: index of the first call that the runtime held back; the engine
            judges that.
    """
    dispatches = tuple(_dispatch(index, call) for index, call in enumerate(calls))
    measured = bool(calls) and all(call.device_end is not None for call in calls)
    device = tuple(
        _measured_bars(calls) if measured else _inferred_bars(calls, dispatches)
    )
    host = (*dispatches, *_waits(calls, dispatches))
    through = max((bar.end for bar in host), default=0.0)
    total = max((bar.end for bar in (*host, *device)), default=0.0)
    in_flight, held = _queue(dispatches, device, held_from)
    return Timeline(host, device, through, total, measured, in_flight, held)


def _bounded(seconds: float) -> float:
    # In this order: comparisons with NaN are false, so that NaN becomes zero.
    return min(max(0.0, seconds), LONGEST)


def _dispatch(index: int, call: LoopCall) -> Bar:
    entered = _bounded(call.entered)
    return Bar(index, "dispatch", entered, max(entered, _bounded(call.returned)))


def _inferred_bars(
    calls: Sequence[LoopCall], dispatches: Sequence[Bar]
) -> Iterator[Bar]:
    """Each begins when it was asked for and the one before was ready."""
    before = 0.0
    for call, dispatch in zip(calls, dispatches, strict=True):
        start = max(before, dispatch.start)
        before = max(start, _bounded(call.ready))
        yield Bar(dispatch.call, "compute", start, before)


def _measured_bars(calls: Sequence[LoopCall]) -> Iterator[Bar]:
    """In the order of the calls, each ends no earlier than the one before."""
    before = 0.0
    for index, call in enumerate(calls):
        start = _bounded(call.device_start or 0.0)
        before = max(before, start, _bounded(call.device_end or 0.0))
        yield Bar(index, "compute", start, before)


def _waits(calls: Sequence[LoopCall], dispatches: Sequence[Bar]) -> Iterator[Bar]:
    """The host does one thing at a time: it waits when it is through with calling."""
    entered = list(accumulate((bar.start for bar in dispatches), max))
    busy = list(accumulate((bar.end for bar in dispatches), max))
    before = 0.0
    for index, call in enumerate(calls):
        if call.waited is None:
            continue
        waited = _bounded(call.waited)
        entered_by_then = max(bisect_left(entered, waited), index + 1)
        start = max(before, busy[entered_by_then - 1])
        if waited > start:
            yield Bar(index, "wait", start, waited)
            before = waited


# The queue between host and device.


def _queue(
    dispatches: Sequence[Bar], device: Sequence[Bar], held_from: int | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How much was in flight when each call was entered, and which calls that held."""
    entered = [bar.start for bar in dispatches]
    ready = [bar.end for bar in device]
    flying = stats.in_flight(entered, ready)
    if held_from is None:
        return tuple(flying), ()
    depth, returned = flying[held_from], [bar.end for bar in dispatches]
    later = stats.held_back(entered, returned, ready, depth)
    held = (held_from, *(index for index in later if index > held_from))
    # A watcher sees late that a result is ready.
    return tuple(min(count, depth) for count in flying), held


# Words.


def why_no_figures(state: State, job: Job | None, loop: Loop) -> list[Line]:
    """Why there is nothing to draw yet; a failure has what to do in a second line.

    Args:
        state: what is known of the engine.
        job: what came of the loop so far.
        loop: the one that was asked for.
    """
    if job is not None and job.failed is not None:
        return [(Span(job.failed.error, "error"),), (Span(job.failed.hint),)]
    return [(Span(_why_waiting(state, job, loop)),)]


def _why_waiting(state: State, job: Job | None, loop: Loop) -> str:
    if state.engine == "failed":
        return "no engine · R tries again"
    if state.running and state.purpose != "loop":
        return "another run is in progress: the loop starts after it · s stops it"
    if state.engine == "starting":
        return "JAX is starting: the loop starts when it is ready"
    if job is None:
        return "the loop starts"
    if job.outcome is None:
        ready = len(job.seen)
        return f"running: {ready} of {loop.calls} ready · s stops it"
    if job.outcome == "cancelled":
        return "stopped before it had its figures · r runs it again"
    return "ended without figures · r runs it again"


def notes(
    measured: LoopMeasured, line: Timeline, *, complete: bool
) -> tuple[Remark, ...]:
    """What must be said beside the figures.

    Args:
        measured: the loop.
        line: the repeat that is drawn.
        complete: also what the rest of the screen says already.
    """
    elsewhere = () if complete else ("queue-full", "measured")
    found = [one for one in measured.notes if one.code not in ("watched", *elsewhere)]
    plain = measured.undisturbed
    found.append(
        Remark(
            "instrumented",
            {
                "repeats": plain.repeats,
                "traced": measured.traced is not None,
                "work": line.total / max(plain.true_seconds, 1e-12),
                "stopwatch": line.through / max(plain.stopwatch_seconds, 1e-12),
            },
        )
    )
    # What is said of a function in general comes behind what is said of this loop.
    return tuple(sorted(found, key=lambda note: note.code == "own"))


def drawn_text(measured: LoopMeasured, line: Timeline) -> str:
    """Which repeat is drawn, and how much longer its work took than in a plain one."""
    kind = "traced" if measured.traced else "watched"
    work = _change(line.total / max(measured.undisturbed.true_seconds, 1e-12))
    return f"one {kind} repeat: its work {work}"


def _change(ratio: float) -> str:
    return f"{ratio - 1:+.0%}" if ratio < 3 else fmt.ratio(ratio)


def call_text(line: Timeline, index: int, *, inline: bool) -> str:
    """What happened in one call.

    Args:
        line: all calls.
        index: of the call.
        inline: whether it computed before it returned.
    """
    if not 0 <= index < line.calls:
        return ""
    dispatch, device = line.host[index], line.device[index]
    wait = next(
        (bar for bar in line.host if bar.kind == "wait" and bar.call == index), None
    )
    waited = wait.end - wait.start if wait else 0.0
    hand_over, ahead = dispatch.end - dispatch.start, device.end - dispatch.end
    times = (dispatch.start, hand_over, device.end, ahead, waited)
    time = fmt.shared(times).whole
    parts = [f"entered at {time(dispatch.start)}"]
    took = time(hand_over)
    if inline:
        parts.append(f"returned after {took} with the result: computed inside the call")
    else:
        parts += [f"returned after {took}", f"ready at {time(device.end)}"]
        if index in line.held:
            parts.append(f"{line.in_flight[index]} in flight: the call was held back")
        elif wait is not None and wait.end >= device.end:
            parts.append(f"host waited {time(waited)}")
        elif device.end > dispatch.end:
            parts.append(f"host {time(ahead)} ahead")
        else:
            parts.append("ready when the call returned")
    return " · ".join(parts)
