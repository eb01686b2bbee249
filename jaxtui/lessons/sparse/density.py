"""Step 2: Where sparse wins."""

from __future__ import annotations

import math
from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.sparse.stored import entries
from jaxtui.model import Part, Snippet, Timed, Work
from jaxtui.plot import Axis, Mark, Picture, Series

DENSITIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""Shares of the elements that are not zero."""

COLUMNS = 64
"""Of the dense matrix that is multiplied from the right."""

CLEAR = 1.5
"""How many times faster or slower one product must be than the other."""


def _name(density: float) -> str:
    return f"sparse {fmt.percent(density)}"


def _products(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{entries(n)}

right = jnp.asarray(rng.standard_normal(({n}, {COLUMNS}), dtype=np.float32))
dense = jnp.asarray(matrix(1.0))


def coordinates(a):  # as BCOO.fromdense, without a compilation for each density
    rows, columns = np.nonzero(a)
    indices = np.stack([rows, columns], axis=1).astype(np.int32)
    entries = jnp.asarray(a[rows, columns]), jnp.asarray(indices)
    return sparse.BCOO(
        entries, shape=a.shape, indices_sorted=True, unique_indices=True
    )


made = {{d: coordinates(matrix(d)) for d in {DENSITIES}}}
product = jax.jit(lambda a, b: a @ b)
"""
    parts: list[Part] = [
        Timed(name="dense", code="product(dense, right).block_until_ready()")
    ]
    parts += [
        Timed(
            name=_name(density),
            code=f"product(made[{density}], right).block_until_ready()",
        )
        for density in DENSITIES
    ]
    snippet = Snippet(
        title=f"{n}×{n} times {n}×{COLUMNS}, sparse and dense",
        setup=setup,
        parts=tuple(parts),
        budget_seconds=10.0,
        memory_bytes=60 * n * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _by_density(outcome: Outcome) -> list[tuple[float, float]]:
    """The densities that have been timed, with their seconds."""
    found = ((density, outcome.seconds(_name(density))) for density in DENSITIES)
    return [(density, seconds) for density, seconds in found if seconds]


def crossover(points: list[tuple[float, float]], level: float) -> float | None:
    """Where a curve first rises to a level, by interpolation of the logarithms.

    ``None`` where it begins above or never gets there.
    """
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 < level <= y1:
            share = math.log(level / y0) / math.log(y1 / y0)
            return x0 * math.exp(share * math.log(x1 / x0))
    return None


def _crossing(setting: Setting, outcome: Outcome) -> Conclusion:
    dense = outcome.seconds("dense")
    points = _by_density(outcome)
    timed = dict(points)
    rows = [Row(what="dense", yours=words.duration(dense), remark="any density")]
    rows += [
        Row(
            what=f"BCOO, {fmt.percent(density)}",
            yours=words.duration(timed.get(density)),
            remark=f"{words.ratio(timed.get(density), dense)} the dense product",
        )
        for density in DENSITIES
    ]
    if dense is None or len(points) < len(DENSITIES):
        return words.inconclusive(setting, outcome, rows, "the products", many=True)
    at = crossover(points, dense)
    thin, thick = timed[DENSITIES[0]], timed[DENSITIES[-1]]
    wins = thin * CLEAR <= dense
    loses = thick >= CLEAR * dense
    rows.append(
        Row(
            what="they meet at",
            yours=fmt.ABSENT if at is None else fmt.percent(at),
            remark="interpolated" if at else "not between 0.1 % and 30 %",
        )
    )
    takeaway = [
        f"At {fmt.percent(DENSITIES[0])} BCOO took {words.duration(thin)}, at "
        f"{fmt.percent(DENSITIES[-1])} {words.duration(thick)}; the dense product "
        f"takes {words.duration(dense)} whatever is in the matrix."
    ]
    if at is not None:
        takeaway.append(
            f"They meet at about {fmt.percent(at)}. Each stored element costs a read "
            "through its index, so a matrix has to be far emptier for speed than it "
            "has to be for memory."
        )
    elif not wins:
        takeaway.append("Here BCOO saves memory, but does not win by speed.")
    holds = wins and loses and at is not None
    if at is not None and not holds:
        takeaway.append(
            f"At one end the gap is smaller than {CLEAR:g} times, so the claim does "
            "not hold at this size."
        )
    return Conclusion(
        rows=tuple(rows),
        holds=holds,
        takeaway=" ".join(takeaway),
        answer=_where(at, wins),
    )


def _where(at: float | None, wins: bool) -> int | None:
    """Which choice a crossover is: below 10 %, up to 40 %, or beyond."""
    if at is None:
        return 2 if wins else None
    return 0 if at < 0.1 else 1 if at < 0.4 else 2


def _curves(setting: Setting, outcome: Outcome) -> Picture | None:
    points = _by_density(outcome)
    dense = outcome.seconds("dense")
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
        y=Axis(label="seconds", log=True, format=fmt.tick_seconds),
        title="Product by density",
        marks=() if at is None else (Mark(at=at, label=fmt.percent(at)),),
    )


STEP = Step(
    title="Where sparse wins",
    prose=f"""\
A dense product reads its operands in order and keeps the arithmetic units
busy, zeros included. A sparse product skips the zeros, but has to fetch a row
for each element through its index, and to add up results that lie scattered.

The same jitted product is timed for six densities, from 0.1 % to 30 %:

    product = jax.jit(lambda a, b: a @ b)

The right operand is dense, with {COLUMNS} columns. Where the two curves cross,
the plot has a mark. NumPy has no such format; SciPy has.""",
    question=Question(
        text="At which density do the two products take the same time?",
        choices=("Below 10 %", "Between 10 and 40 %", "Above 40 %"),
    ),
    claim=(
        "BCOO is at least 1.5 times faster at 0.1 % and at least 1.5 times "
        "slower at 30 %; in between the curves cross."
    ),
    works=_products,
    conclude=_crossing,
    picture=_curves,
)
