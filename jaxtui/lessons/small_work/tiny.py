"""Step 3: Below ten microseconds all is dispatch."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import cases, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.small_work import ways
from jaxtui.model import USUAL_MODES, Experiment, Work

FLAT = 2.0
"""Ten times the work in less than so many times the time: hardly any of it is work."""


def _tiny(setting: Setting) -> tuple[Work, ...]:
    tiny = ways.every_way(setting, (ways.FEWEST, 10 * ways.FEWEST))
    large = cases.jax(setting.device, ways.OP, ways.LARGE // 10)
    return (Experiment(cases=(*tiny, large), budget_seconds=5.0),)


def _all_dispatch(setting: Setting, outcome: Outcome) -> Conclusion:
    few, more, many = ways.FEWEST, 10 * ways.FEWEST, ways.LARGE // 10
    times = {
        mode: (outcome.ready(mode=mode, size=few), outcome.ready(mode=mode, size=more))
        for mode in USUAL_MODES
    }
    speed = words.quotient(outcome.ready(mode="jit", size=many), many)
    work = None if speed is None else few * speed
    rows = (
        *(
            Row(
                what=f"{ways.LABELS[mode]}, {few} and {more} elements",
                yours=f"{words.duration(one)} and {words.duration(other)}",
                remark=words.trouble(outcome, mode=mode),
            )
            for mode, (one, other) in times.items()
        ),
        Row(
            what=f"the work in {few} elements",
            yours=words.duration(work),
            remark=f"at the speed of {fmt.count(many)} compiled",
        ),
    )
    grown = {mode: words.quotient(more, few) for mode, (few, more) in times.items()}
    if grown["eager"] is None or grown["jit"] is None:
        return words.inconclusive(setting, outcome, rows, "the small calls", many=True)
    holds = max(grown["eager"], grown["jit"]) < FLAT
    jit = times["jit"][0]
    said = [
        f"With ten times the elements eager JAX took {grown['eager']:.1f} times as "
        f"long, compiled JAX {grown['jit']:.1f} times."
    ]
    if holds and work is not None:
        said.append(
            f"Of the {words.duration(jit)} that the compiled call takes for {few} "
            f"elements, {words.duration(work)} would be enough for the work: the rest "
            "is dispatch."
        )
    elif not holds:
        said.append(
            "That is not flat: something else than the dispatch decides here, or the "
            "machine was disturbed."
        )
    eager = words.quotient(times["eager"][0], jit)
    if eager is not None:
        said.append(
            f"Eager JAX dispatches each of its four steps: {words.ratio(eager, 1)} the "
            "compiled call."
        )
    ratio = grown["jit"]
    return Conclusion(
        rows=rows,
        holds=holds,
        takeaway=" ".join(said),
        answer=0 if ratio < FLAT else 1 if ratio < 5 else 2,
    )


STEP = Step(
    title="Below ten microseconds all is dispatch",
    prose="""\
A call of a compiled function checks its arguments, finds the compiled
program, hands it to the runtime, and wraps the result: some microseconds,
whatever the arrays hold. That is the dispatch. An eager call pays it for
every step. NumPy has an overhead too, below a microsecond per step.

If a call is all dispatch, then ten times the elements cost no more. So here
are ten and a hundred elements, and a size that is large enough to tell how
fast the arithmetic itself would go.

An op that takes less than about 10 µs says nothing about a chip. To keep a
device busy, give it more work per call: larger arrays, or more steps in one
`jit`.""",
    question=Question(
        text="A hundred elements instead of ten: how much longer with jit?",
        choices=("Less than 2 times", "2 to 5 times", "About 10 times"),
    ),
    claim="In JAX ten times the elements take less than twice the time.",
    works=_tiny,
    conclude=_all_dispatch,
)
