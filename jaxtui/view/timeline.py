"""One repeat of a loop: host and device on one time axis, its figures and its words.

The stamps may be anything, and what comes out can be drawn. The host lane is what was
recorded; so is the device lane where the calls have the device's own times. Else it is
inferred from the order in which results became ready, because a device that works
through a queue begins one when it ends the last.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from jaxtui import format as fmt
from jaxtui import stats
from jaxtui.model import Loop, LoopCall, LoopKernel, LoopMeasured, Note
from jaxtui.plot import Axis, Color, Mark, Picture, Series
from jaxtui.state import Job, State
from jaxtui.view.bench import APART
from jaxtui.view.text import Line, Span, bar, wrap_spans

Kind = Literal["dispatch", "wait", "compute"]
"""What a bar shows: a call until it returned, the host waiting, the device at work."""

LONGEST = 1e9
"""Seconds; later stamps are drawn there."""

CLOSE = 1.05
"""A stopwatch that is off by less is right."""


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


# The queue between host and device.


@dataclass(frozen=True, slots=True)
class Queue:
    """What the calls of a loop say about the queue between host and device."""

    in_flight: tuple[int, ...]
    """For each call: how many results were not ready when it was entered."""
    dispatch: tuple[float, ...]
    """Seconds until each call returned."""
    computation: float
    """Seconds that one computation took: the median."""
    held: tuple[int, ...] = ()
    """Indices of the calls that were held back because the queue was full."""

    @property
    def deepest(self) -> int:
        """The most that was in flight when a call was entered, as it was seen."""
        return max(self.in_flight, default=0)

    @property
    def depth(self) -> int:
        """What the queue takes: so much was in flight when it first held a call back.

        Later counts may be higher, because a watcher sees late that a result is ready.
        """
        return self.in_flight[self.held[0]] if self.held else self.deepest


def queue(line: Timeline, measured: LoopMeasured | None = None) -> Queue:
    """How full the queue was when each call was entered, and how long that held it.

    Args:
        line: all calls.
        measured: the engine, which knows the runtime, judges which call was held back
            first.
    """
    dispatches = line.host[: line.calls]
    entered = [bar.start for bar in dispatches]
    ready = [bar.end for bar in line.device]
    flying = stats.in_flight(entered, ready)
    lengths = [bar.end - bar.start for bar in line.device]
    held: tuple[int, ...] = ()
    if measured is not None and (first := measured.held_from) is not None:
        returned = [bar.end for bar in dispatches]
        later = stats.held_back(entered, returned, ready, flying[first])
        held = (first, *(index for index in later if index > first))
    return Queue(
        in_flight=tuple(flying),
        dispatch=tuple(bar.end - bar.start for bar in dispatches),
        computation=stats.median(lengths) if lengths else 0.0,
        held=held,
    )


def queue_picture(queue: Queue, colors: Sequence[Color]) -> Picture | None:
    """Dispatch over calls in flight; ``None`` without calls.

    Args:
        queue: what the calls say.
        colors: of the calls, and of the marks.
    """
    if not queue.dispatch:
        return None
    calls = Series(
        "a call",
        [float(count) for count in queue.in_flight],
        list(queue.dispatch),
        colors[1],
        points=True,
        line=False,
    )
    marks = [Mark(queue.computation, "one computation", "y", colors[0])]
    if queue.held:
        text = f"held back at {queue.depth}"
        marks.append(Mark(float(queue.depth), text, "x", colors[3]))
    # The mark of one computation must be in view, also where no call took so long.
    ends = [*queue.dispatch, queue.computation]
    positive = [value for value in ends if value > 0]
    limits = (min(positive) / 2, max(positive) * 2) if positive else None
    return Picture(
        (calls,),
        Axis(
            "calls in flight when the call was entered",
            limits=(0.0, max(4.0, queue.deepest + 1.0)),
            format=lambda value: f"{value:.0f}" if value == int(value) else "",
        ),
        Axis(
            "until the call returned (log)",
            log=True,
            limits=limits,
            format=fmt.tick_seconds,
        ),
        "",
        tuple(marks),
    )


def depth(loop: Loop, queue: Queue, measured: LoopMeasured | None) -> str:
    """What the queue shows: how many were in flight, and whether that held a call."""
    if measured is not None and measured.inline:
        return "never in flight: the work runs inside the call"
    if loop.style in ("each", "asarray", "print"):
        return "0 in flight when a call is entered: the loop waits each time"
    most = f"at most {queue.depth} in flight"
    if measured is None:
        return most
    if queue.held:
        late = " · more were seen ready late" if queue.deepest > queue.depth else ""
        return f"{most} · full from call {queue.held[0] + 1} on: host held back{late}"
    known = measured.queue_depth
    if known > len(queue.dispatch):
        return f"{most} · it takes {known}: a longer loop fills it (k)"
    return f"{most} · no call held back: 64 calls or more show it (k)"


# The figures.


@dataclass(frozen=True, slots=True)
class Figures:
    """What a stopwatch around the drawn repeat reads, and what its work took."""

    stopwatch: float
    """Seconds."""
    work: float
    """Seconds."""
    flops: float | None = None
    """Of all calls."""
    peak: float | None = None
    """FLOP/s of the chip."""
    pending: int = 0
    """Results that were not ready when the stopwatch stopped."""
    calls: int = 0
    inline: bool = False
    """The calls computed before they returned."""

    @property
    def ratio(self) -> float:
        """How many times longer the work took than the stopwatch says."""
        return max(self.work, 1e-12) / max(self.stopwatch, 1e-12)

    @property
    def factor(self) -> str:
        """The ratio as it is written: ``541×``."""
        return fmt.ratio(self.ratio) if self.ratio >= CLOSE else "1×"

    @property
    def claimed(self) -> float | None:
        """FLOP/s, if the stopwatch were right."""
        return self.flops / self.stopwatch if self.flops and self.stopwatch else None

    @property
    def true(self) -> float | None:
        """FLOP/s of the work."""
        return self.flops / self.work if self.flops and self.work else None

    @property
    def impossible(self) -> bool:
        """The claimed speed is above the chip's known peak."""
        return bool(self.claimed and self.peak and self.claimed > self.peak)

    @property
    def wrong(self) -> bool:
        """The stopwatch has missed a good part of the work."""
        return not self.inline and (self.impossible or self.ratio > APART)

    @property
    def unit(self) -> fmt.Unit:
        """The one in which both times are written, and those of a clock between."""
        return fmt.common((self.stopwatch, self.work / 10, self.work))

    @property
    def verdict(self) -> str:
        """What to think of the stopwatch."""
        if self.inline:
            return "synchronous: work this cheap runs inside the call"
        if self.impossible:
            return f"IMPOSSIBLE, peak {fmt.rate(self.peak)}: timed the dispatch"
        if self.ratio > APART:
            return f"{self.pending} of {self.calls} not ready when it stopped"
        if self.ratio >= CLOSE:
            return "the stopwatch missed the end of the work"
        return "stopwatch right: the loop waited for its results"


