"""The report of a loop: its names, the reason for missing figures, and its remarks."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.model import MAXIMUM_LOOP_CALLS, Loop, LoopMeasured, LoopStyle
from jaxtui.state import Job, State
from jaxtui.view import stopwatch, words
from jaxtui.view.lanes import Timeline
from jaxtui.view.report import Report, gather
from jaxtui.view.text import Line, Span
from jaxtui.view.words.loops import call_sentence, loop_waits

WAITS: dict[LoopStyle, str] = {
    "never": "never block",
    "end": "block at the end",
    "each": "block every call",
}
"""The names of the host's waits."""

CALLS = (1, 2, 5, 10, 20, 40, 64, 100, MAXIMUM_LOOP_CALLS)
"""The numbers of calls that keys go through."""


def next_calls(calls: int, by: int) -> int:
    """The number of calls after this one, or the one before."""
    if by > 0:
        return next((count for count in CALLS if count > calls), CALLS[-1])
    return next((count for count in reversed(CALLS) if count < calls), CALLS[0])


def links(loop: Loop) -> str:
    """Return the dependency of its calls, in a word."""
    return "chained" if loop.chained else "independent"


def label(loop: Loop) -> str:
    """The loop in one line."""
    calls = "1 call" if loop.calls == 1 else f"{loop.calls} {links(loop)} calls"
    return f"{loop.case.label}: {calls}, {WAITS[loop.style]}"


def why_no_figures(state: State, job: Job | None, loop: Loop) -> list[Line]:
    """Write why there is nothing to draw yet; a failure has advice in a second line.

    Args:
        state: what is known of the engine.
        job: what came of the loop so far.
        loop: the one that was asked for.
    """
    if job is not None and job.failed is not None:
        remark = job.failed.remark
        return [
            (Span(words.sentence(remark), "error"),),
            (Span(words.advice(remark)),),
        ]
    if state.busy and state.purpose != "loop":
        return [(Span(loop_waits("busy")),)]
    if job is None or state.engine in ("failed", "starting"):
        return [(Span(loop_waits(state.engine)),)]
    ready = len(job.seen)
    return [(Span(loop_waits(job.outcome, ready=ready, calls=loop.calls)),)]


def report(loop: Loop, line: Timeline, measured: LoopMeasured | None) -> Report:
    """Return the report of a loop below its lanes.

    Args:
        loop: the one that was asked for.
        line: the repeat that is drawn.
        measured: what the engine says of all repeats, once it does.
    """
    verdict = stopwatch.judgement(stopwatch.of_loop(line, measured))
    remarks = gather((), measured.notes if measured is not None else ())
    return Report(loop.case.label, verdict, remarks=remarks)


def call_text(line: Timeline, index: int, *, inline: bool) -> str:
    """Describe one call.

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
    return call_sentence(
        entered=time(dispatch.start),
        returned=time(hand_over),
        ready="" if inline else time(device.end),
        in_flight=line.in_flight[index] if index in line.held else 0,
        waited=time(waited) if wait is not None and wait.end >= device.end else "",
        ahead=time(ahead) if ahead > 0 else "",
    )
