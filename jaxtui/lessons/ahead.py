"""Running ahead: a result is a promise, and how many may be open at once."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.lessons import cases, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import (
    Case,
    Loop,
    LoopCall,
    LoopMeasured,
    LoopStyle,
    Shown,
    Snippet,
    Timed,
    Work,
)
from jaxtui.plot import Axis, Mark, Picture, Series
from jaxtui.stats import median

SOURCE = (
    "JAX documentation, Asynchronous dispatch: "
    "https://docs.jax.dev/en/latest/async_dispatch.html"
)

DEPTH_SOURCE = (
    "XLA's source, the option max_inflight_computations of its GPU client: 32"
)

FAR = 5.0
"""How many times as long waiting must take as the hand-over."""

DEARER = 1.15
"""How many times as much waiting in every call must cost as waiting once."""

AHEAD, MANY = 24, 64
"""Calls that fit into the queue, and calls that do not."""

SMALL, SMALL_CALLS = 64, 100
"""So little work, n of n×n, that waiting shows beside it; and enough of it to time."""

DEPTH = 32
"""Computations in flight at once."""

_RETURNED, _SHAPE, _PASSED, _VALUE = "call", "shape and dtype", "passed on", "a value"
_TYPE, _READY, _SEEN_SHAPE = "type", "ready at once", "its shape"


# 1: a result is a promise.


def _promise(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
x = jax.random.uniform(jax.random.key(0), ({n}, {n}))
multiply = jax.jit(jnp.dot)
multiply(x, x).block_until_ready()  # compiles

def ask(result):
    return result, result.shape, result.dtype
"""
    parts = (
        Shown(name=_READY, code="multiply(x, x).is_ready()"),
        Shown(name=_TYPE, code="isinstance(multiply(x, x), jax.Array)"),
        Shown(name=_SEEN_SHAPE, code="multiply(x, x).shape"),
        Timed(name=_RETURNED, code="multiply(x, x)"),
        Timed(name=_SHAPE, code="ask(multiply(x, x))"),
        Timed(name=_PASSED, code="multiply(multiply(x, x), x)"),
        Timed(name=_VALUE, code="float(multiply(x, x)[0, 0])"),
    )
    snippet = Snippet(
        title=f"What can be asked of an unfinished product, {n}×{n} float32",
        setup=setup,
        parts=parts,
        budget_seconds=4.0,
        memory_bytes=6 * 4 * n * n,
        device=setting.device,
    )
    return (snippet,)


def _promised(setting: Setting, outcome: Outcome) -> Conclusion:
    names = (_RETURNED, _SHAPE, _PASSED, _VALUE)
    code = (
        "y = multiply(x, x)",
        "the same, y.shape, y.dtype",
        "multiply(y, x), before y is there",
        "float(y[0, 0])",
    )
    seconds = [outcome.seconds(name) for name in names]
    value = seconds[-1]
    remarks = ("", "known before the value", "two calls, no wait", "waits")
    rows = [
        Row(what=what, yours=words.duration(each), remark=remark)
        for what, each, remark in zip(code, seconds, remarks, strict=True)
    ]
    rows += [
        Row(
            what="y.is_ready() right after the call",
            yours=outcome.text(_READY) or words.ABSENT,
        ),
        Row(
            what="isinstance(y, jax.Array)",
            yours=outcome.text(_TYPE) or words.ABSENT,
            remark=f"of shape {outcome.text(_SEEN_SHAPE) or words.ABSENT}",
        ),
    ]
    known = [each for each in seconds[:-1] if each is not None]
    if value is None or len(known) < 3:
        return words.inconclusive(
            setting, outcome, rows, "all of the answers", many=True
        )
    slowest = max(known)
    holds = value >= FAR * slowest
    takeaway = (
        f"Calling took {words.duration(known[0])}, with shape and dtype "
        f"{words.duration(known[1])}, passed on to a second product "
        f"{words.duration(known[2])}. One number out of the result took "
        f"{words.duration(value)}, {words.times(value, slowest)} as long as the "
        "slowest of these"
    )
    takeaway += (
        ": only looking at a value waits."
        if holds
        else ". That is less than the claim says: at this size the hand-over is a good "
        "part of the work."
    )
    return Conclusion(
        rows=tuple(rows),
        holds=holds,
        takeaway=takeaway,
        answer=2 if holds else None,
    )


