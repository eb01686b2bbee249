"""Step 4: What a gradient costs."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.gradients.logistic import SUM_LOGISTIC
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Timed, Work

CHEAP = 8.0
"""How many values a value and its gradient may cost together."""


def _cost(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{SUM_LOGISTIC}

x = jax.random.normal(jax.random.key(0), ({n},))
value = jax.jit(sum_logistic)
both = jax.jit(jax.value_and_grad(sum_logistic))
"""
    snippet = Snippet(
        title=f"A value, and a value with its gradient of {fmt.count(n)} numbers",
        setup=setup,
        parts=(
            Timed(name="value", code="value(x).block_until_ready()"),
            Timed(name="both", code="jax.block_until_ready(both(x))"),
            Shown(name="numbers", code="both(x)[1].size"),
        ),
        budget_seconds=4.0,
        memory_bytes=5 * 4 * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _cheap(setting: Setting, outcome: Outcome) -> Conclusion:
    value, both = outcome.seconds("value"), outcome.seconds("both")
    n = setting.size
    differences = None if value is None else (n + 1) * value
    rows = (
        Row(what="the value, jitted", yours=words.duration(value)),
        Row(
            what="value_and_grad, jitted",
            yours=words.duration(both),
            remark=f"{fmt.count(n)} derivatives",
        ),
        Row(
            what="in values",
            yours=words.ratio(both, value),
        ),
        Row(
            what="by differences",
            yours=_long(differences),
            remark=f"{fmt.count(n + 1)} values: computed from the first row, not run",
        ),
    )
    if value is None or both is None:
        return words.inconclusive(setting, outcome, rows, "the value and its gradient")
    times = both / value
    holds = times <= CHEAP
    takeaway = (
        f"The value took {words.duration(value)}, the value with {fmt.count(n)} "
        f"derivatives {words.duration(both)}: {words.times(both, value)}. One-sided "
        f"differences would need {fmt.count(n + 1)} values, {_long(differences)}. "
    )
    takeaway += (
        "Reverse mode walks through the operations once more, backwards, however many "
        "inputs there are."
        if holds
        else "That is more than the claim allows: the backward pass is limited here by "
        "something else than operations, probably by writing the result."
    )
    answer = 0 if times <= CHEAP else 1 if times < n / 2 else 2
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


def _long(seconds: float | None) -> str:
    """A time that may be hours."""
    if seconds is None or seconds < 120:
        return fmt.seconds(seconds)
    return f"{fmt.duration(seconds)} {'h' if seconds >= 3600 else 'min'}"


STEP = Step(
    title="What a gradient costs",
    prose="""\
A gradient of a million inputs is a million numbers. Differences would need
the function a million times over, and once more.

Reverse mode needs it once, plus one walk backwards through the operations.
Theory bounds that by a small multiple of the function's own cost, whatever
the number of inputs. `jax.value_and_grad` returns both, because the value
falls out on the way.

The value alone and the value with its gradient are timed, both jitted.""",
    question=Question(
        text="How long does the value with its whole gradient take?",
        choices=(
            "Up to 8 times the value",
            "Hundreds of times the value",
            "About as many times as there are inputs",
        ),
    ),
    claim="The value with its gradient costs at most 8 times the value alone.",
    works=_cost,
    conclude=_cheap,
)
