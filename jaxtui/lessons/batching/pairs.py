"""Step 1: A function of one becomes a function of many."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Work

PAIRS = 10

DOT = """\
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
        setup=DOT,
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


STEP = Step(
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
)
