"""Running ahead: a result is a promise, and how many may be open at once."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row, Setting
from jaxtui.features.lessons.figures import NAN, Figures, at_least, over, times, which
from jaxtui.features.lessons.outcome import Outcome
from jaxtui.features.lessons.trial import Code, Trial, jax_case, lesson, size
from jaxtui.format import figure, seconds
from jaxtui.model import Case, Loop, LoopStyle
from jaxtui.plot import Axis, Mark, Picture, Series
from jaxtui.stats import median

FAR = 5.0
"""The least ratio of waiting to the hand-over."""

DEARER = 1.15
"""The least cost of waiting in every call, as a multiple of waiting once."""

DEPTH = 32
"""Computations in flight at once."""

WATCHER = "a second thread notes when each result is ready"

LARGER = "The work ran in the calling thread: try a larger size."


def _promises(figures: Figures) -> Conclusion:
    row, promises = figures.row, ("call", "shape and dtype", "passed on")
    call, shape, passed = (figures[name] for name in promises)
    slowest, value = max(call, shape, passed), figures["a value"]
    holds, of_shape = value >= FAR * slowest, f"of shape {figures.shown('its shape')}"
    return Conclusion(
        holds=holds,
        answer=2 if holds else None,
        rows=(
            row("y = multiply(x, x)", "call"),
            row(
                "the same, y.shape, y.dtype",
                "shape and dtype",
                remark="known before the value",
            ),
            row(
                "multiply(y, x), before y is there",
                "passed on",
                remark="two calls, no wait",
            ),
            row("float(y[0, 0])", "a value", remark="waits"),
            row("y.is_ready() right after the call", "ready at once"),
            row("isinstance(y, jax.Array)", "type", remark=of_shape),
        ),
        sentences=(
            f"The call took {seconds(call)}, with shape and dtype {seconds(shape)}, "
            f"with a second product {seconds(passed)}.",
            f"Reading one number took {seconds(value)}: {times(over(value, slowest))} "
            "as long as the slowest of these.",
        ),
    )


# Loops.


def _product(setting: Setting) -> Case:
    return jax_case(setting.device, "matmul", setting.size)


def _loop(case: Case, style: LoopStyle, calls: int) -> Loop:
    return Loop(case=case, style=style, calls=calls, budget_seconds=4.0)


def _loops(figures: Figures) -> Conclusion:
    never, every_call = figures.loop("never"), figures.loop("each")
    stopwatch = never.undisturbed.stopwatch_seconds if never else NAN
    work = never.undisturbed.true_seconds if never else NAN
    watched = never.watched.true_seconds if never else NAN
    waiting = every_call.undisturbed.stopwatch_seconds if every_call else NAN
    factor, calls = over(work, stopwatch), "around 24 calls"
    holds, inline = at_least(work, FAR, stopwatch), never is not None and never.inline
    truth = f"With a wait after every call it read {seconds(waiting)}, the true time."
    return Conclusion(
        holds=holds,
        answer=which(factor, 1.5, FAR),
        rows=(
            Row("no wait: the stopwatch", (figure(stopwatch),), remark=calls),
            Row("no wait: all results", (figure(work),)),
            Row("wait each time: the stopwatch", (figure(waiting),), remark=calls),
            Row("the same with the watcher", (figure(watched),), remark=WATCHER),
        ),
        sentences=(
            f"The stopwatch around 24 calls read {seconds(stopwatch)}; the last result "
            f"was there after {seconds(work)}, {fmt.significant(factor, 2)} times as "
            "long.",
            LARGER if inline else "",
            truth if holds and every_call else "",
        ),
    )


def _lanes_picture(setting: Setting, outcome: Outcome) -> Picture | None:
    """Draw the return of each call and its result."""
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

    def row(what: str, name: str) -> Row:
        remark = f"{figures.ratio(name, 'end')} of blocking once"
        return figures.row(f"{what} after every call", name, remark=remark)

    return Conclusion(
        holds=waited >= DEARER * end and printed >= waited,
        answer=which(over(printed, end), DEARER, 2),
        rows=(
            figures.row("blocking once at the end", "end", remark="100 calls"),
            row("blocking", "each"),
            row("np.asarray", "asarray"),
            row("printing", "print"),
        ),
        sentences=(
            f"The loop took {seconds(end)} when it waited once, {seconds(waited)} when "
            f"it waited each time, and {seconds(printed)} when it printed a number "
            f"each time: {figures.times('print', 'end')} as much.",
        ),
    )


def _held_back(figures: Figures) -> Conclusion:
    loop = figures.loop("never")
    calls, held = (loop.calls, loop.held_from) if loop else ((), None)
    durations = [call.returned - call.entered for call in calls]
    before = median(durations[:held]) if durations[:held] else NAN
    later = durations[held:] if held is not None else []
    after = sum(later) / len(later) if later else NAN
    product = loop.undisturbed.true_seconds / len(calls) if loop else NAN
    watched = loop.watched.true_seconds / len(calls) if loop else NAN
    first = fmt.ABSENT if held is None else f"call {held + 1}"
    accelerated = figures.setting.accelerated
    if held is not None:
        sentence = (
            f"The first {held} calls returned after {seconds(before)} each; from "
            f"{first} the host blocked for {seconds(after)} a call. So up to {held} "
            "computations are in flight here, and a program that never waits runs no "
            "faster than the device."
        )
    elif loop and loop.inline:
        sentence = (
            "The results were ready when their calls returned, so nothing was ever in "
            "flight: the work is too small. Try a larger size."
        )
    elif accelerated:
        sentence = (
            "The host never blocked in 64 calls. Either this runtime allows more than "
            "64 computations in flight, or the device finished each before the next "
            "call: a larger size tells which."
        )
    else:
        sentence = (
            "The host never blocked in 64 calls: on this machine the host never got "
            "32 calls ahead."
        )
    # Where an accelerator keeps more in flight, or fewer, that is its own matter.
    holds = held is not None and (accelerated or abs(held - DEPTH) <= 4)
    return Conclusion(
        holds=None if held is None and accelerated else holds,
        answer=0 if held is None else 1,
        rows=(
            Row(
                "first call that blocked",
                first,
                "call 33",
                "XLA's default for GPUs; CPUs do the same",
            ),
            Row(
                "a call before it, typically",
                (figure(before),),
                remark="from entering to returning, in one watched repeat",
            ),
            Row(
                "a call after it, on average",
                (figure(after),),
                remark="in the same repeat",
            ),
            Row("one product", (figure(product),)),
            Row("the same with the watcher", (figure(watched),), remark=WATCHER),
        ),
        sentences=(sentence,),
    )


LESSON = lesson(
    "ahead",
    {
        "A promise has a shape": Trial(
            _promises,
            Code(4.0, size),
            needs=("call", "shape and dtype", "passed on", "a value"),
        ),
        "Twenty-four promises": Trial(
            _loops,
            works=lambda setting: (
                _loop(_product(setting), "never", 24),
                _loop(_product(setting), "each", 24),
            ),
            needs=("never",),
            picture=_lanes_picture,
        ),
        "Waiting once, or every time": Trial(
            _waits, Code(6.0), needs=("end", "each", "print")
        ),
        "The 33rd call": Trial(
            _held_back,
            works=lambda setting: (_loop(_product(setting), "never", 64),),
            needs=("never",),
            picture=_lanes_picture,
        ),
    },
    sizes={"cpu": 700, "gpu": 4000, "tpu": 4000},
    minimum=64,
    maximum=12_000,
    fits=True,
)
