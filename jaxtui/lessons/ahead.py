"""Running ahead: a result is a promise, and how many may be open at once."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.lessons.base import Setting
from jaxtui.lessons.figures import All, AtLeast, Figures, Holds, Value, bracket
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.trial import Code, Trial, jax_case, lesson
from jaxtui.model import Case, Loop, LoopMeasured, LoopStyle
from jaxtui.plot import Axis, Mark, Picture, Series
from jaxtui.stats import median

FAR = 5.0
"""How many times as long waiting must take as the hand-over."""

DEARER = 1.15
"""How many times as much waiting in every call must cost as waiting once."""

DEPTH = 32
"""Computations in flight at once."""


def _slowest_promise(figures: Figures) -> Mapping[str, Value]:
    """Of what does not look at a value."""
    found = [figures[name] for name in ("call", "shape and dtype", "passed on")]
    known = [each for each in found if each is not None]
    return {"the others": max(known) if len(known) == len(found) else None}


# Loops.


def _product(setting: Setting) -> Case:
    return jax_case(setting.device, "matmul", setting.size)


def _loop(case: Case, style: LoopStyle, calls: int) -> Loop:
    return Loop(case=case, style=style, calls=calls, budget_seconds=4.0)


def _loop_of(outcome: Outcome, style: LoopStyle) -> LoopMeasured | None:
    loops = (loop for loop in outcome.loops if loop.loop.style == style)
    return next(loops, None)


def _ahead_figures(figures: Figures) -> Mapping[str, Value]:
    never = _loop_of(figures.outcome, "never")
    each = _loop_of(figures.outcome, "each")
    return {
        "stopwatch": never.undisturbed.stopwatch_seconds if never else None,
        "work": never.undisturbed.true_seconds if never else None,
        "watched": never.watched.true_seconds if never else None,
        "inline": bool(never and never.inline),
        "waiting": each.undisturbed.stopwatch_seconds if each else None,
    }


def _lanes_picture(setting: Setting, outcome: Outcome) -> Picture | None:
    """When each call returned and when its result was there."""
    loop = _loop_of(outcome, "never")
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
        "time since the first call",
        marks,
    )


def _held_figures(figures: Figures) -> Mapping[str, Value]:
    loop = _loop_of(figures.outcome, "never")
    calls, plain = (loop.calls, loop.undisturbed) if loop else ((), None)
    held = loop.held_from if loop else None
    took = [call.returned - call.entered for call in calls]
    later = took[held:] if held is not None else []
    return {
        "held back": held is not None,
        "held": held,
        "first held": None if held is None else held + 1,
        "before": median(took[:held]) if took[:held] else None,
        "after": sum(later) / len(later) if later else None,
        "one product": plain.true_seconds / len(calls) if plain else None,
        "watched": loop.watched.true_seconds / len(calls) if loop else None,
        "inline": bool(loop and loop.inline),
    }


def _is_as_deep(figures: Figures) -> bool | None:
    """Where an accelerator keeps more in flight, or fewer, that is its own matter."""
    held = figures["held"]
    if figures.setting.accelerated:
        return None if held is None else True
    return held is not None and abs(held - DEPTH) <= 4


LESSON = lesson(
    "ahead",
    {
        "A promise has a shape": Trial(
            code=Code(
                budget=4.0,
                memory=lambda n: 6 * 4 * n * n,
                device=lambda setting: setting.device,
            ),
            derive=_slowest_promise,
            claim=AtLeast("a value", FAR, "the others"),
            answer=lambda figures: 2 if figures["holds"] else None,
        ),
        "Twenty-four promises": Trial(
            works=lambda setting: (
                _loop(_product(setting), "never", 24),
                _loop(_product(setting), "each", 24),
            ),
            derive=_ahead_figures,
            picture=_lanes_picture,
            claim=AtLeast("work", FAR, "stopwatch"),
            answer=bracket("work", "stopwatch", 1.5, FAR),
        ),
        "Waiting once, or every time": Trial(
            code=Code(budget=6.0, device=lambda setting: setting.device),
            claim=All(AtLeast("each", DEARER, "end"), AtLeast("print", 1, "each")),
            answer=bracket("print", "end", DEARER, 2),
        ),
        "The 33rd call": Trial(
            works=lambda setting: (_loop(_product(setting), "never", 64),),
            derive=_held_figures,
            picture=_lanes_picture,
            claim=Holds(_is_as_deep, "one product"),
            answer=lambda figures: 1 if figures["held back"] else 0,
        ),
    },
    sizes={"cpu": 700, "gpu": 4000, "tpu": 4000},
    minimum=64,
    maximum=12_000,
)
