"""The texts of a loop: its name, the reason for missing figures, and each call."""

from __future__ import annotations

from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import MAXIMUM_LOOP_CALLS, Loop
from jaxtui.core.state import Job, State
from jaxtui.core.wording import WAITS
from jaxtui.features.timeline.lanes import Timeline
from jaxtui.ui import words
from jaxtui.ui.report import styled

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


def why_no_figures(state: State, job: Job | None, loop: Loop) -> Text:
    """Write why there is nothing to draw yet; a failure has advice in a second line.

    Args:
        state: what is known of the engine.
        job: what came of the loop so far.
        loop: the one that was asked for.
    """
    if job is not None and job.failed is not None:
        remark = job.failed.remark
        return Text("\n").join(
            [styled(words.sentence(remark), "error"), styled(words.advice(remark))]
        )
    return Text(_state(state, job, loop))


def _state(state: State, job: Job | None, loop: Loop) -> str:
    if state.busy and state.purpose != "loop":
        return "another run is in progress; the loop runs after it · s stops it"
    if state.engine == "failed":
        return "no engine · R starts it again"
    if state.engine == "starting":
        return "JAX is starting; the loop runs when it is ready"
    if job is None:
        return "the loop is starting"
    if job.outcome is None:
        return f"running: {len(job.seen)} of {loop.calls} ready · s stops it"
    if job.outcome == "cancelled":
        return "stopped too early for figures · r runs it again"
    return "ended without figures · r runs it again"


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
    text = f"entered at {time(dispatch.start)} · returned after {time(hand_over)}"
    if inline:
        return f"{text} with the result, computed inside the call"
    if index in line.held and line.in_flight[index]:
        then = f"the host was blocked: {line.in_flight[index]} in flight"
    elif wait is not None and wait.end >= device.end:
        then = f"the host waited {time(waited)}"
    elif ahead > 0:
        then = f"the host is {time(ahead)} ahead"
    else:
        then = "ready when the call returned"
    return f"{text} · ready at {time(device.end)} · {then}"