def figures(line: Timeline, loop: Loop, measured: LoopMeasured | None) -> Figures:
    """The figures of the repeat that is drawn.

    Args:
        line: all its calls.
        loop: what was repeated.
        measured: what the engine says of all repeats, once it does.
    """
    found = Figures(line.through, line.total, pending=line.pending, calls=line.calls)
    if measured is None:
        return found
    flops, peak = measured.flops, measured.peak
    return replace(
        found,
        flops=None if flops is None else flops * loop.calls,
        peak=None if peak is None else peak.flops_per_second,
        inline=measured.inline,
    )


def bars(
    found: Figures, width: int, *, until: float | None = None, bet: float | None = None
) -> tuple[Line, Line, Line]:
    """Stopwatch and work as bars to one scale and in one unit, and the verdict.

    Args:
        found: the figures.
        width: cells of every line at most.
        until: only what was so by then, seconds; what is not over has no figure.
        bet: how many times longer than the stopwatch the work was bet to take: a mark.
    """
    unit = found.unit
    name = len(unit.name) + 1
    texts = [f"{unit.text(one)} {unit.name}" for one in (found.stopwatch, found.work)]
    column = max(7 + name, *map(len, texts))
    room = max(1, width - LABEL - column - 1)
    longest = max(found.work, (bet or 0.0) * found.stopwatch, 1e-12)

    def row(label: str, seconds: float, text: str, role: str) -> list[Span]:
        over = until is None or until >= seconds
        drawn = bar((seconds if over else until or 0.0) / longest, room)
        time = (text if over else "…").rjust(column)
        head = Span(label.ljust(LABEL), role), Span(time, "value"), Span(" ")
        return [*head, Span(drawn, role)]

    stopwatch = row("STOPWATCH", found.stopwatch, texts[0], "host")
    work = row("WORK", found.work, texts[1], "device")
    ended = until is None or until >= found.work
    claim = f"  claims {fmt.rate(found.claimed)}" if found.claimed else ""
    if ended and found.wrong and len(stopwatch[-1].text) + len(claim) <= room:
        stopwatch.append(Span(claim, "danger"))
    if bet is not None:
        work[-1:] = _marked(work[-1], round(bet * found.stopwatch / longest * room))
    if not ended:
        return tuple(stopwatch), tuple(work), (Span("…", "muted"),)
    parts = [Span(found.verdict, "danger" if found.wrong else "value")]
    if bet is not None:
        parts.insert(0, Span(judged(bet, found.ratio), "value"))
    if found.true:
        parts.append(Span(f"true {fmt.rate(found.true)}"))
        if found.peak:
            parts.append(Span(f"{fmt.percent(found.true / found.peak)} of peak"))
    last = wrap_spans(parts, width, " · ")[0]
    return tuple(stopwatch), tuple(work), last


