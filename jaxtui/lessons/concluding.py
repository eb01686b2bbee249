"""What a step's figures say, and whether they were steady enough to say it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from jaxtui import format as fmt
from jaxtui.lessons import words
from jaxtui.lessons.base import Conclusion, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Summary

UNSTEADY = 0.25
"""Where the interval of a figure reaches further than this share of it to either side,
two figures that differ by half may be the same."""


def conclude(step: Step, setting: Setting, outcome: Outcome) -> Conclusion:
    """What the step makes of its figures; where they wander, a refutation is doubted.

    Where some are missing because a work has no result, the claim stays open.

    Raises:
        Exception: Whatever the step's own conclusion raises.
    """
    conclusion = step.conclude(setting, outcome)
    if outcome.lost:
        takeaway = "Incomplete: the engine was lost, so this step says nothing."
        conclusion = dataclasses.replace(conclusion, takeaway=takeaway)
    if outcome.problem is not None:
        conclusion = dataclasses.replace(conclusion, holds=None, answer=None)
    wandering = [
        (name, clock) for name, clock in _clocks(outcome) if clock.half_width > UNSTEADY
    ]
    if conclusion.holds is not False or not wandering:
        return conclusion
    name, worst = max(wandering, key=lambda named: named[1].half_width)
    low, high = words.duration(worst.ci_low), words.duration(worst.ci_high)
    doubt = (
        f"But {name} is only known to lie between {low} and {high}"
        f" ({fmt.interval_name(worst.confidence)}): something else may have used the"
        " machine. Run this step again before you believe it."
    )
    return dataclasses.replace(conclusion, takeaway=f"{conclusion.takeaway} {doubt}")


def _clocks(outcome: Outcome) -> Iterator[tuple[str, Summary]]:
    """What was timed to its end, with its name."""
    for one in outcome.measurements:
        if one.stopped is not None and one.ready is not None:
            yield one.case.label, one.ready
    for name, timing in outcome.timings.items():
        yield name, timing.seconds
