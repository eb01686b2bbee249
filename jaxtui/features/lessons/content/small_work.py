"""Small work belongs to NumPy: what a call costs before it computes anything."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Mapping

from msgspec.structs import replace

from jaxtui.core import format as fmt
from jaxtui.core.format import seconds
from jaxtui.core.model import Case, Experiment, Mode, Snippet, Timed, Work
from jaxtui.features.bench.crossing import Crossing, bisection, last_crossing, ratio_of
from jaxtui.features.lessons.base import Conclusion, Setting, Text
from jaxtui.features.lessons.figures import Figures, MissingError, fastest, over
from jaxtui.features.lessons.trial import Trial, case_of, lesson, snippet_device
from jaxtui.ui.plot import Axis, Mark, Picture, Series

OP = "sigmoid"

FEWEST = 10
"""Elements of the smallest array."""

LARGE = 1_000_000
"""Elements above which the cases take turns among themselves only."""

LABELS: dict[Mode, str] = {"numpy": "NumPy", "eager": "JAX, eager", "jit": "JAX, jit"}
"""The names of the modes in tables and plots."""

PAIR: tuple[Mode, Mode] = ("numpy", "jit")

LONGEST_LIST = 100_000
"""Elements of the longest Python list: a tenth of a second at most."""

SURE = 1.1
"""The ratio above which faster is not by chance."""


def _cases(setting: Setting, elements: int) -> tuple[Case, ...]:
    """The cases of NumPy, eager and compiled JAX at a size."""
    jit = case_of(OP, elements, "jit", setting.device)
    return case_of(OP, elements, "numpy"), replace(jit, mode="eager"), jit


def _times(figures: Figures, mode: Mode) -> dict[int, float]:
    """Return seconds by elements."""
    return {
        measured.case.size: measured.ready.median
        for measured in figures.outcome.measurements
        if measured.case.mode == mode and measured.ready
    }


def _picture(
    curves: Mapping[str, Mapping[int, float]], title: str, *marks: Mark
) -> Picture | None:
    """Curves of seconds over elements; ``None`` without a point."""
    series = []
    for label, times in curves.items():
        if times:
            elements = sorted(times)
            seconds = [times[n] for n in elements]
            series.append(Series(label, [*map(float, elements)], seconds, points=True))
    x = Axis("elements", log=True, format=fmt.tick_size)
    y = Axis("", log=True, format=fmt.tick_seconds)
    return Picture(tuple(series), x, y, title, marks) if series else None


# From ten elements to millions.


def sizes(setting: Setting) -> tuple[int, ...]:
    """Powers of ten up to the lesson's size, and that."""
    count = math.ceil(math.log10(setting.size) - 1e-9)
    powers = [10**power for power in range(1, count)]
    return (*powers, setting.size)


def _lengths(setting: Setting) -> list[int]:
    return [n for n in sizes(setting) if n <= LONGEST_LIST]


def _sweep_works(setting: Setting) -> tuple[Work, ...]:
    works: list[Work] = []
    small = [n for n in sizes(setting) if n <= LARGE]
    large = [n for n in sizes(setting) if n > LARGE]
    large_seconds = 4.0 + 4.0 * (setting.size > 10 * LARGE)
    for some, budget in ((small, 8.0), (large, large_seconds)):
        cases = tuple(case for n in some for case in _cases(setting, n))
        if cases:
            works.append(Experiment(cases=cases, budget_seconds=budget))
    return (*works, _lists(setting))


def _lists(setting: Setting) -> Snippet:
    setup = f"""\
import math
import random


def sigmoid(xs):
    return [1 / (1 + math.exp(-x)) for x in xs]


random.seed(0)
lists = {{n: [random.gauss(0.0, 1.0) for _ in range(n)] for n in {_lengths(setting)}}}
"""
    parts = (
        Timed(name=_list(n), code=f"sigmoid(lists[{n}])") for n in _lengths(setting)
    )
    return Snippet(
        title="Sigmoid of a Python list, element by element",
        setup=setup,
        parts=tuple(parts),
        budget_seconds=2.0,
        device=snippet_device(setting),
    )


