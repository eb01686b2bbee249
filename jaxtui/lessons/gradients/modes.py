"""Step 3: Forward and reverse."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Timed, Work

CHEAPER = 3.0
"""How many times cheaper the fitting mode must be."""

_MATRIX = 1000
"""Inputs, or outputs, of the functions of step 3."""


def _both_modes(setting: Setting) -> tuple[Work, ...]:
    setup = f"""\
n = {_MATRIX}
m = jax.random.normal(jax.random.key(0), (n, n)) / n**0.5
v = jnp.full(n, 0.1)


def to_one(x):  # n inputs, one output
    return jnp.sum(jnp.tanh(jnp.matmul(m, x, precision="highest")))


def to_many(t):  # one input, n outputs
    return jnp.tanh(jnp.matmul(m, t * v, precision="highest"))


def distance(a, b):
    return jnp.max(jnp.abs(a - b)) / jnp.max(jnp.abs(b))


forward_one, reverse_one = jax.jit(jax.jacfwd(to_one)), jax.jit(jax.jacrev(to_one))
forward_many, reverse_many = jax.jit(jax.jacfwd(to_many)), jax.jit(jax.jacrev(to_many))
t = jnp.float32(1.0)
"""
    snippet = Snippet(
        title=f"Forward and reverse: {_MATRIX} to 1, and 1 to {_MATRIX}",
        setup=setup,
        parts=(
            Shown(name="one", code="distance(forward_one(v), reverse_one(v))"),
            Shown(name="many", code="distance(forward_many(t), reverse_many(t))"),
            Shown(
                name="jvp",
                code="distance(jax.jvp(to_many, (t,), (1.0,))[1], reverse_many(t))",
            ),
            Shown(
                name="vjp",
                code="distance(jax.vjp(to_one, v)[1](1.0)[0], forward_one(v))",
            ),
            Timed(name="forward one", code="forward_one(v).block_until_ready()"),
            Timed(name="reverse one", code="reverse_one(v).block_until_ready()"),
            Timed(name="forward many", code="forward_many(t).block_until_ready()"),
            Timed(name="reverse many", code="reverse_many(t).block_until_ready()"),
        ),
        budget_seconds=6.0,
        memory_bytes=12 * 4 * _MATRIX**2,
        device=values.chosen(setting),
    )
    return (snippet,)


def _which_mode(setting: Setting, outcome: Outcome) -> Conclusion:
    seconds = {
        name: outcome.seconds(name)
        for name in ("forward one", "reverse one", "forward many", "reverse many")
    }
    rows = [
        Row(
            what=f"{mode} mode, {n} → {m}",
            yours=words.duration(seconds[f"{mode} {key}"]),
            remark=how,
        )
        for key, n, m, mode, how in (
            ("one", _MATRIX, 1, "forward", f"jacfwd: {_MATRIX} pushes"),
            ("one", _MATRIX, 1, "reverse", "jacrev: one pull"),
            ("many", 1, _MATRIX, "forward", "jacfwd: one push"),
            ("many", 1, _MATRIX, "reverse", f"jacrev: {_MATRIX} pulls"),
        )
    ]
    apart = [outcome.number(name) for name in ("one", "many", "jvp", "vjp")]
    found = [number for number in apart if number is not None]
    rows.append(
        Row(
            what="largest difference",
            yours=fmt.error(max(found, default=None)),
            remark="relative; jvp and vjp included",
        )
    )
    one = words.quotient(seconds["forward one"], seconds["reverse one"])
    many = words.quotient(seconds["reverse many"], seconds["forward many"])
    if one is None or many is None or len(found) < len(apart):
        return words.inconclusive(setting, outcome, rows, "the modes", many=True)
    same = max(found) < 1e-3
    holds = same and one >= CHEAPER and many >= CHEAPER
    takeaway = [
        f"{_MATRIX} → 1: forward took {fmt.ratio(one)} the time of reverse. "
        f"1 → {_MATRIX}: reverse took {fmt.ratio(many)} the time of forward."
    ]
    takeaway.append(
        f"The results agree to {fmt.error(max(found))}."
        if same
        else f"But the results differ by {fmt.error(max(found))}."
    )
    takeaway.append(
        "A loss has many inputs and one output: that is why grad is reverse mode."
        if holds
        else "At least one of the gaps is smaller than 3 times on this machine."
    )
    return Conclusion(
        rows=tuple(rows),
        holds=holds,
        takeaway=" ".join(takeaway),
        answer=1 if one > 1.5 else 0 if one < 1 / 1.5 else 2,
    )


STEP = Step(
    title="Forward and reverse",
    prose=f"""\
Derivatives can be put together in two orders. Forward mode (`jvp`) pushes a
change of one input through the program and sees all outputs change. Reverse
mode (`vjp`) pulls one output back and finds its slope in all inputs.

A full Jacobian takes one push per input (`jacfwd`) or one pull per output
(`jacrev`). Both give the same numbers.

Two functions are differentiated both ways: one with {_MATRIX} inputs and one
output, like a loss, and one with 1 input and {_MATRIX} outputs.""",
    question=Question(
        text=f"{_MATRIX} inputs, one output: which mode is cheaper?",
        choices=("Forward", "Reverse", "They cost the same"),
    ),
    claim=(
        "Both modes give the same numbers; reverse is at least 3 times cheaper "
        "for many inputs, forward for many outputs."
    ),
    works=_both_modes,
    conclude=_which_mode,
)