# 2: many calls ahead.


def _big(setting: Setting, style: LoopStyle, calls: int) -> Loop:
    case = cases.jax(setting.device, "matmul", setting.size)
    return _loop(case, style, calls)


def _many(setting: Setting) -> tuple[Work, ...]:
    return (_big(setting, "never", AHEAD), _big(setting, "each", AHEAD))


def _ran_ahead(setting: Setting, outcome: Outcome) -> Conclusion:
    never, each = _of(outcome, "never"), _of(outcome, "each")
    rows = (
        *_loop_rows("no wait", never),
        *_loop_rows("wait each time", each)[:1],
        _watcher_row(never),
    )
    if never is None or each is None:
        return words.inconclusive(setting, outcome, rows, "the two loops", many=True)
    clock = never.undisturbed
    holds = never.ratio >= FAR
    takeaway = (
        f"The stopwatch around {AHEAD} calls read "
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


# 3: waiting once, each time, printing.


_STYLES: tuple[tuple[LoopStyle, str], ...] = (
    ("end", "blocking once at the end"),
    ("each", "blocking after every call"),
    ("asarray", "np.asarray after every call"),
    ("print", "printing after every call"),
)


def _waits(setting: Setting) -> tuple[Work, ...]:
    case = cases.jax(setting.device, "matmul", SMALL)
    loops = tuple(_loop(case, style, SMALL_CALLS) for style, _ in _STYLES)
    # Twice, because the machine may change its pace from one loop to the next.
    return (*loops, *loops)


def _waited(setting: Setting, outcome: Outcome) -> Conclusion:
    taken = {style: _best(outcome, style) for style, _ in _STYLES}
    once = taken["end"]
    rows = tuple(
        Row(
            what=what,
            yours=words.duration(taken[style]),
            remark="per call, the faster of two passes"
            if style == "end"
            else f"{words.ratio(taken[style], once)} of blocking once",
        )
        for style, what in _STYLES
    )
    every, printed = taken["each"], taken["print"]
    if once is None or every is None or printed is None:
        return words.inconclusive(setting, outcome, rows, "all four loops", many=True)
    holds = every >= DEARER * once and printed >= every
    takeaway = (
        f"A product of two {SMALL}×{SMALL} matrices cost "
        f"{words.duration(once)} per call when the loop waited once, "
        f"{words.duration(every)} when it waited each time, and "
        f"{words.duration(printed)} when it printed a number each time: "
        f"{words.times(printed, once)} as much."
    )
    takeaway += (
        " While the host waits it prepares nothing, and the device then waits for it."
        if holds
        else " So the order that the claim expects did not show here."
    )
    return Conclusion(
        rows=rows,
        holds=holds,
        takeaway=takeaway,
        answer=2 if printed >= 2 * once else 1 if printed >= DEARER * once else 0,
    )


# 4: the 33rd call.


def _queue(setting: Setting) -> tuple[Work, ...]:
    return (_big(setting, "never", MANY),)


def _held(setting: Setting, outcome: Outcome) -> Conclusion:
    loop = _of(outcome, "never")
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
        _watcher_row(loop),
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
    said = f"All {MANY} calls came back without being held back."
    if setting.accelerated:
        return (
            f"{said} Either this runtime lets more than {MANY} computations be in "
            "flight, or the device was done with each before the next call came: a "
            "larger size tells which."
        )
    return f"{said} On this machine the host never got {DEPTH} calls ahead."


# Shared by the loops.


def _loop(case: Case, style: LoopStyle, calls: int) -> Loop:
    return Loop(case=case, style=style, calls=calls, budget_seconds=4.0)


def _of(outcome: Outcome, style: str) -> LoopMeasured | None:
    found = (loop for loop in outcome.loops if loop.loop.style == style)
    return next(found, None)


def _best(outcome: Outcome, style: str) -> float | None:
    """Seconds per call of the fastest loop of a style."""
    taken = [
        loop.undisturbed.true_seconds / loop.loop.calls
        for loop in outcome.loops
        if loop.loop.style == style
    ]
    return min(taken, default=None)


def _loop_rows(what: str, loop: LoopMeasured | None) -> tuple[Row, Row]:
    clock = loop.undisturbed if loop else None
    return (
        Row(
            what=f"{what}: the stopwatch",
            yours=words.duration(clock.stopwatch_seconds if clock else None),
            remark=f"around {AHEAD} calls",
        ),
        Row(
            what=f"{what}: all results",
            yours=words.duration(clock.true_seconds if clock else None),
        ),
    )


def _watcher_row(loop: LoopMeasured | None) -> Row:
    return Row(
        what="the same with the watcher",
        yours=words.duration(loop.watched.true_seconds if loop else None),
        remark="a second thread notes when each result is ready",
    )


def _took(calls: Sequence[LoopCall]) -> list[float]:
    return [call.returned - call.entered for call in calls]


def _typical(calls: Sequence[LoopCall]) -> float | None:
    return median(_took(calls)) if calls else None


def _mean(calls: Sequence[LoopCall]) -> float | None:
    took = _took(calls)
    return sum(took) / len(took) if took else None


def _lanes(setting: Setting, outcome: Outcome) -> Picture | None:
    """When each call returned and when its result was there."""
    loop = _of(outcome, "never")
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


LESSON = Lesson(
    name="ahead",
    title="Running ahead: a result is a promise",
    summary="What can be done with a result before it is there, and what has to wait.",
    size_means="n of n×n",
    sizes={"cpu": 700, "gpu": 4000, "tpu": 4000},
    minimum=64,
    maximum=12_000,
    steps=(
        Step(
            title="A promise has a shape",
            prose="""\
The `jax.Array` that a call returns is a promise: the value is being
computed. What follows from the program alone is known at once, such as
shape and dtype. The array can also be passed on to the next call, which is
then queued behind the first.

    y = multiply(x, x)         # returns at once
    y.shape, y.dtype           # no wait
    z = multiply(y, x)         # no wait either
    float(y[0, 0])             # waits: this is a value

Printing, `float(...)`, `if y.sum() > 0` and `np.asarray` all look at values.
The program then stands still until the device is done.""",
            question=Question(
                text="Which of these lines has to wait for the product?",
                choices=(
                    "y.shape",
                    "multiply(y, x)",
                    "float(y[0, 0])",
                ),
            ),
            claim=(
                "Looking at a value takes at least 5 times as long as calling, asking "
                "for the shape, or passing the result on."
            ),
            works=_promise,
            conclude=_promised,
            source=SOURCE,
        ),
        Step(
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
            claim=(
                "The stopwatch reads at least 5 times less than the calls really take."
            ),
            works=_many,
            conclude=_ran_ahead,
            picture=_lanes,
        ),
        Step(
            title="Waiting once, or every time",
            prose="""\
Waiting is not wrong, it costs. After each wait the device has nothing to do
until the host has prepared the next call, and waking up takes time on both
sides. With small work that is most of the time, so this step multiplies
64×64 matrices, 100 times:

    y.block_until_ready()     after the loop, or after every call
    np.asarray(y)             after every call
    print(y.ravel()[0])       after every call

The line that prints also computes: it picks one number, which is a call of
its own, and waits for it. A progress message in a training loop does this.""",
            question=Question(
                text="What does printing one number per call cost here?",
                choices=(
                    "Next to nothing",
                    "Less than twice the loop without",
                    "At least twice the loop without",
                ),
            ),
            claim=(
                "Blocking after every call costs more than blocking once, and printing "
                "costs most."
            ),
            works=_waits,
            conclude=_waited,
        ),
        Step(
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
            picture=_lanes,
            source=DEPTH_SOURCE,
        ),
    ),
)
