"""Small work belongs to NumPy: what a call costs before it computes anything."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from jaxtui import format as fmt
from jaxtui.analysis.crossing import Crossing, bisection, last_crossing, ratio_of
from jaxtui.features.lessons.base import Conclusion, Row, Setting, Text
from jaxtui.features.lessons.figures import NAN, Figures, at_least, fastest, over, which
from jaxtui.features.lessons.outcome import Outcome
from jaxtui.features.lessons.trial import (
    Trial,
    jax_case,
    lesson,
    numpy_case,
    snippet_device,
)
from jaxtui.format import seconds
from jaxtui.model import Case, Experiment, Mode, Snippet, Timed, Work
from jaxtui.plot import Axis, Mark, Picture, Series

OP = "sigmoid"

FEWEST = 10
"""Elements of the smallest array."""

LARGE = 1_000_000
"""Elements above which the cases take turns among themselves only."""

LABELS: dict[Mode, str] = {
    "numpy": "NumPy",
    "eager": "JAX, eager",
    "jit": "JAX, jit",
    "tensorflow": "TensorFlow",
}
"""The names of the modes in tables and plots."""

LONGEST_LIST = 100_000
"""Elements of the longest Python list: a tenth of a second at most."""

SURE = 1.1
"""The ratio above which faster is not by chance."""

SEARCHES = 8
"""Sizes that are tried at most."""

FLAT = 2.0
"""Ten times the work in less than so many times the time: hardly any of it is work."""


def _cases(setting: Setting, elements: Sequence[int]) -> tuple[Case, ...]:
    """The cases of NumPy, eager and compiled JAX at these sizes."""
    return tuple(
        case
        for n in elements
        for case in (
            numpy_case(OP, n),
            jax_case(setting.device, OP, n, "eager"),
            jax_case(setting.device, OP, n),
        )
    )


Points = Sequence[tuple[int, float]]


def _points(outcome: Outcome, mode: Mode) -> Points:
    points = [
        (measured.case.size, measured.ready.median)
        for measured in outcome.measurements
        if measured.case.mode == mode and measured.ready
    ]
    return sorted((size, seconds) for size, seconds in points if seconds)


def _picture(
    curves: Mapping[str, Points], title: str, marks: tuple[Mark, ...] = ()
) -> Picture | None:
    """Curves of seconds over elements; ``None`` without a point."""
    series = tuple(
        Series(
            label, [float(x) for x, _ in points], [y for _, y in points], points=True
        )
        for label, points in curves.items()
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


# From ten elements to millions.


def sizes(setting: Setting) -> tuple[int, ...]:
    """Powers of ten up to the lesson's size, and that."""
    count = math.ceil(math.log10(setting.size) - 1e-9)
    powers = [10**power for power in range(1, count)]
    return (*powers, setting.size)


