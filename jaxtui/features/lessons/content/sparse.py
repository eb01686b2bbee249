"""Sparse arrays, and control flow that a compiler can see."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from itertools import pairwise

from jaxtui.core import format as fmt
from jaxtui.core.format import bytes_text, figure, seconds
from jaxtui.features.bench.crossing import crossing_size
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.figures import Figures, count, over, times
from jaxtui.features.lessons.trial import Code, Trial, lesson, size
from jaxtui.ui.plot import Axis, Mark, Picture, Series

DENSITIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""Shares of the elements that are not zero."""


def _stored(figures: Figures) -> Conclusion:
    entries, small, dense = (
        figures[name] for name in ("entries", "sparse bytes", "dense bytes")
    )
    item = over(small, entries)
    off = over(figures["difference"], figures["size"])
    split = "4 for the value, 8 for row and column"
    rows = figures.table(
        ("b", "b"),
        ("elements that are stored", (count(entries),)),
        ("bytes as BCOO", figure(small, "memory"), "", split),
        ("bytes as a dense array", figure(dense, "memory")),
        ("b @ v against dense @ v", (fmt.error(off),), "", "relative"),
    )
    sentences = (
        f"{count(entries)} elements take {bytes_text(small)}, the dense matrix"
        f" {bytes_text(dense)}: {times(over(dense, small))} as much.",
        f"At {item:.0f} bytes per element they need the same at a density of"
        f" {fmt.percent(4 / item)}. The products agree to {fmt.error(off)}.",
    )
    answer = 1 if 10 <= item <= 14 else 0 if item < 10 else 2
    return Conclusion(small < dense and off < 1e-3, answer, rows, sentences)


# Where sparse wins.


def _name(density: float) -> str:
    return f"sparse {fmt.percent(density)}"


def crossover(points: Sequence[tuple[float, float]], level: float) -> float | None:
    """Return the point at which a curve first rises to a level, by interpolation of the
    logarithms.

    ``None`` where it begins above or never gets there.
    """
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 < level <= y1:
            return crossing_size((x0, x1), (math.log(y0 / level), math.log(y1 / level)))
    return None


def _crossing(figures: Figures) -> Conclusion:
    dense, names = figures["dense"], [_name(density) for density in DENSITIES]
    points = [figures[name] for name in names]
    at = crossover([*zip(DENSITIES, points, strict=True)], dense)
    wins, loses = dense >= 1.5 * points[0], points[-1] >= 1.5 * dense
    beside = [f"{figures.ratio(name, 'dense')} the dense product" for name in names]
    where = "not between 0.1 % and 30 %" if at is None else "interpolated"
    rows = figures.table(
        ("dense", "dense", "", "any density"),
        *(
            (name.replace("sparse", "BCOO,"), name, "", remark)
            for name, remark in zip(names, beside, strict=True)
        ),
        ("they meet at", (fmt.percent(at),), "", where),
    )
    sentences = [
        f"At 0.1 % BCOO took {seconds(points[0])}, at 30 % {seconds(points[-1])}; the"
        f" dense product takes {seconds(dense)} at any density."
    ]
    if at is not None:
        sentences.append(
            f"They meet at about {fmt.percent(at)}. Each stored element costs a read"
            " through its index, so sparse saves time only at a far lower density than"
            " it saves memory."
        )
        if not wins or not loses:
            sentences.append(
                "At one end the gap is smaller than 1.5 times at this size."
            )
    elif not wins:
        sentences.append("Here BCOO saves memory, but no time.")
    never = 2 if wins else None
    answer = never if at is None else bisect((0.1, 0.4), at)
    return Conclusion(wins and loses and at is not None, answer, rows, sentences)


def _density_picture(figures: Figures) -> Picture | None:
    timed = [density for density in DENSITIES if figures.has(_name(density))]
    points = [(density, figures[_name(density)]) for density in timed]
    if len(points) < 2 or not figures.has("dense"):
        return None
    dense = figures["dense"]
    at = crossover(points, dense)
    return Picture(
        (
            Series("BCOO", timed, [seconds for _, seconds in points], points=True),
            Series("dense", timed, [dense] * len(timed)),
        ),
        Axis("density", log=True, format=fmt.percent, ticks=timed),
        Axis("time", log=True, format=fmt.tick_seconds),
        "Product by density",
        () if at is None else (Mark(at, fmt.percent(at)),),
    )


# Branches under jit.

CONDS, SWITCHES = ("cond -3", "cond 2"), ("switch 0", "switch 1", "switch 2")


def _branches(figures: Figures) -> Conclusion:
    def equal(*names: str) -> str:
        return f"{sum(bool(figures[name]) for name in names)} of {len(names)} equal"

    raised = figures.raised("jit if", "TracerBoolConversionError")
    as_claimed = raised and all(figures[name] for name in (*CONDS, *SWITCHES))
    rows = figures.table(
        ("if, eager", "eager if"),
        ("if x > 0: under jit", "jit if"),
        ("functions[i] under jit", "jit list"),
        ("lax.cond, like Python's if", (equal(*CONDS),)),
        ("lax.switch, like functions[i]", (equal(*SWITCHES),)),
        ("functions[i] with i static", "static", "", "compiles again for each i"),
    )
    sentences = [
        f"Under jit the if gave {figures.text('jit if')}; of the lax forms"
        f" {equal(*CONDS, *SWITCHES)} Python's."
    ]
    if as_claimed:
        sentences = [
            f"Eagerly the if works and gives {figures.text('eager if')}.",
            "Under jit it raised a TracerBoolConversionError: while JAX traces, x has a"
            " shape and a dtype but no value, and an if needs one. lax.cond and"
            " lax.switch compile all branches, the device picks one as it runs, and the"
            " values equal Python's.",
        ]
    answer = 1 if raised else 0 if figures.succeeded("jit if") else None
    holds = as_claimed and figures.succeeded("eager if")
    return Conclusion(holds, answer, rows, sentences)


def _loops(figures: Figures) -> Conclusion:
    unrolled, looped = figures["Python operations"], figures["fori operations"]
    python, fori = figures["Python compile"], figures["fori compile"]
    apart, traced = figures["difference"], "in the traced program, the jaxpr"
    rows = figures.table(
        ("Python for: operations", (count(unrolled),), "", traced),
        ("fori_loop: operations", (count(looped),), "", "one, with the body in it"),
        ("Python for: compile", "Python compile", "", "a single time, as it is cold"),
        ("fori_loop: compile", "fori compile"),
        ("Python for: one call", "Python run"),
        ("fori_loop: one call", "fori run"),
        ("largest difference", (fmt.error(apart),)),
    )
    sentences = (
        f"The Python loop ran while JAX traced, and left {count(unrolled)} operations;"
        f" fori_loop is {count(looped)}, whatever the number of steps.",
        f"Compiling took {seconds(python)} against {seconds(fori)},"
        f" {times(over(python, fori))} as long. Which one runs faster depends on the"
        " body and the backend.",
    )
    longer = unrolled >= 200 * looped and python >= 2 * fori
    answer = bisect((1.5, 200), over(unrolled, looped))
    return Conclusion(longer and apart < 1e-3, answer, rows, sentences)


LESSON = lesson(
    "sparse",
    Trial(_stored, Code(4.0, size)),
    Trial(_crossing, Code(10.0, size), picture=_density_picture),
    Trial(_branches, Code(4.0)),
    Trial(_loops, Code(5.0)),
    sizes={"cpu": 1000, "gpu": 4000, "tpu": 2000},
    limits=(200, 10_000),
)