LABEL = 11
"""Cells of the names of bars."""


def _marked(drawn: Span, place: int) -> list[Span]:
    """A bar with the mark of the bet in or behind it."""
    place = max(0, place - 1)
    text = drawn.text.ljust(place)
    return [
        Span(text[:place], drawn.role),
        Span("◆", "value"),
        Span(text[place + 1 :], drawn.role),
    ]


def betting(found: Figures, bet: float, width: int) -> tuple[Line, Line, Line]:
    """The same while the work is hidden: the bet, to the scale of itself."""
    unit, seconds = found.unit, bet * found.stopwatch
    column = 11
    room = max(1, width - LABEL - column - 1)
    texts = [f"{unit.text(one)} {unit.name}" for one in (found.stopwatch, seconds)]
    short = bar(1 / bet, room)
    return (
        (
            Span("STOPWATCH".ljust(LABEL), "host"),
            Span(texts[0].rjust(column), "value"),
            Span(f" {short}", "host"),
        ),
        (
            Span("BET".ljust(LABEL), "value"),
            Span(texts[1].rjust(column), "value"),
            Span(" " + "░" * (room - 1) + "◆", "muted"),
        ),
        (Span("how long does the work take? ", "value"), Span("← → bet · space play")),
    )


def judged(bet: float, ratio: float) -> str:
    """How good a bet was."""
    off = max(bet / ratio, ratio / bet)
    if off < 1.5:
        return f"bet {bet:g}×: right"
    way = "high" if bet > ratio else "low"
    return f"bet {bet:g}×: {fmt.ratio(off)} too {way}"


def axis_unit(start: float, end: float) -> fmt.Unit:
    """The one unit of an axis that shows so much."""
    return fmt.common((end, (end - start) / 10))


def tick(seconds: float, start: float, end: float) -> str:
    """A time on an axis that shows so much, without the unit: ``100.12``."""
    span, unit = end - start, axis_unit(start, end).factor
    if abs(seconds) < 1e-3 * span:
        return "0"
    decimals = 0
    while decimals < 9 and span / 10 / unit < 10.0**-decimals:
        decimals += 1
    text = f"{seconds / unit:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# Words.


