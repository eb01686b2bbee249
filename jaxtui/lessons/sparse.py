"""Sparse arrays, and control flow that a compiler can see."""

from __future__ import annotations

import math
from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Timed, Work
from jaxtui.plot import Axis, Mark, Picture, Series

DENSITIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""Shares of the elements that are not zero."""

COLUMNS = 64
"""Of the dense matrix that is multiplied from the right."""

LOOP_STEPS = 200

CLEAR = 1.5
"""How many times faster or slower one product must be than the other."""

FAR = 2.0
"""How many times longer the unrolled loop must take to compile."""


# Step 1


def _entries(n: int) -> str:
    """Makes a matrix with a share of elements that are not zero."""
    return f"""\
from jax.experimental import sparse

rng = np.random.default_rng(0)


def matrix(density):
    full = rng.standard_normal(({n}, {n}), dtype=np.float32)
    return np.where(rng.random(({n}, {n})) < density, full, np.float32(0))
"""


def _format(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{_entries(n)}

dense = jnp.asarray(matrix(0.01))
b = sparse.BCOO.fromdense(dense)
right = jnp.ones({n})
"""
    snippet = Snippet(
        title=f"What BCOO stores of a {n}×{n} matrix with 1 % of its elements",
        setup=setup,
        parts=(
            Shown(name="b", code="b"),
            Shown(name="entries", code="b.nse"),
            Shown(name="sparse bytes", code="b.data.nbytes + b.indices.nbytes"),
            Shown(name="dense bytes", code="dense.nbytes"),
            Shown(
                name="difference",
                code=(
                    "jnp.max(jnp.abs(b @ right - "
                    "jnp.matmul(dense, right, precision='highest')))"
                ),
            ),
            Shown(name="size", code="jnp.max(jnp.abs(b @ right))"),
        ),
        budget_seconds=4.0,
        memory_bytes=40 * n * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _stored(setting: Setting, outcome: Outcome) -> Conclusion:
    entries = outcome.number("entries")
    small, large = outcome.number("sparse bytes"), outcome.number("dense bytes")
    off = words.quotient(outcome.number("difference"), outcome.number("size"))
    rows = (
        Row(what="b", yours=values.shown(outcome, "b")),
        Row(what="elements that are stored", yours=values.whole(entries)),
        Row(
            what="bytes as BCOO",
            yours=fmt.bytes_text(small),
            remark="4 for the value, 8 for row and column",
        ),
        Row(what="bytes as a dense array", yours=fmt.bytes_text(large)),
        Row(what="b @ v against dense @ v", yours=fmt.error(off), remark="relative"),
    )
    if entries is None or small is None or large is None or off is None:
        return words.inconclusive(setting, outcome, rows, "the sparse matrix")
    each = small / entries if entries else math.inf
    holds = small < large and off < 1e-3
    takeaway = (
        f"{values.whole(entries)} elements take {fmt.bytes_text(small)}, the dense "
        f"matrix {fmt.bytes_text(large)}: {words.times(large, small)} as much. At "
        f"{each:.0f} bytes an element the two would meet at a density of "
        f"{fmt.percent(4 / each)}. The products agree to {fmt.error(off)}."
    )
    answer = 1 if 10 <= each <= 14 else 0 if each < 10 else 2
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


# Step 2


def _name(density: float) -> str:
    return f"sparse {fmt.percent(density)}"


def _products(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{_entries(n)}

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


# Step 3

_SIZES = (-3.0, 2.0)
"""One argument for each branch."""


def _branches(setting: Setting) -> tuple[Work, ...]:
    setup = """\
def python_if(x):
    if x > 0:
        return x
    return -2 * x


def with_cond(x):
    return lax.cond(x > 0, lambda x: x, lambda x: -2 * x, x)


def with_switch(i, x):
    return lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x)


def python_list(i, x):
    return [jnp.sin, jnp.cos, jnp.tanh][i](x)
"""
    parts: list[Part] = [
        Shown(name="eager if", code="python_if(jnp.float32(-3))"),
        Shown(name="jit if", code="jax.jit(python_if)(-3.0)", raises=True),
        Shown(name="jit list", code="jax.jit(python_list)(1, 0.5)", raises=True),
    ]
    parts += [
        Shown(name=f"cond {x:g}", code=f"jax.jit(with_cond)({x}) == python_if({x})")
        for x in _SIZES
    ]
    parts += [
        Shown(
            name=f"switch {i}",
            code=f"jnp.allclose(jax.jit(with_switch)({i}, 0.5), python_list({i}, 0.5))",
        )
        for i in range(3)
    ]
    parts.append(
        Shown(name="static", code="jax.jit(python_list, static_argnums=0)(1, 0.5)")
    )
    snippet = Snippet(
        title="Branches, in Python and in lax",
        setup=setup,
        parts=tuple(parts),
        budget_seconds=4.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _branched(setting: Setting, outcome: Outcome) -> Conclusion:
    conds = [f"cond {x:g}" for x in _SIZES]
    switches = [f"switch {i}" for i in range(3)]
    rows = (
        Row(what="if, eager", yours=values.shown(outcome, "eager if")),
        Row(what="if x > 0: under jit", yours=values.shown(outcome, "jit if")),
        Row(what="functions[i] under jit", yours=values.shown(outcome, "jit list")),
        Row(what="lax.cond, like Python's if", yours=_count_true(outcome, conds)),
        Row(what="lax.switch, like functions[i]", yours=_count_true(outcome, switches)),
        Row(
            what="functions[i] with i static",
            yours=values.shown(outcome, "static"),
            remark="compiles again for each i",
        ),
    )
    names = ("eager if", "jit if", "jit list", *conds, *switches, "static")
    if gone := values.absent(outcome, *names):
        return words.inconclusive(setting, outcome, rows, *gone)
    refused = values.raised(outcome, "jit if", "TracerBoolConversionError")
    same = values.true(outcome, *conds, *switches)
    eager = values.gave(outcome, "eager if")
    takeaway = (
        f"Eagerly the if works and gives {values.shown(outcome, 'eager if')}. Under "
        "jit it raised a TracerBoolConversionError: while JAX traces, x has a shape "
        "and a dtype but no value, and an if has to know. lax.cond and lax.switch put "
        "all branches into the program; the device picks one as it runs, and the "
        "values are Python's."
        if refused and same
        else f"Under jit the if gave {values.shown(outcome, 'jit if')}; "
        f"{_count_true(outcome, [*conds, *switches])} of the lax forms agree."
    )
    return Conclusion(
        rows=rows,
        holds=refused and same and eager,
        takeaway=takeaway,
        answer=1 if refused else 0 if values.gave(outcome, "jit if") else None,
    )


def _count_true(outcome: Outcome, names: list[str]) -> str:
    return f"{sum(values.true(outcome, name) for name in names)} of {len(names)} equal"


# Step 4


def _loops(setting: Setting) -> tuple[Work, ...]:
    setup = f"""\
def python_loop(x):
    for _ in range({LOOP_STEPS}):
        x = jnp.sin(x) + 1
    return x


def with_fori(x):
    return lax.fori_loop(0, {LOOP_STEPS}, lambda i, x: jnp.sin(x) + 1, x)


x = jnp.ones(1000)
jax.jit(jnp.cos).lower(x).compile()  # so that nothing below is a first time
"""
    compile_ = "jax.jit({}).lower(x).compile()"
    snippet = Snippet(
        title=f"A loop of {LOOP_STEPS} steps, unrolled and rolled",
        setup=setup,
        parts=(
            Timed(
                name="Python compile", code=compile_.format("python_loop"), once=True
            ),
            Timed(name="fori compile", code=compile_.format("with_fori"), once=True),
            Shown(
                name="Python operations",
                code="len(jax.make_jaxpr(python_loop)(x).eqns)",
            ),
            Shown(
                name="fori operations", code="len(jax.make_jaxpr(with_fori)(x).eqns)"
            ),
            Shown(
                name="difference",
                code=(
                    "jnp.max(jnp.abs(jax.jit(python_loop)(x) - jax.jit(with_fori)(x)))"
                ),
            ),
            Shown(
                name="run",
                code="unrolled, rolled = jax.jit(python_loop), "
                "jax.jit(with_fori)\nunrolled(x), rolled(x)",
            ),
            Timed(name="Python run", code="unrolled(x).block_until_ready()"),
            Timed(name="fori run", code="rolled(x).block_until_ready()"),
        ),
        budget_seconds=5.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _unrolled(setting: Setting, outcome: Outcome) -> Conclusion:
    compile_ = [outcome.seconds(name) for name in ("Python compile", "fori compile")]
    run = [outcome.seconds(name) for name in ("Python run", "fori run")]
    count = [outcome.number(f"{name} operations") for name in ("Python", "fori")]
    off = outcome.number("difference")
    rows = (
        Row(
            what="Python for: operations",
            yours=values.whole(count[0]),
            remark="equations of the jaxpr",
        ),
        Row(
            what="fori_loop: operations",
            yours=values.whole(count[1]),
            remark="one, with the body in it",
        ),
        Row(
            what="Python for: compile",
            yours=words.duration(compile_[0]),
            remark="a single time, as it is cold",
        ),
        Row(what="fori_loop: compile", yours=words.duration(compile_[1])),
        Row(what="Python for: one call", yours=words.duration(run[0])),
        Row(what="fori_loop: one call", yours=words.duration(run[1])),
        Row(what="largest difference", yours=fmt.error(off)),
    )
    slower = words.quotient(compile_[0], compile_[1])
    larger = words.quotient(count[0], count[1])
    if slower is None or larger is None or off is None:
        return words.inconclusive(setting, outcome, rows, "the two loops", many=True)
    same = off < 1e-3
    holds = larger >= LOOP_STEPS and slower >= FAR and same
    takeaway = (
        f"The Python loop ran while JAX traced, and left {values.whole(count[0])} "
        f"operations; fori_loop is {values.whole(count[1])}, whatever the number of "
        f"steps. Compiling took {words.duration(compile_[0])} against "
        f"{words.duration(compile_[1])}, {words.times(compile_[0], compile_[1])} as "
        f"long. A call took {words.duration(run[0])} against {words.duration(run[1])}: "
        "which of them wins at running depends on the body and the backend."
    )
    if not holds:
        takeaway += " The gap is smaller than the claim says, or the values differ."
    answer = 2 if larger >= LOOP_STEPS else 1 if larger > 1.5 else 0
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


LESSON = Lesson(
    name="sparse",
    title="Sparse, and control flow",
    summary="When empty matrices pay, and how a compiled program branches and loops.",
    size_means="n of the n×n matrix",
    sizes={"cpu": 1000, "gpu": 4000, "tpu": 2000},
    minimum=200,
    maximum=10_000,
    steps=(
        Step(
            title="What a sparse matrix stores",
            prose="""\
`jax.experimental.sparse` has a format called BCOO, for batched coordinates:
the elements that are not zero, and for each of them its row and its column.

    b = sparse.BCOO.fromdense(dense)
    b @ v

The number of stored elements is part of the shape, because XLA compiles for
fixed shapes: `b.nse`, the number of specified elements. An element takes 4
bytes as float32, and each of its two indices 4 bytes as well.

Here 1 % of the matrix is not zero.""",
            question=Question(
                text="Up to which density does BCOO need less memory than dense?",
                choices=("About one half", "About one third", "About one tenth"),
            ),
            claim=(
                "At a density of 1 % BCOO needs less memory and gives the same product."
            ),
            works=_format,
            conclude=_stored,
        ),
        Step(
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
        ),
        Step(
            title="Branches under jit",
            prose="""\
`jax.jit` calls a function once with tracers, which have a shape and a dtype
but no value, and compiles what it recorded. A Python `if` on a traced value
has nothing to decide by.

    lax.cond(x > 0, f, g, x)
    lax.switch(i, [f, g, h], x)

Both put every branch into the program and let the device choose. An argument
that is declared static is no tracer: Python may branch on it, at the price of
a compilation for each value it takes.

All forms are run, and their values compared.""",
            question=Question(
                text="What does jax.jit do with a function that says `if x > 0`?",
                choices=(
                    "It compiles both branches",
                    "It raises while tracing",
                    "It runs that function eagerly",
                ),
            ),
            claim=(
                "A Python if on a traced value raises; lax.cond and lax.switch give "
                "what Python gives."
            ),
            works=_branches,
            conclude=_branched,
        ),
        Step(
            title="Loops under jit",
            prose=f"""\
A Python `for` with a known number of steps works under jit. It runs while
JAX traces, so the program contains its body once for each step.

    for _ in range({LOOP_STEPS}):
        x = jnp.sin(x) + 1

    lax.fori_loop(0, {LOOP_STEPS}, lambda i, x: jnp.sin(x) + 1, x)

`lax.fori_loop` is one operation that contains the body. Both are traced,
lowered and compiled once with the clock running, a cold figure of a single
observation, and then called many times.""",
            question=Question(
                text=f"How many operations does the Python loop of {LOOP_STEPS} leave?",
                choices=("1", f"About {LOOP_STEPS // 10}", f"{LOOP_STEPS} or more"),
            ),
            claim=(
                "The Python loop is unrolled, and takes at least twice as long to "
                "compile as fori_loop."
            ),
            works=_loops,
            conclude=_unrolled,
        ),
    ),
)
