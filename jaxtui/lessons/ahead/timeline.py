"""The loops of this lesson: asked for, found again, drawn."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import cases, words
from jaxtui.lessons.base import Row, Setting
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Case, Loop, LoopMeasured, LoopStyle
from jaxtui.plot import Axis, Mark, Picture, Series

AHEAD, MANY = 24, 64
"""Calls that fit into the queue, and calls that do not."""


def big(setting: Setting, style: LoopStyle, calls: int) -> Loop:
    """A loop over products of the lesson's own size."""
    case = cases.jax(setting.device, "matmul", setting.size)
    return loop(case, style, calls)


def loop(case: Case, style: LoopStyle, calls: int) -> Loop:
    """A loop, with the time that a step has for one."""
    return Loop(case=case, style=style, calls=calls, budget_seconds=4.0)


def of(outcome: Outcome, style: str) -> LoopMeasured | None:
    """The loop of this style, if it was measured."""
    found = (loop for loop in outcome.loops if loop.loop.style == style)
    return next(found, None)


def watcher_row(loop: LoopMeasured | None) -> Row:
    """What the loop took with the watching thread beside it."""
    return Row(
        what="the same with the watcher",
        yours=words.duration(loop.watched.true_seconds if loop else None),
        remark="a second thread notes when each result is ready",
    )


def lanes(setting: Setting, outcome: Outcome) -> Picture | None:
    """When each call returned and when its result was there."""
    loop = of(outcome, "never")
    calls, first = loop.calls if loop else (), 0
    if not calls and outcome.seen is not None:
        calls, first = outcome.seen.calls, outcome.seen.first
    if not calls:
        return None
    numbers = [first + index + 1 for index in range(len(calls))]
    held = loop.held_from if loop else None
    marks = () if held is None else (Mark(held + 1, f"held back: {held + 1}"),)
    return Picture(
        (
            Series("result ready", numbers, [call.ready for call in calls]),
            Series("call returned", numbers, [call.returned for call in calls]),
        ),
        Axis("call", limits=(1, loop.loop.calls if loop else numbers[-1])),
        Axis("", format=fmt.tick_seconds),
        "seconds since the first call",
        marks,
    )
