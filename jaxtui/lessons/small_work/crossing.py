"""Step 2: Where JAX overtakes."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.analysis.crossover import middle
from jaxtui.lessons import cases, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.small_work import ways
from jaxtui.model import Case, Experiment, Work
from jaxtui.plot import Mark, Picture

CLOSE = 1.25
"""The search ends when the larger size is at most so many times the smaller."""

SEARCHES = 8
"""Sizes that are tried at most."""


def _pair(setting: Setting, elements: int) -> tuple[Case, ...]:
    return cases.numpy(ways.OP, elements), cases.jax(setting.device, ways.OP, elements)


def _ends(setting: Setting) -> tuple[int, ...]:
    """Where the search starts: few elements, and two large sizes to choose from."""
    many = min(setting.size, 10 * ways.LARGE)
    return ways.FEWEST, many // 10, many


def _search_begins(setting: Setting) -> tuple[Work, ...]:
    pairs = tuple(case for n in _ends(setting) for case in _pair(setting, n))
    return (Experiment(cases=pairs, budget_seconds=4.0),)


def _lead(outcome: Outcome, elements: int) -> float | None:
    """How many times as long as compiled JAX NumPy takes; ``None`` if not measured."""
    return words.quotient(
        outcome.ready(mode="numpy", size=elements),
        outcome.ready(mode="jit", size=elements),
    )


def _bracket(setting: Setting, outcome: Outcome) -> tuple[int, int] | None:
    """Between which sizes JAX overtakes, as far as it is known; ``None`` if nowhere."""
    low, *large = _ends(setting)
    at_low = _lead(outcome, low)
    ahead = [n for n in large if (_lead(outcome, n) or 0.0) > 1]
    if at_low is None or at_low >= 1 or not ahead:
        return None
    high = min(ahead)
    # Where NumPy is still ahead at the smaller of the two, the search is above it.
    low = max(n for n in (low, *large) if n < high and _lead(outcome, n) is not None)
    while (lead := _lead(outcome, middle(low, high))) is not None:
        low, high = (middle(low, high), high) if lead < 1 else (low, middle(low, high))
        if high <= CLOSE * low:
            break
    return low, high


def _search_on(setting: Setting, outcome: Outcome, done: int) -> Work | None:
    bracket = _bracket(setting, outcome)
    if bracket is None or done >= SEARCHES:
        return None
    low, high = bracket
    if high <= CLOSE * low or middle(low, high) in bracket:
        return None
    if _lead(outcome, middle(low, high)) is not None:
        return None
    pair = _pair(setting, middle(low, high))
    return Experiment(cases=pair, budget_seconds=1.2)


def _crossing(setting: Setting, outcome: Outcome) -> Picture | None:
    found = {ways.LABELS[mode]: ways.points(outcome, mode) for mode in ("numpy", "jit")}
    bracket = _bracket(setting, outcome)
    marks = (Mark(middle(*bracket), "as fast"),) if bracket else ()
    return ways.picture(found, "seconds per call", marks)


def _overtaken(setting: Setting, outcome: Outcome) -> Conclusion:
    tried = [
        n for n, _ in ways.points(outcome, "numpy") if _lead(outcome, n) is not None
    ]
    rows = tuple(
        Row(
            what=f"{fmt.count(n)} elements",
            yours=f"NumPy {words.duration(outcome.ready(mode='numpy', size=n))}",
            remark=f"jit {words.duration(outcome.ready(mode='jit', size=n))}",
        )
        for n in tried
    )
    few, *_, many = _ends(setting)
    if few not in tried or many not in tried:
        return words.inconclusive(setting, outcome, rows, "both ends", many=True)
    bracket = _bracket(setting, outcome)
    if bracket is None:
        first = (_lead(outcome, few) or 0.0) < 1
        return Conclusion(
            rows=rows,
            holds=False,
            takeaway=(
                f"NumPy was ahead at {few} elements and still at {fmt.count(many)}: "
                "the curves did not cross between them." + ways.disturbed(outcome)
                if first
                else f"Compiled JAX was ahead already at {few} elements: NumPy has no "
                "range of its own on this machine."
            ),
            answer=3 if first else 0,
        )
    low, high = bracket
    at = outcome.ready(mode="jit", size=high)
    return Conclusion(
        rows=rows,
        holds=True,
        takeaway=(
            f"Compiled JAX overtakes NumPy between {fmt.count(low)} and "
            f"{fmt.count(high)} elements, where a call takes about "
            f"{words.duration(at)}. It is a figure of this machine and this op, and "
            "moves with what else runs: remember the order of magnitude, and measure."
        ),
        answer=sum(middle(low, high) >= limit for limit in (1000, 100_000)),
    )


STEP = Step(
    title="Where JAX overtakes",
    prose="""\
Somewhere between ten and ten million elements the curves of NumPy and of
compiled JAX cross. The crossing is found by bisection: measure in the middle,
on a logarithmic axis, keep the half in which the order changes, and start
again. Six such measurements narrow five powers of ten down to a quarter.

Above that size a fixed cost no longer matters, because the work costs more.
On an accelerator the fixed cost is higher and the work is cheaper, so the
crossing lies elsewhere.

NumPy and JAX take turns in each measurement, so that whatever disturbs the
machine disturbs both.""",
    question=Question(
        text="From how many elements on is compiled JAX faster?",
        choices=(
            "Below 1000",
            "1000 to 100,000",
            "100,000 to ten million",
            "Not up to ten million",
        ),
    ),
    claim="There is a size at which compiled JAX overtakes NumPy.",
    works=_search_begins,
    follow=_search_on,
    picture=_crossing,
    conclude=_overtaken,
)
