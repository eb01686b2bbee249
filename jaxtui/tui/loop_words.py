"""The sentences of the async view."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.model import Loop, LoopMeasured, LoopStyle, Note
from jaxtui.tui.lanes import Queue, Timeline
from jaxtui.tui.state import State

STYLES: dict[LoopStyle, str] = {
    "never": "never block",
    "end": "block once at the end",
    "each": "block every call",
    "asarray": "np.asarray every call",
    "print": "print every call",
}
"""When the host waits, in words."""

APART = 1.5
"""The stopwatch counts as wrong when the work took this many times longer."""

INLINE = (
    "Nothing here is asynchronous: this work is so cheap that it runs inside the call."
)

IMPOSSIBLE = "faster than the chip's peak: this timed the dispatch"

HIDDEN = "What did the work really cost? Predict, then press space."


@dataclass(frozen=True, slots=True)
class Line:
    """A clock: what it is, what it reads, and what follows from it."""

    label: str
    time: str
    rest: str
    bad: bool = False
    """Whether it names something that cannot be."""


def title(loop: Loop) -> str:
    """What is looped: ``40 calls of matmul 1000 float32 jit on cpu:0 · …``."""
    count = fmt.plural(loop.calls, "call")
    links = "chained" if loop.chained else "independent"
    return f"{count} of {loop.case.label} · {STYLES[loop.style]} · {links}"


def waiting(state: State, loop: Loop) -> str:
    """Why there is no result yet."""
    if state.engine == "failed":
        return "There is no engine: R tries again."
    if state.running and state.purpose != "loop":
        return "Another run is going on: the loop begins when it is over; s stops it."
    if state.engine == "starting":
        return "JAX is starting: the loop begins when it is ready."
    last = state.loop if state.loop is not None and state.loop.work == loop else None
    if last is not None and last.outcome is None:
        ready = len(last.seen)
        return f"The loop is running: {ready} of {loop.calls} are ready; s stops it."
    if last is not None and last.outcome == "cancelled":
        return "Stopped before the loop had its figures: r runs it again."
    if last is not None:
        return "The loop ended without figures: r runs it again."
    return "The loop begins."


def headline(measured: LoopMeasured) -> tuple[Line, Line]:
    """What a stopwatch reads, and what the work really cost."""
    clock = measured.undisturbed
    claim, truth = measured.claimed_flops_per_second, measured.true_flops_per_second
    claimed = "" if claim is None else f"claims {fmt.flops_rate(claim)}"
    peak = measured.peak.flops_per_second if measured.peak else None
    if measured.impossible:
        claimed += f"  IMPOSSIBLE, peak {fmt.flops_rate(peak)}"
    parts = [
        "" if truth is None else fmt.flops_rate(truth),
        "" if truth is None or not peak else f"{fmt.percent(truth / peak)} of peak",
        times(measured),
    ]
    return (
        Line(
            "stopwatch",
            fmt.seconds(clock.stopwatch_seconds),
            claimed,
            measured.impossible,
        ),
        Line(
            "the work", fmt.seconds(clock.true_seconds), "   ".join(filter(None, parts))
        ),
    )


def times(measured: LoopMeasured) -> str:
    """How much longer the work took than the stopwatch says."""
    if measured.ratio < 1.05:
        return "as the stopwatch says"
    return f"{fmt.ratio(measured.ratio)} the stopwatch"


def rates(measured: LoopMeasured) -> str:
    """How far apart the two are, and what each would mean for the speed."""
    claim, truth = measured.claimed_flops_per_second, measured.true_flops_per_second
    if claim is None or truth is None:
        return times(measured)
    claimed, true = fmt.flops_rate(claim), fmt.flops_rate(truth)
    return f"{times(measured)}: {true} and not {claimed}"


def verdict(measured: LoopMeasured, line: Timeline) -> str:
    """One sentence about the stopwatch."""
    if measured.inline:
        return INLINE
    if measured.impossible:
        return IMPOSSIBLE
    late, of = line.pending, line.calls
    if measured.ratio >= APART:
        return f"{late} of {of} results were not ready when the stopwatch stopped."
    if measured.ratio >= 1.05:
        return "The stopwatch missed the end of the work."
    return "The stopwatch is right: the loop itself waited for its results."


def notes(measured: LoopMeasured, *, all_of_them: bool) -> tuple[Note, ...]:
    """What must be said beside the figures.

    Args:
        measured: the loop.
        all_of_them: also what the rest of the screen says already.
    """
    found = [
        note
        for note in measured.notes
        if note.flag != "watched" and (all_of_them or note.flag not in _SAID)
    ]
    found.append(Note(flag="watched", text=watched(measured)))
    # What is said of a function in general comes behind what is said of this loop.
    return tuple(sorted(found, key=lambda note: note.flag == "own"))


_SAID = ("impossible", "queue-full", "measured")
"""Notes that stand above the lanes, beside them, or with the queue."""


def watched(measured: LoopMeasured) -> str:
    """What the lanes show, and that it differs from the figures."""
    clock, count = measured.traced or measured.watched, measured.undisturbed.repeats
    medians = f"medians of {count} repeats" if count > 1 else "one repeat"
    with_what = "a watcher, which changes what it watches"
    if measured.traced:
        with_what = "a watcher and a trace, which change what they watch"
    return (
        f"The lanes are a repeat with {with_what} "
        f"({fmt.seconds(clock.stopwatch_seconds)} and "
        f"{fmt.seconds(clock.true_seconds)}); the figures above are {medians} "
        f"without {'them' if measured.traced else 'it'}."
    )


def call(
    line: Timeline, queue: Queue, index: int, inline: bool, room: int
) -> tuple[str, str]:
    """What happened in one call: its name, a sentence, and kernels.

    Args:
        line: all calls.
        queue: what they say.
        index: of the call.
        inline: whether it computed before it returned.
        room: characters for all of it; kernels that do not fit are only counted.
    """
    if not 0 <= index < line.calls:
        return "", ""
    dispatch, device = line.host[index], line.device[index]
    entered, took = (
        fmt.seconds(dispatch.start),
        fmt.seconds(dispatch.end - dispatch.start),
    )
    name = f"call {index + 1}"
    if inline:
        text = (
            f"entered at {entered}, back after {took} with its result: "
            "it was computed inside the call."
        )
        return name, text + kernels(line, index, room - len(name) - len(text))
    text = (
        f"entered at {entered}, back after {took}, ready at {fmt.seconds(device.end)}"
    )
    wait = next(
        (bar for bar in line.host if bar.kind == "wait" and bar.call == index), None
    )
    if queue.is_held(index):
        text += f": {queue.in_flight[index]} were in flight, so the call itself waited"
    elif wait is not None and wait.end >= device.end:
        text += f": the host waited {fmt.seconds(wait.end - wait.start)} for it"
    elif device.end > dispatch.end:
        ahead = fmt.seconds(device.end - dispatch.end)
        text += f": the host had moved on {ahead} before"
    else:
        text += ": the result was there when the call came back"
    text += "."
    return name, text + kernels(line, index, room - len(name) - len(text))


def kernels(line: Timeline, index: int, room: int) -> str:
    """What a call ran on the device, the longest first, as far as there is room."""
    known = sorted(line.kernels[index], key=lambda kernel: -kernel.seconds)
    text = ""
    for shown, kernel in enumerate(known):
        times = f"{kernel.count}× " if kernel.count > 1 else ""
        one = f"{times}{kernel.name} {fmt.seconds(kernel.seconds)}"
        longer = f"{text}, {one}" if text else f" Kernels: {one}"
        if len(longer) > room - len(" and 99 more."):
            rest = f" and {len(known) - shown} more."
            count = f" {fmt.plural(len(known), 'kernel')}."
            return text + rest if text else count if len(count) <= room else ""
        text = longer
    return f"{text}." if text else ""


def depth(line: Timeline, queue: Queue, measured: LoopMeasured | None) -> str:
    """What the plot of the queue shows."""
    if measured is not None and measured.inline:
        return "Nothing is ever in flight: the work runs inside the call."
    if measured is not None and measured.loop.style in ("each", "asarray", "print"):
        return "Nothing is in flight when a call is entered: the loop waits each time."
    most = f"in flight at most {queue.depth}"
    if queue.held is not None:
        late = " More: seen ready late." if queue.deepest > queue.depth else ""
        return (
            f"{most}: from call {queue.held + 1} on the queue is full, and the runtime "
            f"holds the host back until a result is ready.{late}"
        )
    known = measured.queue_depth if measured is not None else 0
    if known > line.calls:
        return f"{most}: the queue takes {known}, so a longer loop shows it full."
    return f"{most}: no call was held back; 64 calls or more show it."
