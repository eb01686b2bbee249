"""Step 3: Branches under jit."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Work

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


STEP = Step(
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
)
