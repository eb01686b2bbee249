"""Small work belongs to NumPy: what a call costs before it computes anything."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.crossover import middle
from jaxtui.lessons import cases, values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import (
    HOST,
    USUAL_MODES,
    Case,
    Experiment,
    Mode,
    Snippet,
    Timed,
    Work,
)
from jaxtui.plot import Axis, Mark, Picture, Series

OP = "sigmoid"

FEWEST = 10
"""Elements of the smallest array."""

LONGEST_LIST = 100_000
"""Elements of the longest Python list: a tenth of a second at most."""

LARGE = 1_000_000
"""Elements above which the cases take turns among themselves only."""

SURE = 1.1
"""How many times faster is faster, and not by chance."""

CLOSE = 1.25
"""The search ends when the larger size is at most so many times the smaller."""

SEARCHES = 8
"""Sizes that are tried at most."""

FLAT = 2.0
"""Ten times the work in less than so many times the time: hardly any of it is work."""

LABELS: dict[Mode, str] = {
    "numpy": "NumPy",
    "eager": "JAX, eager",
    "jit": "JAX, jit",
    "tensorflow": "TensorFlow",
}
"""What the modes are called in tables and plots."""


def sizes(setting: Setting) -> tuple[int, ...]:
    """Powers of ten up to the lesson's size, and that."""
    count = math.ceil(math.log10(setting.size) - 1e-9)
    powers = [10**power for power in range(1, count)]
    return (*powers, setting.size)


# Step 1


def _sweep(setting: Setting) -> tuple[Work, ...]:
    small = [n for n in sizes(setting) if n <= LARGE]
    large = [n for n in sizes(setting) if n > LARGE]
    works: list[Work] = [
        Experiment(cases=_every_way(setting, small), budget_seconds=8.0)
    ]
    if large:
        works.append(
            Experiment(
                cases=_every_way(setting, large),
                budget_seconds=4.0 + 4.0 * (setting.size > 10 * LARGE),
            )
        )
    works.append(_lists(setting))
    info = words.op_named(setting, OP)
    if info is not None and "tensorflow" in info.modes:
        # One case first: where TensorFlow is missing, it is said once.
        works.append(Experiment(cases=(_tensorflow(small[0]),), budget_seconds=1.0))
    return tuple(works)


def _every_way(setting: Setting, elements: Sequence[int]) -> tuple[Case, ...]:
    return tuple(
        case
        for n in elements
        for case in (
            cases.numpy(OP, n),
            cases.jax(setting.device, OP, n, "eager"),
            cases.jax(setting.device, OP, n),
        )
    )


def _lists(setting: Setting) -> Snippet:
    lengths = [n for n in sizes(setting) if n <= LONGEST_LIST]
    setup = f"""\
import math
import random


def sigmoid(xs):
    return [1 / (1 + math.exp(-x)) for x in xs]


random.seed(0)
lists = {{n: [random.gauss() for _ in range(n)] for n in {lengths}}}
"""
    return Snippet(
        title="Sigmoid of a Python list, element by element",
        setup=setup,
        parts=tuple(
            Timed(name=_list_name(n), code=f"sigmoid(lists[{n}])") for n in lengths
        ),
        budget_seconds=2.0,
        device=values.chosen(setting),
    )


def _list_name(elements: int) -> str:
    return f"list of {elements}"


def _tensorflow(elements: int) -> Case:
    return Case(
        op=OP,
        size=elements,
        dtype="float32",
        device=HOST,
        mode="tensorflow",
        inputs="host",
    )


def _with_tensorflow(setting: Setting, outcome: Outcome, done: int) -> Work | None:
    """The other sizes in TensorFlow, where the first one ran."""
    smallest, *others = sizes(setting)
    chosen = [n for n in others if n <= 10 * LARGE]
    if done or not chosen or outcome.find(mode="tensorflow", size=smallest) is None:
        return None
    some = chosen[1::2] or chosen
    tensors = tuple(_tensorflow(n) for n in some)
    return Experiment(cases=tensors, budget_seconds=3.0)


