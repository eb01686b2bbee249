"""Sparse arrays, and control flow that a compiler can see."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.analysis.crossover import crossing_size
from jaxtui.lessons.base import Setting
from jaxtui.lessons.figures import (
    All,
    AtLeast,
    Below,
    Figures,
    Holds,
    IsTrue,
    Present,
    Raises,
    Succeeds,
    Value,
    bracket,
    quotient,
)
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.trial import Code, Trial, lesson
from jaxtui.plot import Axis, Mark, Picture, Series

DENSITIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""Shares of the elements that are not zero."""

CLEAR = 1.5
"""How many times faster or slower one product must be than the other."""

LOOP_STEPS = 200

FAR = 2.0
"""How many times longer the unrolled loop must take to compile."""


def _bytes_per_element(figures: Figures) -> Mapping[str, Value]:
    small, entries = figures["sparse bytes"], figures["entries"]
    # What it reads, not the lesson's own size.
    size = figures.outcome.number("size")
    off = quotient(figures["difference"], size)
    each = None
    if small is not None and entries is not None:
        each = small / entries if entries else math.inf
    return {"off": off, "each": each, "as much": 4 / each if each else None}


# Where sparse wins.


def _name(density: float) -> str:
    return f"sparse {fmt.percent(density)}"


THIN, THICK = _name(DENSITIES[0]), _name(DENSITIES[-1])


def _timed_densities(outcome: Outcome) -> list[tuple[float, float]]:
    """The densities that have been timed, with their seconds."""
    found = ((density, outcome.seconds(_name(density))) for density in DENSITIES)
    return [(density, seconds) for density, seconds in found if seconds]


def crossover(points: Sequence[tuple[float, float]], level: float) -> float | None:
    """Where a curve first rises to a level, by interpolation of the logarithms.

    ``None`` where it begins above or never gets there.
    """
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 < level <= y1:
            return crossing_size((x0, x1), (math.log(y0 / level), math.log(y1 / level)))
    return None


def _crossing_figures(figures: Figures) -> Mapping[str, Value]:
    dense, points = figures["dense"], _timed_densities(figures.outcome)
    complete = dense is not None and len(points) == len(DENSITIES)
    wins = complete and AtLeast("dense", CLEAR, THIN).holds(figures)
    return {
        "at": crossover(points, dense) if complete and dense else None,
        "met": complete and crossover(points, dense or 0.0) is not None,
        "wins": wins,
    }


def _crossing_answer(figures: Figures) -> int | None:
    """Which choice a crossover is: below 10 %, up to 40 %, or beyond."""
    at = figures["at"]
    if at is None:
        return 2 if figures.all_true("wins") else None
    return 0 if at < 0.1 else 1 if at < 0.4 else 2


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


TRACED = Raises("jit if", "TracerBoolConversionError")


def _equal_counts(figures: Figures) -> Mapping[str, Value]:
    def count(*names: str) -> str:
        return f"{sum(map(figures.all_true, names))} of {len(names)} equal"

    return {
        "conds": count(*CONDS),
        "switches": count(*SWITCHES),
        "forms": count(*CONDS, *SWITCHES),
        "as told": TRACED.holds(figures) and figures.all_true(*CONDS, *SWITCHES),
    }


def _traced_answer(figures: Figures) -> int | None:
    if TRACED.holds(figures):
        return 1
    return 0 if figures.succeeded("jit if") else None


LESSON = lesson(
    "sparse",
    {
        "What a sparse matrix stores": Trial(
            code=Code(budget=4.0, memory=lambda n: 40 * n * n),
            derive=_bytes_per_element,
            claim=All(
                Present("entries"),
                Holds(
                    lambda f: (f["sparse bytes"] or 0) < (f["dense bytes"] or 0),
                    "sparse bytes",
                    "dense bytes",
                ),
                Below("off", 1e-3),
            ),
            answer=lambda f: (
                1 if 10 <= (f["each"] or 0) <= 14 else 0 if (f["each"] or 0) < 10 else 2
            ),
        ),
        "Where sparse wins": Trial(
            code=Code(budget=10.0, memory=lambda n: 60 * n * n),
            derive=_crossing_figures,
            picture=_density_picture,
            claim=All(
                AtLeast("dense", CLEAR, THIN),
                AtLeast(THICK, CLEAR, "dense"),
                Holds(lambda figures: figures.all_true("met"), *map(_name, DENSITIES)),
            ),
            answer=_crossing_answer,
        ),
        "Branches under jit": Trial(
            code=Code(budget=4.0),
            derive=_equal_counts,
            claim=All(
                TRACED,
                IsTrue(*CONDS, *SWITCHES),
                Succeeds("eager if"),
                Present("jit list", "static"),
            ),
            answer=_traced_answer,
        ),
        "Loops under jit": Trial(
            code=Code(budget=5.0),
            claim=All(
                AtLeast("Python operations", LOOP_STEPS, "fori operations"),
                AtLeast("Python compile", FAR, "fori compile"),
                Below("difference", 1e-3),
            ),
            answer=bracket("Python operations", "fori operations", 1.5, LOOP_STEPS),
        ),
    },
    sizes={"cpu": 1000, "gpu": 4000, "tpu": 2000},
    minimum=200,
    maximum=10_000,
)
