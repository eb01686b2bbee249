"""Running ahead: a result is a promise, and how many may be open at once."""

from __future__ import annotations

from bisect import bisect

from jaxtui.core import format as fmt
from jaxtui.core.format import seconds
from jaxtui.core.model import Loop, LoopStyle
from jaxtui.core.stats import median
from jaxtui.features.lessons.base import Conclusion, Setting
from jaxtui.features.lessons.figures import Figures, over, times
from jaxtui.features.lessons.trial import Code, Trial, case_of, lesson, size
from jaxtui.ui.plot import Axis, Mark, Picture, Series

DEPTH = 32
"""Computations in flight at once."""

WATCHER = "a second thread notes when each result is ready"


def _promises(figures: Figures) -> Conclusion:
    names = ("call", "shape and dtype", "passed on")
    call, shape, passed = (figures[name] for name in names)
    slowest, value = max(call, shape, passed), figures["a value"]
    holds, of_shape = value >= 5 * slowest, ("of shape ", figures.cell("its shape"))
    rows = figures.table(
        ("y = multiply(x, x)", "call"),
        ("the same, y.shape, y.dtype", "shape and dtype", "", "known before the value"),
        ("multiply(y, x), before y is there", "passed on", "", "two calls, no wait"),
        ("float(y[0, 0])", "a value", "", "waits"),
        ("y.is_ready() right after the call", "ready at once"),
        ("isinstance(y, jax.Array)", "type", "", of_shape),
    )
    sentences = (
        f"The call took {seconds(call)}, with shape and dtype {seconds(shape)}, with a"
        f" second product {seconds(passed)}.",
        f"Reading one number took {seconds(value)}: {times(over(value, slowest))} as"
        " long as the slowest of these.",
    )
    return Conclusion(holds, 2 if holds else None, rows, sentences)


# Loops.


def _loop(setting: Setting, style: LoopStyle, calls: int) -> Loop:
    case = case_of("matmul", setting.size, "jit", setting.device)
    return Loop(case=case, style=style, calls=calls, budget_seconds=4.0)


def _loops(figures: Figures) -> Conclusion:
    never = figures.loop("never")
    stopwatch = never.undisturbed.stopwatch_seconds
    work, watched = never.undisturbed.true_seconds, never.watched.true_seconds
    waiting = figures.loop("each").undisturbed.stopwatch_seconds
    factor, holds = over(work, stopwatch), work >= 5 * stopwatch
    rows = figures.table(
        ("no wait: the stopwatch", stopwatch, "", "around 24 calls"),
        ("no wait: all results", work),
        ("wait each time: the stopwatch", waiting, "", "around 24 calls"),
        ("the same with the watcher", watched, "", WATCHER),
    )
    sentences = [
        f"The stopwatch around 24 calls read {seconds(stopwatch)}; the last result was"
        f" there after {seconds(work)}, {fmt.significant(factor, 2)} times as long."
    ]
    if never.inline:
        sentences.append("The work ran in the calling thread: try a larger size.")
    if holds:
        truth = f"it read {seconds(waiting)}, the true time"
        sentences.append(f"With a wait after every call {truth}.")
    return Conclusion(holds, bisect((1.5, 5), factor), rows, sentences)


def _lanes_picture(figures: Figures) -> Picture | None:
    """Draw the return of each call and its result."""
    outcome = figures.outcome
    never = (loop for loop in outcome.loops if loop.loop.style == "never")
    loop = next(never, None)
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


def _waits(figures: Figures) -> Conclusion:
    end, waited, printed = (figures[name] for name in ("end", "each", "print"))
    ratio = {
        name: f"{figures.ratio(name, 'end')} of blocking once"
        for name in ("each", "asarray", "print")
    }
    rows = figures.table(
        ("blocking once at the end", "end", "", "100 calls"),
        ("blocking after every call", "each", "", ratio["each"]),
        ("np.asarray after every call", "asarray", "", ratio["asarray"]),
        ("printing after every call", "print", "", ratio["print"]),
    )
    sentence = (
        f"The loop took {seconds(end)} when it waited once, {seconds(waited)} when it"
        f" waited each time, and {seconds(printed)} when it printed a number each time:"
        f" {figures.times('print', 'end')} as much."
    )
    answer = bisect((1.15, 2), over(printed, end))
    return Conclusion(printed >= waited >= 1.15 * end, answer, rows, [sentence])


def _held_back(figures: Figures) -> Conclusion:
    loop, accelerated = figures.loop("never"), figures.setting.accelerated
    held = loop.held_from
    durations = [call.returned - call.entered for call in loop.calls]
    before = median(durations[:held]) if durations[:held] else None
    later = durations[held:] if held is not None else []
    after = sum(later) / len(later) if later else None
    first = fmt.ABSENT if held is None else f"call {held + 1}"
    if held is not None:
        sentence = (
            f"The first {held} calls returned after {seconds(before)} each; from"
            f" {first} the host blocked for {seconds(after)} a call. So up to {held}"
            " computations are in flight here, and a program that never waits runs no"
            " faster than the device."
        )
    elif loop.inline:
        sentence = (
            "The results were ready when their calls returned, so nothing was ever in"
            " flight: the work is too small. Try a larger size."
        )
    else:
        sentence = (
            "The host never blocked in 64 calls. Either this runtime allows more than"
            " 64 computations in flight, or the device finished each before the next"
            " call: a larger size tells which."
        )
    # Where an accelerator keeps more in flight, or fewer, that is its own matter.
    holds = held is not None and (accelerated or abs(held - DEPTH) <= 4)
    default = "XLA's default for GPUs; CPUs do the same"
    product, watched = loop.undisturbed.true_seconds, loop.watched.true_seconds
    rows = figures.table(
        ("first call that blocked", (first,), "call 33", default),
        ("a call before it, typically", before, "", "until it returned, watched"),
        ("a call after it, on average", after, "", "in the same repeat"),
        ("one product", product / len(loop.calls)),
        ("the same with the watcher", watched / len(loop.calls), "", WATCHER),
    )
    return Conclusion(
        None if held is None and accelerated else holds,
        0 if held is None else 1,
        rows,
        [sentence],
    )


LESSON = lesson(
    "ahead",
    Trial(_promises, Code(4.0, size)),
    Trial(
        _loops,
        works=lambda setting: (_loop(setting, "never", 24), _loop(setting, "each", 24)),
        picture=_lanes_picture,
    ),
    Trial(_waits, Code(6.0)),
    Trial(
        _held_back,
        works=lambda setting: (_loop(setting, "never", 64),),
        picture=_lanes_picture,
    ),
    sizes={"cpu": 700, "gpu": 4000, "tpu": 4000},
    limits=(64, 12_000),
    fits=True,
)