def waiting(state: State, job: Job | None, loop: Loop) -> str:
    """Why there is nothing to draw yet.

    Args:
        state: what is known of the engine.
        job: what came of the loop so far.
        loop: the one that was asked for.
    """
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
) -> tuple[Note, ...]:
    """What must be said beside the figures.

    Args:
        measured: the loop.
        line: the repeat that is drawn.
        complete: also what the rest of the screen says already.
    """
    said = () if complete else ("impossible", "queue-full", "measured")
    found = [one for one in measured.notes if one.flag not in ("watched", *said)]
    found.append(Note(flag="instrumented", text=instrumented(measured, line)))
    # What is said of a function in general comes behind what is said of this loop.
    return tuple(sorted(found, key=lambda note: note.flag == "own"))


def instrumented(measured: LoopMeasured, line: Timeline) -> str:
    """Where lanes and figures come from, and how far that is from a plain repeat."""
    plain = measured.undisturbed
    ends = (line.through, plain.stopwatch_seconds), (line.total, plain.true_seconds)
    stopwatch, work = (_change(one / max(other, 1e-12)) for one, other in ends)
    with_what = "with a trace" if measured.traced else "that stamps every call"
    against = fmt.plural(plain.repeats, "plain repeat")
    return (
        f"lanes and figures come from one instrumented repeat, {with_what}: stopwatch "
        f"{stopwatch}, work {work} against {against}."
    )


def _change(ratio: float) -> str:
    return f"{ratio - 1:+.0%}" if ratio < 3 else fmt.ratio(ratio)


def call(line: Timeline, queue: Queue, index: int, *, inline: bool, room: int) -> str:
    """What happened in one call, and its kernels.

    Args:
        line: all calls.
        queue: what they say.
        index: of the call.
        inline: whether it computed before it returned.
        room: characters for all of it; kernels that do not fit are only counted.
    """
    if not 0 <= index < line.calls:
        return ""
    dispatch, device = line.host[index], line.device[index]
    unit = fmt.common((dispatch.start, dispatch.end - dispatch.start, device.end))

    def time(seconds: float) -> str:
        return f"{unit.text(seconds)} {unit.name}"

    parts = [f"entered at {time(dispatch.start)}"]
    took = time(dispatch.end - dispatch.start)
    wait = next(
        (bar for bar in line.host if bar.kind == "wait" and bar.call == index), None
    )
    if inline:
        parts.append(f"returned after {took} with the result: computed inside the call")
    else:
        parts += [f"returned after {took}", f"ready at {time(device.end)}"]
        if index in queue.held:
            parts.append(f"{queue.in_flight[index]} in flight: the call was held back")
        elif wait is not None and wait.end >= device.end:
            parts.append(f"host waited {time(wait.end - wait.start)}")
        elif device.end > dispatch.end:
            parts.append(f"host {time(device.end - dispatch.end)} ahead")
        else:
            parts.append("ready when the call returned")
    text = " · ".join(parts)
    return text + kernels(line, index, room - len(text))


def kernels(line: Timeline, index: int, room: int) -> str:
    """What a call ran on the device, the longest first, as far as there is room."""
    known = sorted(line.kernels[index], key=lambda kernel: -kernel.seconds)
    text = ""
    for shown, kernel in enumerate(known):
        times = f"{kernel.count}× " if kernel.count > 1 else ""
        one = f"{times}{kernel.name} {fmt.seconds(kernel.seconds)}"
        longer = f"{text}, {one}" if text else f" · kernels: {one}"
        if len(longer) > room - len(" and 99 more"):
            rest = f" and {len(known) - shown} more"
            count = f" · {fmt.plural(len(known), 'kernel')}"
            return text + rest if text else count if len(count) <= room else ""
        text = longer
    return text
