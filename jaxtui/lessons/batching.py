"""One program, many inputs: vmap, and random numbers with explicit keys."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Timed, Work

NOTEBOOK = (
    "G. Sapunov, Deep Learning with JAX, notebook of chapter 6 (10 pairs of 3 numbers, "
    "Colab, JAX 0.4.16, 2023): https://github.com/che-shr-cat/JAX-in-Action"
)

FAR = 3.0
"""How many times longer the loop must take."""

ALIKE = 3.0
"""How many times the hand-batched form ``vmap`` may take and still count as alike."""

ROWS, COLUMNS = 150, 100
"""Shape of the matrix that every vector of the batch is multiplied with."""

PAIRS = 10


# Steps 1 and 2

_DOT = """\
a, b = jax.random.normal(jax.random.key(42), (2, 10, 3))


def dot(v, w):  # of two vectors
    return jnp.vdot(v, w)


def by_loop(a, b):
    return [dot(a[i], b[i]) for i in range(len(a))]


def by_hand(a, b):
    return jnp.einsum("ij,ij->i", a, b)


by_vmap = jax.vmap(dot)
"""


def _pairs(setting: Setting) -> tuple[Work, ...]:
    snippet = Snippet(
        title="Ten dot products in three ways",
        setup=_DOT,
        parts=(
            Shown(name="naive", code="dot(a, b)"),
            Shown(name="loop", code="jnp.array(by_loop(a, b))"),
            Shown(name="hand", code="by_hand(a, b)"),
            Shown(name="vmap", code="by_vmap(a, b)"),
            Shown(
                name="program",
                code="jax.make_jaxpr(by_vmap)(a, b).eqns[0].primitive.name",
            ),
            Shown(name="operations", code="len(jax.make_jaxpr(by_vmap)(a, b).eqns)"),
        ),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _same_values(setting: Setting, outcome: Outcome) -> Conclusion:
    found = {name: values.numbers(outcome, name) for name in ("loop", "hand", "vmap")}
    naive = values.numbers(outcome, "naive")
    rows = [
        Row(
            what="dot(a, b), not batched",
            yours=values.decimals(naive, 3),
            remark="one number: the sum over all pairs",
        )
    ]
    rows += [
        Row(what=what, yours=_few(found[name]), remark=_many(found[name]))
        for name, what in (
            ("loop", "Python loop"),
            ("hand", "by hand, einsum"),
            ("vmap", "jax.vmap(dot)"),
        )
    ]
    rows.append(
        Row(
            what="program of jax.vmap(dot)",
            yours=values.shown(outcome, "program"),
            remark=f"its first of {values.shown(outcome, 'operations')}",
        )
    )
    if not naive or not all(found.values()):
        return words.inconclusive(setting, outcome, rows, "the dot products", many=True)
    equal = all(
        values.near(found[name], found["loop"], 2e-2 if setting.accelerated else 1e-4)
        for name in ("hand", "vmap")
    )
    holds = equal and len(found["vmap"]) == PAIRS
    takeaway = (
        f"Called with the two batches, dot gave one number, {naive[0]:.3f}. vmap(dot) "
        f"gave {len(found['vmap'])}, and the loop and the einsum gave the same. There "
        f"is no loop in its program, which begins with "
        f"{values.shown(outcome, 'program')}: vmap replaced the operations of dot by "
        "batched ones."
        if holds
        else "The three ways do not agree here; the rows show their first numbers."
    )
    return Conclusion(
        rows=tuple(rows),
        holds=holds,
        takeaway=takeaway,
        answer=0 if len(naive) == 1 else 1 if len(naive) == PAIRS else None,
    )


def _few(found: tuple[float, ...]) -> str:
    if not found:
        return fmt.ABSENT
    return f"{values.decimals(found[:3], 3)}, …"


def _many(found: tuple[float, ...]) -> str:
    return f"{len(found)} numbers" if found else ""


_FORMS = (
    ("loop", "Python loop, eager", "4.58 ms"),
    ("hand", "by hand, eager", "91.9 µs"),
    ("vmap", "vmap, eager", "831 µs"),
    ("hand jit", "by hand, jit", "6.93 µs"),
    ("vmap jit", "vmap, jit", "7.60 µs"),
)


def _timed(setting: Setting) -> tuple[Work, ...]:
    setup = f"""\
{_DOT}
hand_jit, vmap_jit = jax.jit(by_hand), jax.jit(by_vmap)
"""
    snippet = Snippet(
        title="Ten dot products, timed",
        setup=setup,
        parts=(
            Timed(name="loop", code="jax.block_until_ready(by_loop(a, b))"),
            Timed(name="hand", code="by_hand(a, b).block_until_ready()"),
            Timed(name="vmap", code="by_vmap(a, b).block_until_ready()"),
            Timed(name="hand jit", code="hand_jit(a, b).block_until_ready()"),
            Timed(name="vmap jit", code="vmap_jit(a, b).block_until_ready()"),
        ),
        budget_seconds=5.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _overhead(setting: Setting, outcome: Outcome) -> Conclusion:
    seconds = {name: outcome.seconds(name) for name, _, _ in _FORMS}
    rows = [
        Row(what=what, yours=words.duration(seconds[name]), published=published)
        for name, what, published in _FORMS
    ]
    loop, eager, jit = seconds["loop"], seconds["vmap"], seconds["vmap jit"]
    if loop is None or eager is None or jit is None:
        return words.inconclusive(setting, outcome, rows, "the forms", many=True)
    holds = loop >= FAR * jit and eager >= FAR * jit
    takeaway = (
        f"The loop took {words.duration(loop)}, vmap {words.duration(eager)} eagerly "
        f"and {words.duration(jit)} under jit: {words.times(loop, jit)} less than the "
        "loop. Thirty multiplications are no work. What differs is how many times "
        "Python hands something over, and eager vmap traces dot anew at each call. "
        "Jit it once, outside."
    )
    if not holds:
        takeaway = (
            f"The loop took {words.duration(loop)}, eager vmap "
            f"{words.duration(eager)}, jitted vmap {words.duration(jit)}: a smaller "
            "gap than the claim says."
        )
    answer = 0 if eager < 2 * jit else 1 if eager < 5 * jit else 2
    return Conclusion(rows=tuple(rows), holds=holds, takeaway=takeaway, answer=answer)


# Step 3


def _matrix(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
m = jax.random.normal(jax.random.key(0), ({ROWS}, {COLUMNS}))
vectors = jax.random.normal(jax.random.key(1), ({n}, {COLUMNS}))


@jax.jit
def apply(m, v):  # one vector
    return jnp.dot(m, v)


def by_loop(m, vectors):
    return jnp.stack([apply(m, v) for v in vectors])


@jax.jit
def by_hand(m, vectors):
    return jnp.dot(vectors, m.T)


by_vmap = jax.jit(jax.vmap(apply, in_axes=(None, 0)))
"""
    difference = "jnp.max(jnp.abs({}(m, vectors) - by_hand(m, vectors)))"
    snippet = Snippet(
        title=f"A {ROWS}×{COLUMNS} matrix applied to {fmt.count(n)} vectors",
        setup=setup,
        parts=(
            Shown(name="vmap off", code=difference.format("by_vmap")),
            Shown(name="loop off", code=difference.format("by_loop")),
            Shown(name="size", code="jnp.max(jnp.abs(by_hand(m, vectors)))"),
            Timed(name="loop", code="by_loop(m, vectors).block_until_ready()"),
            Timed(name="hand", code="by_hand(m, vectors).block_until_ready()"),
            Timed(name="vmap", code="by_vmap(m, vectors).block_until_ready()"),
        ),
        budget_seconds=6.0,
        memory_bytes=4 * 6 * n * ROWS,
        device=values.chosen(setting),
    )
    return (snippet,)


