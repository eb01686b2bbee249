"""Step 3: Waiting once, or every time."""

from __future__ import annotations

from jaxtui.lessons import cases, words
from jaxtui.lessons.ahead import timeline
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import LoopStyle, Work

DEARER = 1.15
"""How many times as much waiting in every call must cost as waiting once."""

SMALL, SMALL_CALLS = 64, 100
"""So little work, n of n×n, that waiting shows beside it; and enough of it to time."""

_STYLES: tuple[tuple[LoopStyle, str], ...] = (
    ("end", "blocking once at the end"),
    ("each", "blocking after every call"),
    ("asarray", "np.asarray after every call"),
    ("print", "printing after every call"),
)


def _waits(setting: Setting) -> tuple[Work, ...]:
    case = cases.jax(setting.device, "matmul", SMALL)
    loops = tuple(timeline.loop(case, style, SMALL_CALLS) for style, _ in _STYLES)
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


def _best(outcome: Outcome, style: str) -> float | None:
    """Seconds per call of the fastest loop of a style."""
    taken = [
        loop.undisturbed.true_seconds / loop.loop.calls
        for loop in outcome.loops
        if loop.loop.style == style
    ]
    return min(taken, default=None)


STEP = Step(
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
)