def _list(elements: int) -> str:
    return f"list of {elements}"


def _curves(figures: Figures) -> dict[str, dict[int, float]]:
    lengths = (n for n in _lengths(figures.setting) if figures.has(_list(n)))
    lists = {n: figures[_list(n)] for n in lengths}
    modes = {label: _times(figures, mode) for mode, label in LABELS.items()}
    return {"Python list": lists, **modes}


def _sweep(figures: Figures) -> Conclusion:
    curves, most = _curves(figures), figures.setting.size
    for label in LABELS.values():
        if not curves[label].keys() >= {FEWEST, most}:
            raise MissingError(label)
    _, numpy, eager, jit = curves.values()
    numpy_wins = jit[FEWEST] >= SURE * numpy[FEWEST]
    jit_wins = numpy[most] >= SURE * jit[most]
    why = (
        "Dispatching a call to JAX costs the same however small the array is; only a"
        " large array makes up for it."
    )
    if not jit_wins:
        why = "For the largest array compiled JAX was not clearly faster."
    if not numpy_wins:
        why = "For few elements NumPy was not clearly faster."
    sentences = (
        f"For {FEWEST} elements NumPy took {seconds(numpy[FEWEST])}, compiled JAX"
        f" {seconds(jit[FEWEST])} and eager JAX {seconds(eager[FEWEST])}; for"
        f" {fmt.count(most)} NumPy took {seconds(numpy[most])} and compiled JAX"
        f" {seconds(jit[most])}.",
        why,
    )
    rows = []
    for label, times in curves.items():
        if times:
            least, many = min(times), max(times)
            remark = f"up to {fmt.count(many)} elements" if many < most else ""
            ends = fmt.figure(times[least]), " … ", fmt.figure(times[many])
            rows.append((label, ends, "", remark))
    few = (side[FEWEST] for side in (numpy, eager, jit))
    answer = fastest(figures.get(_list(FEWEST)), *few)
    table = figures.table(*rows)
    return Conclusion(numpy_wins and jit_wins, answer, table, sentences)


# Where JAX overtakes.


def _pairs(setting: Setting, budget: float, *elements: int) -> Experiment:
    cases = (case for n in elements for case in _cases(setting, n)[::2])
    return Experiment(cases=tuple(cases), budget_seconds=budget)


def _first_sizes(setting: Setting) -> tuple[int, ...]:
    """Return the search's first sizes: few elements, and two large sizes."""
    many = min(setting.size, 10 * LARGE)
    return FEWEST, many // 10, many


def _crossing(figures: Figures) -> Crossing | None:
    """The last size at which compiled JAX overtakes, as far as it is known."""
    numpy, jit = (
        {m.case.size: m for m in figures.outcome.measurements if m.case.mode == mode}
        for mode in PAIR
    )
    both = sorted(numpy.keys() & jit.keys())
    ratios = ((n, ratio_of(numpy[n], jit[n])) for n in both)
    crossing = last_crossing([(n, ratio) for n, ratio in ratios if ratio])
    return crossing if crossing and crossing.faster == "second" else None


def _next_search(figures: Figures, done: int) -> Work | None:
    crossing = _crossing(figures)
    if crossing is None or done >= 8:
        return None
    between = bisection(crossing)
    return None if between is None else _pairs(figures.setting, 1.2, between)


def _crossing_picture(figures: Figures) -> Picture | None:
    curves = {LABELS[mode]: _times(figures, mode) for mode in PAIR}
    crossing = _crossing(figures)
    marks = [Mark(crossing.at, "equal")] if crossing and crossing.at else []
    return _picture(curves, "time per call", *marks)


