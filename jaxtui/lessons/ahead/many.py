"""Step 2: Twenty-four promises."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import words
from jaxtui.lessons.ahead import timeline
from jaxtui.lessons.ahead.promise import FAR
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import LoopMeasured, Work


def _many(setting: Setting) -> tuple[Work, ...]:
    return (
        timeline.big(setting, "never", timeline.AHEAD),
        timeline.big(setting, "each", timeline.AHEAD),
    )


def _ran_ahead(setting: Setting, outcome: Outcome) -> Conclusion:
    never, each = timeline.of(outcome, "never"), timeline.of(outcome, "each")
    rows = (
        *_loop_rows("no wait", never),
        *_loop_rows("wait each time", each)[:1],
        timeline.watcher_row(never),
    )
    if never is None or each is None:
        return words.inconclusive(setting, outcome, rows, "the two loops", many=True)
    clock = never.undisturbed
    holds = never.ratio >= FAR
    takeaway = (
        f"The stopwatch around {timeline.AHEAD} calls read "
        f"{words.duration(clock.stopwatch_seconds)}; the last result was there after "
        f"{words.duration(clock.true_seconds)}, {fmt.significant(never.ratio, 2)} "
        "times as long."
    )
    if never.inline:
        takeaway += " Here the work ran in the calling thread: take a larger size."
    elif holds:
        takeaway += (
            " The host was done long before the device. With a wait after every call "
            "the stopwatch read "
            f"{words.duration(each.undisturbed.stopwatch_seconds)}, which is the truth."
        )
    else:
        takeaway += " That is less than the claim says; a larger size runs further."
    return Conclusion(
        rows=rows,
        holds=holds,
        takeaway=takeaway,
        answer=2 if holds else 1 if never.ratio >= 1.5 else 0,
    )


def _loop_rows(what: str, loop: LoopMeasured | None) -> tuple[Row, Row]:
    clock = loop.undisturbed if loop else None
    return (
        Row(
            what=f"{what}: the stopwatch",
            yours=words.duration(clock.stopwatch_seconds if clock else None),
            remark=f"around {timeline.AHEAD} calls",
        ),
        Row(
            what=f"{what}: all results",
            yours=words.duration(clock.true_seconds if clock else None),
        ),
    )


STEP = Step(
    title="Twenty-four promises",
    prose="""\
Nothing stops the host from going on after the first call. The loop below
makes 24 calls and keeps no result:

    for _ in range(24):
        y = multiply(a, b)

The plot shows when each call returned and when its result was ready. The gap
between the curves is how far the host has run ahead.

To know when results are ready, a second thread waits for each of them. A
watcher changes what it watches, so the figures in the table come from
repeats of the same loop that nobody watched, and one row shows the other.""",
    question=Question(
        text="What will a stopwatch around the loop read?",
        choices=(
            "The time of 24 products",
            "About half of it",
            "A small part of it",
        ),
    ),
    claim=("The stopwatch reads at least 5 times less than the calls really take."),
    works=_many,
    conclude=_ran_ahead,
    picture=timeline.lanes,
)