def _batched(setting: Setting, outcome: Outcome) -> Conclusion:
    seconds = {name: outcome.seconds(name) for name in ("loop", "hand", "vmap")}
    largest = outcome.number("size")
    apart = [
        words.quotient(outcome.number(f"{name} off"), largest)
        for name in ("vmap", "loop")
    ]
    found = [one for one in apart if one is not None]
    n = fmt.count(setting.size)
    rows = (
        Row(
            what="loop over a jitted function",
            yours=words.duration(seconds["loop"]),
            remark=f"{n} calls and a stack",
        ),
        Row(what="by hand: vectors @ m.T", yours=words.duration(seconds["hand"])),
        Row(what="vmap, in_axes=(None, 0)", yours=words.duration(seconds["vmap"])),
        Row(
            what="largest difference",
            yours=fmt.error(max(found, default=None)),
            remark="relative",
        ),
    )
    loop, hand, vmap = seconds["loop"], seconds["hand"], seconds["vmap"]
    if loop is None or hand is None or vmap is None or len(found) < 2:
        return words.inconclusive(setting, outcome, rows, "the three forms", many=True)
    same = max(found) < (2e-2 if setting.accelerated else 1e-3)
    far, alike = loop >= FAR * vmap, vmap <= ALIKE * hand
    takeaway = [
        f"For {n} vectors the loop took {words.duration(loop)}, vmap "
        f"{words.duration(vmap)} ({words.times(loop, vmap)} less) and the form batched "
        f"by hand {words.duration(hand)}."
    ]
    if same and far and alike:
        takeaway.append(
            "The function was written for one vector. vmap turned its matrix-vector "
            "products into one matrix product, which is what the hand would have done."
        )
    if not same:
        takeaway.append(f"The values differ by {fmt.error(max(found))}.")
    if not far:
        takeaway.append(f"That is less than {FAR:.0f} times.")
    if not alike:
        takeaway.append("vmap is not on a par with the hand-batched form here.")
    answer = 0 if alike else 1 if far else 2
    return Conclusion(
        rows=rows,
        holds=same and far and alike,
        takeaway=" ".join(takeaway),
        answer=answer,
    )