def _overtaking(figures: Figures) -> Conclusion:
    few, *_, many = _first_sizes(figures.setting)
    numpy, jit = (_times(figures, mode) for mode in PAIR)
    tried = sorted(numpy.keys() & jit.keys())
    if few not in tried or many not in tried:
        raise MissingError(f"{fmt.count(few)} or {fmt.count(many)} elements")
    numpy_first = numpy[few] < jit[few]
    rows = []
    for n in tried:
        pair = ("NumPy ", fmt.figure(numpy[n])), "", ("jit ", fmt.figure(jit[n]))
        rows.append((f"{fmt.count(n)} elements", *pair))
    table = figures.table(*rows)
    if crossing := _crossing(figures):
        below, above = fmt.count(crossing.below), fmt.count(crossing.above)
        sentences = (
            f"Compiled JAX overtakes NumPy between {below} and {above} elements, where"
            f" a call takes about {seconds(jit[crossing.above])}.",
            "It depends on the machine, the op and what else runs: remember the order"
            " of magnitude, and measure.",
        )
        ends = (crossing.at,) if crossing.at else (crossing.below, crossing.above)
        answers = {bisect((1000, 100_000), size) for size in ends}
        answer = answers.pop() if len(answers) == 1 else None
        return Conclusion(True, answer, table, sentences)
    sentence = (
        f"NumPy was faster for {few} elements, and compiled JAX not clearly for"
        f" {fmt.count(many)}: there is no crossing in between."
        if numpy_first
        else f"Compiled JAX was faster already for {few} elements: there is no size for"
        " which NumPy is."
    )
    return Conclusion(False, 3 if numpy_first else 0, table, [sentence])


# Below ten microseconds, everything is dispatch.


def _tiny_cases(setting: Setting) -> Mapping[str, Case]:
    cases: dict[str, Case] = {}
    for n in (FEWEST, 10 * FEWEST):
        names = (f"NumPy {n}", f"eager {n}", f"jit {n}")
        cases |= zip(names, _cases(setting, n), strict=True)
    return {**cases, "jit large": case_of(OP, LARGE // 10, "jit", setting.device)}


def _dispatch(figures: Figures) -> Conclusion:
    eager = over(figures["eager 100"], figures["eager 10"])
    jit, ten = over(figures["jit 100"], figures["jit 10"]), figures["jit 10"]
    work = FEWEST * over(figures["jit large"], LARGE // 10)
    holds = max(eager, jit) < 2

    def row(who: str, name: str) -> tuple[str, Text, str, Text]:
        cells = figures.cell(f"{name} 10"), " and ", figures.cell(f"{name} 100")
        why = figures.why(f"{name} 10")
        return f"{who}, 10 and 100 elements", cells, "", why

    rows = figures.table(
        row("NumPy", "NumPy"),
        row("JAX, eager", "eager"),
        row("JAX, jit", "jit"),
        ("the work in 10 elements", work, "", "at the speed of a large array"),
    )
    rest = (
        f"Of the {seconds(ten)} of the compiled call for 10 elements, the work takes"
        f" {seconds(work)}: the rest is dispatch."
    )
    sentences = (
        f"For ten times the elements eager JAX took {eager:.1f} times as long, compiled"
        f" JAX {jit:.1f} times.",
        rest if holds else "",
        "Eager JAX dispatches each of its four steps:"
        f" {figures.ratio('eager 10', 'jit 10')} the time of the compiled call.",
    )
    return Conclusion(holds, bisect((2, 5), jit), rows, sentences)


LESSON = lesson(
    "small-work",
    Trial(
        _sweep,
        works=_sweep_works,
        picture=lambda figures: _picture(_curves(figures), "sigmoid, time per call"),
    ),
    Trial(
        _overtaking,
        works=lambda here: (_pairs(here, 4.0, *_first_sizes(here)),),
        follow=_next_search,
        picture=_crossing_picture,
    ),
    Trial(_dispatch, cases=_tiny_cases, budget=5.0),
    sizes={"cpu": 10_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    limits=(10_000, 1_000_000_000),
)
