"""Sparse arrays, and control flow that a compiler can see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.analysis.crossing import crossing_size
from jaxtui.features.lessons.base import Conclusion, Row, Setting
from jaxtui.features.lessons.figures import Figures, count, over, times, which
from jaxtui.features.lessons.outcome import Outcome
from jaxtui.features.lessons.trial import Code, Trial, lesson, size
from jaxtui.format import bytes_text, seconds
from jaxtui.plot import Axis, Mark, Picture, Series

DENSITIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""Shares of the elements that are not zero."""

CLEAR = 1.5
"""The factor by which one product must be faster or slower than the other."""

LOOP_STEPS = 200

FAR = 2.0
"""The factor by which the unrolled loop must take longer to compile."""


def _stored(figures: Figures) -> Conclusion:
    names = ("entries", "sparse bytes", "dense bytes", "difference", "size")
    entries, small, dense, difference, largest = (figures[name] for name in names)
    item, off = over(small, entries) if entries else math.inf, over(difference, largest)
    meet = fmt.percent(4 / item)
    remark = "4 for the value, 8 for row and column"
    return Conclusion(
        holds=small < dense and off < 1e-3,
        answer=1 if 10 <= item <= 14 else 0 if item < 10 else 2,
        rows=(
            figures.row("b", "b"),
            Row("elements that are stored", count(entries)),
            Row("bytes as BCOO", (fmt.figure(small, "memory"),), remark=remark),
            Row("bytes as a dense array", (fmt.figure(dense, "memory"),)),
            Row("b @ v against dense @ v", fmt.error(off), remark="relative"),
        ),
        sentences=(
            f"{count(entries)} elements take {bytes_text(small)}, the dense matrix "
            f"{bytes_text(dense)}: {times(over(dense, small))} as much.",
            f"At {item:.0f} bytes per element they need the same at a density of "
            f"{meet}. The products agree to {fmt.error(off)}.",
        ),
    )


# Where sparse wins.


def _name(density: float) -> str:
    return f"sparse {fmt.percent(density)}"


THIN, THICK = _name(DENSITIES[0]), _name(DENSITIES[-1])


def _timed_densities(outcome: Outcome) -> list[tuple[float, float]]:
    """The densities that have been timed, with their seconds."""
    timed = ((density, outcome.seconds(_name(density))) for density in DENSITIES)
    return [(density, seconds) for density, seconds in timed if seconds]


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
    points, dense = _timed_densities(figures.outcome), figures["dense"]
    complete = not figures.missing("dense") and len(points) == len(DENSITIES)
    at = crossover(points, dense) if complete else None
    wins = dense >= CLEAR * figures[THIN]
    met = at is not None
    holds = wins and figures[THICK] >= CLEAR * dense and met

    def row(density: float) -> Row:
        remark = f"{figures.ratio(_name(density), 'dense')} the dense product"
        what = f"BCOO, {fmt.percent(density)}"
        return figures.row(what, _name(density), remark=remark)

    never = 2 if wins else None
    where = "interpolated" if met else "not between 0.1 % and 30 %"
    return Conclusion(
        holds=holds,
        answer=never if at is None else which(at, 0.1, 0.4),
        rows=(
            figures.row("dense", "dense", remark="any density"),
            *map(row, DENSITIES),
            Row("they meet at", fmt.percent(at), remark=where),
        ),
        sentences=(
            f"At 0.1 % BCOO took {seconds(figures[THIN])}, at 30 % "
            f"{seconds(figures[THICK])}; the dense product takes {seconds(dense)} at "
            "any density.",
            f"They meet at about {fmt.percent(at)}. Each stored element costs a read "
            "through its index, so sparse saves time only at a far lower density than "
            "it saves memory."
            if met
            else "",
            "Here BCOO saves memory, but no time." if not met and not wins else "",
            "At one end the gap is smaller than 1.5 times at this size."
            if met and not holds
            else "",
        ),
    )


def _density_picture(setting: Setting, outcome: Outcome) -> Picture | None:
    points, dense = _timed_densities(outcome), outcome.seconds("dense")
    if len(points) < 2 or dense is None:
        return None
    densities = [density for density, _ in points]
    at = crossover(points, dense)
    return Picture(
        series=(
            Series(
                label="BCOO",
                x=densities,
                y=[seconds for _, seconds in points],
                points=True,
            ),
            Series(label="dense", x=densities, y=[dense] * len(densities)),
        ),
        x=Axis(label="density", log=True, format=fmt.percent, ticks=densities),
        y=Axis(label="time", log=True, format=fmt.tick_seconds),
        title="Product by density",
        marks=() if at is None else (Mark(at=at, label=fmt.percent(at)),),
    )