def _curves(setting: Setting, outcome: Outcome) -> Picture | None:
    listed = [(n, outcome.seconds(_list_name(n))) for n in sizes(setting)]
    found = {"Python list": [(n, taken) for n, taken in listed if taken is not None]}
    for mode, label in LABELS.items():
        found[label] = _points(outcome, mode)
    return _picture(found, "sigmoid, seconds per call")


def _points(outcome: Outcome, mode: Mode) -> list[tuple[int, float]]:
    """Elements and seconds of every size in one mode."""
    taken = [
        (one.case.size, words.ready(one))
        for one in outcome.measurements
        if one.case.mode == mode
    ]
    return sorted((size, seconds) for size, seconds in taken if seconds)


def _picture(
    found: dict[str, list[tuple[int, float]]], title: str, marks: tuple[Mark, ...] = ()
) -> Picture | None:
    series = tuple(
        Series(
            label, [float(x) for x, _ in points], [y for _, y in points], points=True
        )
        for label, points in found.items()
        if points
    )
    if not series:
        return None
    return Picture(
        series,
        Axis("elements", log=True, format=fmt.tick_size),
        Axis("", log=True, format=fmt.tick_seconds),
        title,
        marks,
    )


def _both_ends(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (_list_row(setting, outcome), *_mode_rows(setting, outcome))
    few, many = (
        {mode: outcome.ready(mode=mode, size=size) for mode in LABELS}
        for size in (sizes(setting)[0], setting.size)
    )
    if not few["numpy"] or not few["jit"] or not many["numpy"] or not many["jit"]:
        return words.inconclusive(setting, outcome, rows, "both ends", many=True)
    small = few["jit"] >= SURE * few["numpy"]
    large = many["numpy"] >= SURE * many["jit"]
    said = [
        f"For {sizes(setting)[0]} elements NumPy took {words.duration(few['numpy'])}, "
        f"compiled JAX {words.duration(few['jit'])} and eager JAX "
        f"{words.duration(few['eager'])}; for {fmt.count(setting.size)} NumPy took "
        f"{words.duration(many['numpy'])} and compiled JAX "
        f"{words.duration(many['jit'])}.",
        _meaning(small, large) + ("" if small and large else _disturbed(outcome)),
    ]
    return Conclusion(
        rows=rows,
        holds=small and large,
        takeaway=" ".join(said),
        answer=_winner(outcome, few),
    )


def _meaning(small: bool, large: bool) -> str:
    if small and large:
        return (
            "Handing a call over to JAX costs the same however small the array is; "
            "only a large one earns it back."
        )
    if small:
        return (
            "NumPy was not beaten clearly at that end, so the claim does not hold at "
            "this size; a larger one may show where it is."
        )
    return "NumPy did not win clearly with few elements, so the claim fails here."


def _disturbed(outcome: Outcome) -> str:
    """That something else used the CPU, where it did."""
    if any(one.has("contended") for one in outcome.measurements):
        return " Other processes used the CPU meanwhile: try again when it is quiet."
    return ""


def _winner(outcome: Outcome, few: dict[Mode, float | None]) -> int:
    """Index of the choice that was the fastest with few elements."""
    listed = outcome.seconds(_list_name(FEWEST))
    figures = (listed, few["numpy"], few["eager"], few["jit"])
    taken = [math.inf if figure is None else figure for figure in figures]
    return taken.index(min(taken))


def _list_row(setting: Setting, outcome: Outcome) -> Row:
    longest = max(n for n in sizes(setting) if n <= LONGEST_LIST)
    return Row(
        what="Python list",
        yours=_span(
            outcome.seconds(_list_name(sizes(setting)[0])),
            outcome.seconds(_list_name(longest)),
        ),
        remark=f"up to {fmt.count(longest)} elements",
    )


def _mode_rows(setting: Setting, outcome: Outcome) -> list[Row]:
    """A row for each mode, of its smallest and its largest size."""
    rows: list[Row] = []
    for mode, label in LABELS.items():
        points = _points(outcome, mode)
        remark = words.trouble(outcome, mode=mode)
        if mode == "tensorflow" and not points:
            hints = [each.hint for each in outcome.failures if each.case.mode == mode]
            remark = f"{remark} {hints[-1]}" if hints else "not run"
        elif points and points[-1][0] < setting.size:
            remark = f"up to {fmt.count(points[-1][0])} elements"
        ends = (points[0][1], points[-1][1]) if points else (None, None)
        rows.append(Row(what=label, yours=_span(*ends), remark=remark))
    return rows


def _span(first: float | None, last: float | None) -> str:
    if first is None and last is None:
        return fmt.ABSENT
    return f"{words.duration(first)} … {words.duration(last)}"


# Step 2


def _pair(setting: Setting, elements: int) -> tuple[Case, ...]:
    return cases.numpy(OP, elements), cases.jax(setting.device, OP, elements)


def _ends(setting: Setting) -> tuple[int, ...]:
    """Where the search starts: few elements, and two large sizes to choose from."""
    many = min(setting.size, 10 * LARGE)
    return FEWEST, many // 10, many


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
    found = {LABELS[mode]: _points(outcome, mode) for mode in ("numpy", "jit")}
    bracket = _bracket(setting, outcome)
    marks = (Mark(middle(*bracket), "as fast"),) if bracket else ()
    return _picture(found, "seconds per call", marks)


def _overtaken(setting: Setting, outcome: Outcome) -> Conclusion:
    tried = [n for n, _ in _points(outcome, "numpy") if _lead(outcome, n) is not None]
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
                "the curves did not cross between them." + _disturbed(outcome)
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


# Step 3


def _tiny(setting: Setting) -> tuple[Work, ...]:
    tiny = _every_way(setting, (FEWEST, 10 * FEWEST))
    large = cases.jax(setting.device, OP, LARGE // 10)
    return (Experiment(cases=(*tiny, large), budget_seconds=5.0),)


def _all_dispatch(setting: Setting, outcome: Outcome) -> Conclusion:
    few, more, many = FEWEST, 10 * FEWEST, LARGE // 10
    times = {
        mode: (outcome.ready(mode=mode, size=few), outcome.ready(mode=mode, size=more))
        for mode in USUAL_MODES
    }
    speed = words.quotient(outcome.ready(mode="jit", size=many), many)
    work = None if speed is None else few * speed
    rows = (
        *(
            Row(
                what=f"{LABELS[mode]}, {few} and {more} elements",
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


LESSON = Lesson(
    name="small-work",
    title="Small work belongs to NumPy",
    summary="Sigmoid from ten elements up: what a call costs before it computes.",
    size_means="number of elements of the largest array",
    sizes={"cpu": 10_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=10_000,
    maximum=1_000_000_000,
    needs="TensorFlow for its curve.",
    steps=(
        Step(
            title="From ten elements to millions",
            prose="""\
The sigmoid of x is 1 / (1 + exp(−x)): four small steps for each element. Here
it runs on arrays from ten elements up, each size ten times the last:

    a Python list, element by element, as far as that is bearable
    NumPy, four passes over the array
    JAX eagerly, one kernel for each of the four steps
    JAX with jit, one fused kernel
    TensorFlow's own NumPy, where TensorFlow is installed

The JAX arrays live on the device already: no transfer is in these figures.
Both axes of the plot are logarithmic. Look for the flat parts on the left.""",
            question=Question(
                text="Which is the fastest for ten elements?",
                choices=("The list", "NumPy", "JAX, eager", "JAX, jit"),
            ),
            claim=(
                "NumPy is faster than JAX for ten elements, and compiled JAX is faster"
                " for the largest array."
            ),
            works=_sweep,
            follow=_with_tensorflow,
            picture=_curves,
            conclude=_both_ends,
        ),
        Step(
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
        ),
        Step(
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
        ),
    ),
)
