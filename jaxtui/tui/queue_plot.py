"""The plot of the queue: how long calls took to return, by what was in flight."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.plot import Axis, Color, Mark, Picture, Series
from jaxtui.tui.lanes import Queue


def picture(queue: Queue, colors: Sequence[Color]) -> Picture | None:
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
    if queue.held is not None:
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
            format=_whole,
        ),
        Axis(
            "until the call returned", log=True, limits=limits, format=fmt.tick_seconds
        ),
        "",
        tuple(marks),
    )


def _whole(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else ""
