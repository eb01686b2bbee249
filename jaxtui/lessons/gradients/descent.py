"""Step 5: Twenty steps downhill."""

from __future__ import annotations

from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Work
from jaxtui.plot import Axis, Picture, Series

STEPS = 20


def _descent(setting: Setting) -> tuple[Work, ...]:
    setup = f"""\
x = jnp.linspace(-1.0, 1.0, 100)
noise = 0.1 * jax.random.normal(jax.random.key(0), x.shape)
y = 3.0 * x + 2.0 + noise


def loss(parameters):
    slope, offset = parameters
    return jnp.mean((slope * x + offset - y) ** 2)


def descend(steps, rate=0.3):
    step = jax.jit(jax.value_and_grad(loss))
    parameters, losses = jnp.zeros(2), []
    for _ in range(steps):
        value, gradient = step(parameters)
        losses.append(float(value))
        parameters = parameters - rate * gradient
    return parameters, [*losses, float(loss(parameters))]


parameters, losses = descend({STEPS})
"""
    snippet = Snippet(
        title=f"{STEPS} steps of gradient descent",
        setup=setup,
        parts=(
            Shown(name="losses", code="losses"),
            Shown(name="parameters", code="parameters"),
        ),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _descended(setting: Setting, outcome: Outcome) -> Conclusion:
    losses = values.numbers(outcome, "losses")
    parameters = values.numbers(outcome, "parameters")
    known = len(losses) == STEPS + 1 and len(parameters) == 2
    first, last = (losses[0], losses[-1]) if known else (None, None)
    rows = (
        Row(what="loss before the first step", yours=_loss(first)),
        Row(what=f"loss after {STEPS} steps", yours=_loss(last)),
        Row(
            what="slope and offset",
            yours=values.decimals(parameters, 2),
            remark="the data were made with 3 and 2",
        ),
    )
    if first is None or last is None:
        return words.inconclusive(setting, outcome, rows, "the losses", many=True)
    falling = sum(b < a for a, b in pairwise(losses))
    holds = falling == STEPS and last < 0.1 * first
    takeaway = (
        f"{falling} of {STEPS} steps lowered the loss, from {first:.3g} to {last:.3g}. "
        f"The line found is {parameters[0]:.2f}·x + {parameters[1]:.2f}. The program "
        "contains the loss and no derivative; grad made it."
    )
    answer = 0 if falling == STEPS else 2 if last >= first else 1
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


def _loss(value: float | None) -> str:
    return fmt.ABSENT if value is None else f"{value:.3g}"


def _curve(setting: Setting, outcome: Outcome) -> Picture | None:
    losses = values.numbers(outcome, "losses")
    if len(losses) < 2:
        return None
    return Picture(
        series=(Series(label="loss", x=range(len(losses)), y=losses, points=True),),
        x=Axis(label="step"),
        y=Axis(label="loss", log=True),
        title="Loss by step",
    )


STEP = Step(
    title="Twenty steps downhill",
    prose="""\
The gradient points uphill. Going a little way against it lowers the loss;
doing that again and again is gradient descent:

    value, gradient = jax.jit(jax.value_and_grad(loss))(parameters)
    parameters = parameters - 0.3 * gradient

Here a line is fitted to 100 noisy points, made with slope 3 and offset 2.
The parameters start at zero. The plot has a logarithmic axis, on which a
steady shrinking is a straight line; it ends at the noise, which no line can
explain.""",
    question=Question(
        text="How does the loss go?",
        choices=(
            "It falls with every step",
            "It falls, with some steps up",
            "It does not fall",
        ),
    ),
    claim=(
        "Each of the twenty steps lowers the loss, to less than a tenth of "
        "where it began."
    ),
    works=_descent,
    conclude=_descended,
    picture=_curve,
)