# Branches under jit.

CONDS, SWITCHES = ("cond -3", "cond 2"), ("switch 0", "switch 1", "switch 2")


def _branches(figures: Figures) -> Conclusion:
    row, forms = figures.row, (*CONDS, *SWITCHES)

    def equal(*names: str) -> str:
        return f"{sum(map(figures.is_true, names))} of {len(names)} equal"

    raised = figures.failed_with("jit if", "TracerBoolConversionError")
    as_claimed = raised and figures.is_true(*forms)
    return Conclusion(
        holds=as_claimed and figures.succeeded("eager if"),
        answer=1 if raised else 0 if figures.succeeded("jit if") else None,
        rows=(
            row("if, eager", "eager if"),
            row("if x > 0: under jit", "jit if"),
            row("functions[i] under jit", "jit list"),
            Row("lax.cond, like Python's if", equal(*CONDS)),
            Row("lax.switch, like functions[i]", equal(*SWITCHES)),
            row(
                "functions[i] with i static",
                "static",
                remark="compiles again for each i",
            ),
        ),
        sentences=(
            f"Eagerly the if works and gives {figures.shown('eager if')}."
            if as_claimed
            else f"Under jit the if gave {figures.shown('jit if')}; {equal(*forms)} of "
            "the lax forms agree.",
            "Under jit it raised a TracerBoolConversionError: while JAX traces, x has "
            "a shape and a dtype but no value, and an if needs one. lax.cond and "
            "lax.switch compile all branches, the device picks one as it runs, and the "
            "values equal Python's."
            if as_claimed
            else "",
        ),
    )


def _loops(figures: Figures) -> Conclusion:
    row = figures.row
    unrolled, looped = figures["Python operations"], figures["fori operations"]
    python, fori = figures["Python compile"], figures["fori compile"]
    difference = figures["difference"]
    return Conclusion(
        holds=unrolled >= LOOP_STEPS * looped
        and python >= FAR * fori
        and difference < 1e-3,
        answer=which(over(unrolled, looped), 1.5, LOOP_STEPS),
        rows=(
            Row(
                "Python for: operations",
                count(unrolled),
                remark="in the traced program, the jaxpr",
            ),
            Row(
                "fori_loop: operations",
                count(looped),
                remark="one, with the body in it",
            ),
            row(
                "Python for: compile",
                "Python compile",
                remark="a single time, as it is cold",
            ),
            row("fori_loop: compile", "fori compile"),
            row("Python for: one call", "Python run"),
            row("fori_loop: one call", "fori run"),
            Row("largest difference", fmt.error(difference)),
        ),
        sentences=(
            f"The Python loop ran while JAX traced, and left {count(unrolled)} "
            f"operations; fori_loop is {count(looped)}, whatever the number of steps.",
            f"Compiling took {seconds(python)} against {seconds(fori)}, "
            f"{times(over(python, fori))} as long. A call took "
            f"{seconds(figures['Python run'])} against {seconds(figures['fori run'])}: "
            "which one runs faster depends on the body and the backend.",
        ),
    )


LESSON = lesson(
    "sparse",
    {
        "What a sparse matrix stores": Trial(
            _stored,
            Code(4.0, size),
            needs=("entries", "sparse bytes", "dense bytes", "difference", "size"),
        ),
        "Where sparse wins": Trial(
            _crossing,
            Code(10.0, size),
            picture=_density_picture,
            needs=("dense", *map(_name, DENSITIES)),
        ),
        "Branches under jit": Trial(
            _branches,
            Code(4.0),
            needs=("jit if", *CONDS, *SWITCHES, "jit list", "static"),
        ),
        "Loops under jit": Trial(
            _loops,
            Code(5.0),
            needs=(
                "Python operations",
                "fori operations",
                "Python compile",
                "fori compile",
                "difference",
            ),
        ),
    },
    sizes={"cpu": 1000, "gpu": 4000, "tpu": 2000},
    minimum=200,
    maximum=10_000,
)
