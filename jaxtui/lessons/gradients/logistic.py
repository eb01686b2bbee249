"""Step 1: grad takes a function and returns one."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Work

QUICKSTART = (
    "JAX documentation, docs/notebooks/quickstart.ipynb: https://github.com/jax-ml/jax"
)

LOGISTIC = (0.25, 0.19661, 0.10499)
"""The gradient of ``sum_logistic`` at [0, 1, 2], as published."""

SUM_LOGISTIC = """\
def sum_logistic(x):
    return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))
"""


def _logistic(setting: Setting) -> tuple[Work, ...]:
    setup = f"""\
{SUM_LOGISTIC}

def differences(f, x, eps=1e-3):
    return jnp.array([(f(x + eps * v) - f(x - eps * v)) / (2 * eps)
                      for v in jnp.eye(len(x))])


x = jnp.arange(3.0)
"""
    snippet = Snippet(
        title="The gradient of sum_logistic at [0, 1, 2]",
        setup=setup,
        parts=(
            Shown(name="function", code="callable(jax.grad(sum_logistic))"),
            Shown(name="grad", code="jax.grad(sum_logistic)(x)"),
            Shown(name="differences", code="differences(sum_logistic, x)"),
            Shown(name="formula", code="jnp.exp(-x) / (1 + jnp.exp(-x)) ** 2"),
        ),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _three_numbers(setting: Setting, outcome: Outcome) -> Conclusion:
    grad = values.numbers(outcome, "grad")
    differences = values.numbers(outcome, "differences")
    formula = values.numbers(outcome, "formula")
    published = values.decimals(LOGISTIC)
    rows = (
        Row(
            what="grad(sum_logistic)(x)",
            yours=values.decimals(grad),
            published=published,
        ),
        Row(
            what="differences, float32",
            yours=values.decimals(differences),
            remark=f"off by up to {_farthest(differences, grad)}",
        ),
        Row(
            what="exp(−x) / (1 + exp(−x))²",
            yours=values.decimals(formula),
            remark=f"off by up to {_farthest(formula, grad)}",
        ),
    )
    if not grad or not differences or not formula:
        return words.inconclusive(setting, outcome, rows, "the gradient")
    holds = values.near(grad, LOGISTIC, 2e-5)
    takeaway = (
        f"grad gave {values.decimals(grad)}, "
        + ("the published numbers" if holds else f"and {published} was published")
        + f". It agrees with the formula to {_farthest(formula, grad)}; the "
        f"differences are off by {_farthest(differences, grad)}, because they divide "
        "the rounding errors of float32 by a small step. grad takes no step: it "
        "differentiates each operation by its rule."
    )
    right = values.true(outcome, "function")
    return Conclusion(
        rows=rows, holds=holds, takeaway=takeaway, answer=1 if right else None
    )


def _farthest(found: tuple[float, ...], expected: tuple[float, ...]) -> str:
    return fmt.error(_distance(found, expected))


def _distance(found: tuple[float, ...], expected: tuple[float, ...]) -> float | None:
    if not found or len(found) != len(expected):
        return None
    return max(abs(a - b) for a, b in zip(found, expected, strict=True))


STEP = Step(
    title="grad takes a function and returns one",
    prose="""\
`jax.grad(f)` is a function: called with `x` it returns the gradient of `f`
at `x`. It is neither a formula nor an approximation. JAX traces `f`, knows
the derivative of each operation in it, and puts them together.

    def sum_logistic(x):
        return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))

    jax.grad(sum_logistic)(jnp.arange(3.0))

Beside it stand the formula that one would derive by hand, and central
differences with a step of 0.001.""",
    question=Question(
        text="What does jax.grad(f) return, before it is given an x?",
        choices=("An array", "A function", "A formula as text"),
    ),
    claim="grad(sum_logistic) at [0, 1, 2] is [0.25, 0.19661, 0.10499].",
    works=_logistic,
    conclude=_three_numbers,
    source=QUICKSTART,
)
