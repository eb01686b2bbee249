"""Step 4: Loops under jit."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Timed, Work

LOOP_STEPS = 200

FAR = 2.0
"""How many times longer the unrolled loop must take to compile."""


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


STEP = Step(
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
)
