"""Step 3: By hand or by vmap."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.batching.overhead import FAR
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Timed, Work

ALIKE = 3.0
"""How many times the hand-batched form ``vmap`` may take and still count as alike."""

ROWS, COLUMNS = 150, 100
"""Shape of the matrix that every vector of the batch is multiplied with."""


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


STEP = Step(
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
)