# Step 4


def _keys(setting: Setting) -> tuple[Work, ...]:
    snippet = Snippet(
        title="The same key twice",
        setup="np.random.seed(0)\nkey = jax.random.key(0)\n",
        parts=(
            Shown(
                name="NumPy first",
                code="first = np.random.uniform(size=3)\nprint(first)",
            ),
            Shown(
                name="NumPy second",
                code="second = np.random.uniform(size=3)\nprint(second)",
            ),
            Shown(name="NumPy same", code="np.array_equal(first, second)"),
            Shown(name="JAX first", code="jax.random.uniform(key, (3,))"),
            Shown(name="JAX second", code="jax.random.uniform(key, (3,))"),
            Shown(
                name="JAX same",
                code="jnp.array_equal(jax.random.uniform(key, (3,)), "
                "jax.random.uniform(key, (3,)))",
            ),
            Shown(name="no key", code="jax.random.uniform((3,))", raises=True),
        ),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _repeated(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (
        Row(
            what="np.random.uniform, 1st call",
            yours=values.shown(outcome, "NumPy first"),
        ),
        Row(
            what="np.random.uniform, 2nd call",
            yours=values.shown(outcome, "NumPy second"),
        ),
        Row(what="jax.random.uniform(key), 1st", yours=_line(outcome, "JAX first")),
        Row(what="jax.random.uniform(key), 2nd", yours=_line(outcome, "JAX second")),
        Row(what="without a key", yours=values.shown(outcome, "no key")),
    )
    if values.absent(outcome, "NumPy same", "JAX same"):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    hidden = not values.true(outcome, "NumPy same")
    same = values.true(outcome, "JAX same")
    first = values.numbers(outcome, "JAX first")
    takeaway = (
        f"The same key gave {values.decimals(first, 4)} both times; NumPy's second "
        "call differed from its first, because a state that nobody passed had moved "
        "on. A function with a key in its arguments can be compiled, batched and run "
        "on eight chips, and gives the same numbers each time."
        if same and hidden
        else "This is not what the claim says; the rows show the numbers."
    )
    return Conclusion(
        rows=rows, holds=same and hidden, takeaway=takeaway, answer=1 if same else 0
    )


def _line(outcome: Outcome, name: str) -> str:
    found = values.numbers(outcome, name)
    return values.decimals(found, 6) if found else values.shown(outcome, name)


# Step 5


def _splitting(setting: Setting) -> tuple[Work, ...]:
    setup = """\
key = jax.random.key(0)
left, right = jax.random.split(key)
keys = jax.random.split(key, 1000)


def one(key):  # a random walk of 100 steps
    return jnp.sum(jax.random.normal(key, (100,)))
"""
    snippet = Snippet(
        title="Splitting a key",
        setup=setup,
        parts=(
            Shown(name="left", code="jax.random.uniform(left, (3,))"),
            Shown(name="right", code="jax.random.uniform(right, (3,))"),
            Shown(name="parent", code="jax.random.uniform(key, (3,))"),
            Shown(
                name="again",
                code="jnp.array_equal(jax.random.key_data(jax.random.split(key)[0]), "
                "jax.random.key_data(left))",
            ),
            Shown(name="spread", code="jnp.std(jax.vmap(one)(keys))"),
            Shown(name="range", code="jnp.ptp(jax.vmap(one)(keys))"),
            Shown(
                name="reused",
                code="jnp.ptp(jax.vmap(one)(jnp.stack([key] * 1000)))",
            ),
        ),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _independent(setting: Setting, outcome: Outcome) -> Conclusion:
    drawn = {
        name: values.numbers(outcome, name) for name in ("left", "right", "parent")
    }
    spread, apart = outcome.number("spread"), outcome.number("range")
    reused = outcome.number("reused")
    rows = (
        Row(what="uniform(left)", yours=_line(outcome, "left")),
        Row(what="uniform(right)", yours=_line(outcome, "right")),
        Row(what="uniform(key), the parent", yours=_line(outcome, "parent")),
        Row(
            what="1000 keys: standard deviation",
            yours=_figure(spread),
            remark="10 is expected: √100",
        ),
        Row(
            what="1000 keys: largest − smallest",
            yours=_figure(apart),
            remark="of a thousand walks",
        ),
        Row(
            what="one key: largest − smallest",
            yours=_figure(reused),
            remark="a thousand times the same walk",
        ),
    )
    if spread is None or apart is None or reused is None or not all(drawn.values()):
        return words.inconclusive(setting, outcome, rows, "the draws", many=True)
    different = len(set(drawn.values())) == 3
    same = values.true(outcome, "again")
    # A standard deviation out of 1000 is right to about 2 %; 10 % is no accident.
    holds = different and same and 9 < spread < 11 and reused < 1e-3
    takeaway = (
        f"The two halves and their parent drew different numbers, and splitting again "
        f"gave the same halves. With a thousand split keys the walks ended "
        f"{_figure(apart)} apart, with a standard deviation of {_figure(spread)}; with "
        f"one key for all, {_figure(reused)} apart. Use a key once, then split."
        if holds
        else f"Not as expected: a standard deviation of {_figure(spread)}, and walks "
        f"with one key for all that end {_figure(reused)} apart."
    )
    answer = 2 if reused < 1e-3 else 1 if reused < 0.1 * apart else 0
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


def _figure(value: float | None) -> str:
    if value is None:
        return fmt.ABSENT
    return "0" if abs(value) < 5e-4 else f"{value:.3g}"


LESSON = Lesson(
    name="batching",
    title="One program, many inputs",
    summary="vmap instead of loops, and random numbers with keys instead of a state.",
    size_means="number of vectors in the batch",
    sizes={"cpu": 1000, "gpu": 10_000, "tpu": 10_000},
    minimum=50,
    maximum=1_000_000,
    steps=(
        Step(
            title="A function of one becomes a function of many",
            prose="""\
A function is often easiest to write for one example: the dot product of two
vectors. Given two batches of ten vectors it does something else: `jnp.vdot`
flattens whatever it gets.

    jax.vmap(dot)(a, b)

`jax.vmap(dot)` is a function of batches. It does not loop: while JAX traces
`dot`, each operation is replaced by its batched form.

Beside it run a Python loop and a form batched by hand, with `einsum`.""",
            question=Question(
                text="a and b are ten vectors each. What does dot(a, b) give?",
                choices=("One number", "Ten numbers", "An error"),
            ),
            claim="vmap(dot) gives the ten numbers that a loop and an einsum give.",
            works=_pairs,
            conclude=_same_values,
        ),
        Step(
            title="What the loop costs",
            prose="""\
Ten pairs of three numbers make thirty multiplications. Whatever takes longer
than a microsecond here is the way to the work and not the work.

The loop indexes and multiplies ten times, each time an operation of its own.
The hand-batched form is one call. `vmap` without `jit` goes through the
tracing of `dot` at each call before it runs the result. Under `jit` both are
compiled once, and a call only hands over.

All five are timed until their results are there.""",
            question=Question(
                text="How much does jit gain for vmap(dot)?",
                choices=("Next to nothing", "2 to 5 times", "More than 5 times"),
            ),
            claim=(
                "The loop and the eager vmap each take at least 3 times as long as the "
                "jitted vmap."
            ),
            works=_timed,
            conclude=_overhead,
            source=NOTEBOOK,
        ),
        Step(
            title="By hand or by vmap",
            prose=f"""\
A matrix of {ROWS}×{COLUMNS} is applied to a batch of vectors. The matrix stays the
same for all, and `in_axes` says so: no axis of the first argument is mapped,
axis 0 of the second is.

    jax.jit(jax.vmap(apply, in_axes=(None, 0)))

By hand one would write `vectors @ m.T`: one matrix product. The loop calls
the jitted function for each vector and stacks the results.

The question is whether the compiler makes of `vmap` what an expert writes.""",
            question=Question(
                text="How does vmap compare with the form batched by hand?",
                choices=(
                    "About the same",
                    "Slower, but faster than the loop",
                    "No faster than the loop",
                ),
            ),
            claim=(
                "The loop takes at least 3 times as long as vmap, and vmap at most 3 "
                "times as long as the hand-batched form; their values agree."
            ),
            works=_matrix,
            conclude=_batched,
        ),
        Step(
            title="Same key, same numbers",
            prose="""\
`np.random.uniform()` has a hidden argument and a hidden result: the state of
the generator. A function that uses it gives something else at each call,
which no compiler that records a function once can know.

    key = jax.random.key(0)
    jax.random.uniform(key, (3,))

JAX has the state as an argument, the key, and changes nothing. Both are
called twice here with nothing in between, and JAX once without a key.""",
            question=Question(
                text="jax.random.uniform(key, (3,)) is called twice. What comes out?",
                choices=("Two different draws", "Twice the same draw", "An error"),
            ),
            claim=(
                "The same key gives the same numbers, while NumPy's hidden state moves "
                "on."
            ),
            works=_keys,
            conclude=_repeated,
        ),
        Step(
            title="Splitting keys",
            prose="""\
Two draws that shall differ need two keys. `jax.random.split` makes them, and
always the same ones from the same key:

    left, right = jax.random.split(key)
    keys = jax.random.split(key, 1000)
    jax.vmap(one)(keys)

The last line is how a batch gets its randomness: one key for each member. As
a check, a thousand random walks of a hundred steps are made in one `vmap`,
with split keys and, wrongly, with the same key for all.""",
            question=Question(
                text="One key for all thousand walks: how do they differ?",
                choices=(
                    "They differ as usual",
                    "They differ a little",
                    "They are all the same",
                ),
            ),
            claim=(
                "Split keys draw different numbers, the same ones each time; one key "
                "for all makes all draws the same."
            ),
            works=_splitting,
            conclude=_independent,
        ),
    ),
)
