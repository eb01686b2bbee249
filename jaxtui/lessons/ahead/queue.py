"""Step 4: The 33rd call."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.lessons import words
from jaxtui.lessons.ahead import timeline
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import LoopCall, LoopMeasured, Work
from jaxtui.stats import median

DEPTH_SOURCE = (
    "XLA's source, the option max_inflight_computations of its GPU client: 32"
)

DEPTH = 32
"""Computations in flight at once."""


def _queue(setting: Setting) -> tuple[Work, ...]:
    return (timeline.big(setting, "never", timeline.MANY),)


def _held(setting: Setting, outcome: Outcome) -> Conclusion:
    loop = timeline.of(outcome, "never")
    held = loop.held_from if loop else None
    calls = loop.calls if loop else ()
    rows = (
        Row(
            what="first call that was held back",
            yours=words.ABSENT if held is None else f"call {held + 1}",
            published="call 33",
            remark="XLA's default for GPUs; CPUs do the same",
        ),
        Row(
            what="a call before it, typically",
            yours=words.duration(_typical(calls[:held])),
            remark="from entering to returning",
        ),
        Row(
            what="a call after it, on average",
            yours=words.duration(_mean(calls[held:] if held is not None else ())),
        ),
        Row(
            what="one product",
            yours=words.duration(calls[-1].ready / len(calls) if calls else None),
        ),
        timeline.watcher_row(loop),
    )
    if loop is None:
        return words.inconclusive(setting, outcome, rows, "the loop")
    if held is None:
        return Conclusion(
            rows=rows,
            holds=None if setting.accelerated else False,
            takeaway=_never_held(loop, setting),
            answer=0,
        )
    holds = abs(held - DEPTH) <= 4 if not setting.accelerated else True
    before, later = _typical(calls[:held]), _mean(calls[held:])
    takeaway = (
        f"The first {held} calls came back after {words.duration(before)} each; from "
        f"call {held + 1} on the host waited, {words.duration(later)} a call. So "
        f"{held} computations may be in flight here, and a program that never waits "
        "goes no faster than the device."
    )
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=1)


def _never_held(loop: LoopMeasured, setting: Setting) -> str:
    if loop.inline:
        return (
            "The results were ready when their calls returned, so nothing was ever in "
            "flight: the work is too small here. Take a larger size."
        )
    said = f"All {timeline.MANY} calls came back without being held back."
    if setting.accelerated:
        return (
            f"{said} Either this runtime lets more than {timeline.MANY} computations "
            "be in flight, or the device was done with each before the next call came: "
            "a larger size tells which."
        )
    return f"{said} On this machine the host never got {DEPTH} calls ahead."


def _took(calls: Sequence[LoopCall]) -> list[float]:
    return [call.returned - call.entered for call in calls]


def _typical(calls: Sequence[LoopCall]) -> float | None:
    return median(_took(calls)) if calls else None


def _mean(calls: Sequence[LoopCall]) -> float | None:
    took = _took(calls)
    return sum(took) / len(took) if took else None


STEP = Step(
    title="The 33rd call",
    prose="""\
Promises take memory: every result in flight has its place already. So a
runtime lets only so many computations be open. When that many wait, the next
call does not return before one of them is done.

This loop makes 64 calls and never waits. Watch the lower curve: at first the
calls return at once, then the host runs into the full queue, and from there
on it goes at the speed of the device.

A timing that happens to make more than 32 calls is therefore less wrong than
one with 20, and still wrong.""",
    question=Question(
        text="What happens at the 33rd call?",
        choices=(
            "It returns like the others",
            "It waits until one of the results is done",
            "It raises an error",
        ),
    ),
    claim="About 32 calls return at once; after that the host is held back.",
    works=_queue,
    conclude=_held,
    picture=timeline.lanes,
    source=DEPTH_SOURCE,
)
