"""Step 1: From ten elements to millions."""

from __future__ import annotations

import math

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.small_work import ways
from jaxtui.model import HOST, Case, Experiment, Mode, Snippet, Timed, Work
from jaxtui.plot import Picture

LONGEST_LIST = 100_000
"""Elements of the longest Python list: a tenth of a second at most."""

SURE = 1.1
"""How many times faster is faster, and not by chance."""


def sizes(setting: Setting) -> tuple[int, ...]:
    """Powers of ten up to the lesson's size, and that."""
    count = math.ceil(math.log10(setting.size) - 1e-9)
    powers = [10**power for power in range(1, count)]
    return (*powers, setting.size)


def _sweep(setting: Setting) -> tuple[Work, ...]:
    small = [n for n in sizes(setting) if n <= ways.LARGE]
    large = [n for n in sizes(setting) if n > ways.LARGE]
    works: list[Work] = [
        Experiment(cases=ways.every_way(setting, small), budget_seconds=8.0)
    ]
    if large:
        works.append(
            Experiment(
                cases=ways.every_way(setting, large),
                budget_seconds=4.0 + 4.0 * (setting.size > 10 * ways.LARGE),
            )
        )
    works.append(_lists(setting))
    info = words.op_named(setting, ways.OP)
    if info is not None and "tensorflow" in info.modes:
        # One case first: where TensorFlow is missing, it is said once.
        works.append(Experiment(cases=(_tensorflow(small[0]),), budget_seconds=1.0))
    return tuple(works)


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
        op=ways.OP,
        size=elements,
        dtype="float32",
        device=HOST,
        mode="tensorflow",
        inputs="host",
    )


def _with_tensorflow(setting: Setting, outcome: Outcome, done: int) -> Work | None:
    """The other sizes in TensorFlow, where the first one ran."""
    smallest, *others = sizes(setting)
    chosen = [n for n in others if n <= 10 * ways.LARGE]
    if done or not chosen or outcome.find(mode="tensorflow", size=smallest) is None:
        return None
    some = chosen[1::2] or chosen
    tensors = tuple(_tensorflow(n) for n in some)
    return Experiment(cases=tensors, budget_seconds=3.0)


def _curves(setting: Setting, outcome: Outcome) -> Picture | None:
    listed = [(n, outcome.seconds(_list_name(n))) for n in sizes(setting)]
    found = {"Python list": [(n, taken) for n, taken in listed if taken is not None]}
    for mode, label in ways.LABELS.items():
        found[label] = ways.points(outcome, mode)
    return ways.picture(found, "sigmoid, seconds per call")


def _both_ends(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (_list_row(setting, outcome), *_mode_rows(setting, outcome))
    few, many = (
        {mode: outcome.ready(mode=mode, size=size) for mode in ways.LABELS}
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
        _meaning(small, large) + ("" if small and large else ways.disturbed(outcome)),
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


def _winner(outcome: Outcome, few: dict[Mode, float | None]) -> int:
    """Index of the choice that was the fastest with few elements."""
    listed = outcome.seconds(_list_name(ways.FEWEST))
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
    for mode, label in ways.LABELS.items():
        points = ways.points(outcome, mode)
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


STEP = Step(
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
)