def _sweep_works(setting: Setting) -> tuple[Work, ...]:
    small = [n for n in sizes(setting) if n <= LARGE]
    large = [n for n in sizes(setting) if n > LARGE]
    works: list[Work] = [Experiment(cases=_cases(setting, small), budget_seconds=8.0)]
    if large:
        budget = 4.0 + 4.0 * (setting.size > 10 * LARGE)
        works.append(Experiment(cases=_cases(setting, large), budget_seconds=budget))
    works.append(_lists(setting))
    if any(op.name == OP and "tensorflow" in op.modes for op in setting.ops):
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
lists = {{n: [random.gauss(0.0, 1.0) for _ in range(n)] for n in {lengths}}}
"""
    return Snippet(
        title="Sigmoid of a Python list, element by element",
        setup=setup,
        parts=tuple(Timed(name=_list(n), code=f"sigmoid(lists[{n}])") for n in lengths),
        budget_seconds=2.0,
        device=snippet_device(setting),
    )


def _list(elements: int) -> str:
    return f"list of {elements}"


def _tensorflow(elements: int) -> Case:
    return msgspec.structs.replace(numpy_case(OP, elements), mode="tensorflow")


def _with_tensorflow(setting: Setting, outcome: Outcome, done: int) -> Work | None:
    """Return the other sizes in TensorFlow, where the first one ran."""
    smallest, *larger = sizes(setting)
    chosen = [n for n in larger if n <= 10 * LARGE]
    if done or not chosen or outcome.find(mode="tensorflow", size=smallest) is None:
        return None
    tensors = tuple(_tensorflow(n) for n in chosen[1::2] or chosen)
    return Experiment(cases=tensors, budget_seconds=3.0)


def _sweep_picture(setting: Setting, outcome: Outcome) -> Picture | None:
    listed = [(n, outcome.seconds(_list(n))) for n in sizes(setting)]
    curves: dict[str, Points] = {
        "Python list": [(n, duration) for n, duration in listed if duration is not None]
    }
    curves |= {label: _points(outcome, mode) for mode, label in LABELS.items()}
    return _picture(curves, "sigmoid, time per call")


def _sweep(figures: Figures) -> Conclusion:
    setting, outcome = figures.setting, figures.outcome
    fewest, most = sizes(setting)[0], setting.size

    def taken(mode: Mode, n: int) -> float:
        return outcome.ready(mode=mode, size=n) or NAN

    few = {mode: taken(mode, fewest) for mode in LABELS}
    many = {mode: taken(mode, most) for mode in LABELS}
    numpy_wins = at_least(few["jit"], SURE, few["numpy"])
    jit_wins = at_least(many["numpy"], SURE, many["jit"])
    times = [figures[_list(fewest)], few["numpy"], few["eager"], few["jit"]]
    if numpy_wins is None or jit_wins is None:
        return Conclusion(rows=_span_rows(figures), holds=None)
    if numpy_wins and jit_wins:
        why = (
            "Dispatching a call to JAX costs the same however small the array is; "
            "only a large array makes up for it."
        )
    elif numpy_wins:
        why = (
            "Compiled JAX was not clearly faster for the largest array; for a larger "
            "one it may be."
        )
    else:
        why = "NumPy was not clearly faster for few elements."
    return Conclusion(
        holds=numpy_wins and jit_wins,
        answer=fastest(*times),
        rows=_span_rows(figures),
        sentences=(
            f"For {fewest} elements NumPy took {seconds(few['numpy'])}, compiled JAX "
            f"{seconds(few['jit'])} and eager JAX {seconds(few['eager'])}; for "
            f"{fmt.count(most)} NumPy took {seconds(many['numpy'])} and compiled JAX "
            f"{seconds(many['jit'])}.",
            why,
        ),
    )


def _span_rows(figures: Figures) -> tuple[Row, ...]:
    """A row for each way, of its smallest and its largest size.

    TensorFlow has one where it is installed.
    """
    setting, outcome = figures.setting, figures.outcome
    lengths = [n for n in sizes(setting) if n <= LONGEST_LIST]
    ends = [outcome.seconds(_list(n)) for n in (lengths[0], lengths[-1])]
    remark: Text = f"up to {fmt.count(lengths[-1])} elements"
    rows = [Row("Python list", _ends(*ends), remark=remark)]
    for mode, label in LABELS.items():
        points = _points(outcome, mode)
        if mode == "tensorflow" and not points:
            continue
        failures = [
            failure for failure in outcome.failures if failure.case.mode == mode
        ]
        remark = (failures[-1].remark,) if failures else ()
        if points and points[-1][0] < setting.size:
            remark = f"up to {fmt.count(points[-1][0])} elements"
        durations = (points[0][1], points[-1][1]) if points else (None, None)
        rows.append(Row(label, _ends(*durations), remark=remark))
    return tuple(rows)


def _ends(first: float | None, last: float | None) -> Text:
    if first is None and last is None:
        return fmt.ABSENT
    return fmt.figure(first), " … ", fmt.figure(last)


# Where JAX overtakes.


def _pair(setting: Setting, elements: int) -> tuple[Case, ...]:
    return numpy_case(OP, elements), jax_case(setting.device, OP, elements)


def _first_sizes(setting: Setting) -> tuple[int, ...]:
    """Return the search's first sizes: few elements, and two large sizes."""
    many = min(setting.size, 10 * LARGE)
    return FEWEST, many // 10, many


def _search_works(setting: Setting) -> tuple[Work, ...]:
    pairs = tuple(case for n in _first_sizes(setting) for case in _pair(setting, n))
    return (Experiment(cases=pairs, budget_seconds=4.0),)


def _lead(outcome: Outcome, elements: int) -> float | None:
    """Return NumPy's time over that of compiled JAX; ``None`` if not measured."""
    numpy = outcome.ready(mode="numpy", size=elements)
    jit = outcome.ready(mode="jit", size=elements)
    return None if numpy is None or jit is None else over(numpy, jit)


def _crossing(outcome: Outcome) -> Crossing | None:
    """The last size at which compiled JAX overtakes, as far as it is known."""
    pairs = (
        (measured, outcome.find(mode="jit", size=measured.case.size))
        for measured in outcome.measurements
        if measured.case.mode == "numpy"
    )
    ratios = [
        (numpy.case.size, ratio)
        for numpy, jit in pairs
        if jit is not None and (ratio := ratio_of(numpy, jit))
    ]
    crossing = last_crossing(sorted(ratios))
    return crossing if crossing and crossing.faster == "second" else None


def _next_search(setting: Setting, outcome: Outcome, done: int) -> Work | None:
    crossing = _crossing(outcome)
    if crossing is None or done >= SEARCHES:
        return None
    if (between := bisection(crossing)) is None:
        return None
    return Experiment(cases=_pair(setting, between), budget_seconds=1.2)


def _crossing_picture(setting: Setting, outcome: Outcome) -> Picture | None:
    modes: tuple[Mode, ...] = ("numpy", "jit")
    curves = {LABELS[mode]: _points(outcome, mode) for mode in modes}
    crossing = _crossing(outcome)
    marks = (Mark(crossing.at, "equal"),) if crossing else ()
    return _picture(curves, "time per call", marks)


def _tried_rows(outcome: Outcome) -> tuple[Row, ...]:
    return tuple(
        Row(
            f"{fmt.count(n)} elements",
            ("NumPy ", fmt.figure(duration)),
            remark=("jit ", fmt.figure(outcome.ready(mode="jit", size=n))),
        )
        for n, duration in _points(outcome, "numpy")
        if _lead(outcome, n) is not None
    )


def _overtaking(figures: Figures) -> Conclusion:
    setting, outcome = figures.setting, figures.outcome
    few, *_, many = _first_sizes(setting)
    lead, last = _lead(outcome, few), _lead(outcome, many)
    rows, crossing = _tried_rows(outcome), _crossing(outcome)
    if lead is None or last is None:
        return Conclusion(rows=rows, holds=None)
    numpy_first = lead < 1
    if crossing is not None:
        at = fmt.seconds(outcome.ready(mode="jit", size=crossing.above))
        sentences = (
            "Compiled JAX overtakes NumPy between "
            f"{fmt.count(crossing.below)} and {fmt.count(crossing.above)} elements, "
            f"where a call takes about {at}.",
            "It depends on the machine, the op and what else runs: remember the order "
            "of magnitude, and measure.",
        )
        return Conclusion(
            rows=rows,
            holds=True,
            answer=which(crossing.at, 1000, 100_000),
            sentences=sentences,
        )
    sentence = (
        (
            f"NumPy was faster for {few} elements, and compiled JAX not clearly for "
            f"{fmt.count(many)}: there is no crossing in between."
        )
        if numpy_first
        else (
            f"Compiled JAX was faster already for {few} elements: there is no size for "
            "which NumPy is."
        )
    )
    return Conclusion(
        rows=rows,
        holds=False,
        answer=3 if numpy_first else 0,
        sentences=(sentence,),
    )


# Below ten microseconds, everything is dispatch.


def _tiny_cases(setting: Setting) -> Mapping[str, Case]:
    cases: dict[str, Case] = {}
    for n in (FEWEST, 10 * FEWEST):
        numpy, eager, jit = _cases(setting, (n,))
        cases |= {f"NumPy {n}": numpy, f"eager {n}": eager, f"jit {n}": jit}
    return {**cases, "jit large": jax_case(setting.device, OP, LARGE // 10)}


def _dispatch(figures: Figures) -> Conclusion:
    ten = figures["jit 10"]
    work = FEWEST * over(figures["jit large"], LARGE // 10)
    eager = over(figures["eager 100"], figures["eager 10"])
    jit = over(figures["jit 100"], ten)
    holds = max(eager, jit) < FLAT
    rest = (
        f"Of the {seconds(ten)} of the compiled call for 10 elements, the work takes "
        f"{seconds(work)}: the rest is dispatch."
    )

    def pair(what: str, who: str) -> Row:
        cells = figures.cell(f"{who} 10"), " and ", figures.cell(f"{who} 100")
        return Row(f"{what}, 10 and 100 elements", cells, (), figures.why(f"{who} 10"))

    return Conclusion(
        holds=holds,
        answer=which(jit, FLAT, 5),
        rows=(
            pair("NumPy", "NumPy"),
            pair("JAX, eager", "eager"),
            pair("JAX, jit", "jit"),
            Row(
                "the work in 10 elements",
                (fmt.figure(work),),
                remark="at the speed of a large array",
            ),
        ),
        sentences=(
            f"For ten times the elements eager JAX took {eager:.1f} times as long, "
            f"compiled JAX {jit:.1f} times.",
            rest if holds and not figures.missing("jit large") else "",
            "Eager JAX dispatches each of its four steps: "
            f"{figures.ratio('eager 10', 'jit 10')} the time of the compiled call.",
        ),
    )


LESSON = lesson(
    "small-work",
    {
        "From ten elements to millions": Trial(
            _sweep,
            works=_sweep_works,
            follow=_with_tensorflow,
            picture=_sweep_picture,
        ),
        "Where JAX overtakes": Trial(
            _overtaking,
            works=_search_works,
            follow=_next_search,
            picture=_crossing_picture,
        ),
        "Below ten microseconds, everything is dispatch": Trial(
            _dispatch,
            cases=_tiny_cases,
            budget=5.0,
            needs=("eager 10", "eager 100", "jit 10", "jit 100"),
        ),
    },
    sizes={"cpu": 10_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=10_000,
    maximum=1_000_000_000,
)
