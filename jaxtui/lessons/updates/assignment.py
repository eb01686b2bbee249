"""Step 1: Assignment raises."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Work

NOTEBOOK = (
    "G. Sapunov, Deep Learning with JAX, notebook of chapter 3 (JAX 0.4.14, 2023): "
    "https://github.com/che-shr-cat/JAX-in-Action"
)


def _assignment(setting: Setting) -> tuple[Work, ...]:
    snippet = Snippet(
        title="Assigning to one element, in NumPy and in JAX",
        setup="n = np.array(range(10))\nx = jnp.array(range(10))\n",
        parts=(
            Shown(name="NumPy", code="n[5] = 100\nprint(n)"),
            Shown(name="JAX", code="x[5] = 100", raises=True),
            Shown(name="new array", code="x.at[5].set(100)"),
            Shown(name="old array", code="x"),
        ),
        budget_seconds=2.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _raises(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (
        Row(what="n[5] = 100, NumPy", yours=values.shown(outcome, "NumPy")),
        Row(
            what="x[5] = 100, JAX",
            yours=values.shown(outcome, "JAX"),
            published="TypeError",
        ),
        Row(what="x.at[5].set(100)", yours=values.shown(outcome, "new array")),
        Row(what="x afterwards", yours=values.shown(outcome, "old array")),
    )
    if values.absent(outcome, "JAX", "new array", "old array"):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    new = values.numbers(outcome, "new array")
    old = values.numbers(outcome, "old array")
    refused = values.raised(outcome, "JAX", "TypeError")
    kept = old == tuple(range(10)) and new == (*old[:5], 100.0, *old[6:])
    if refused and kept:
        takeaway = (
            f'It raised "{values.shown(outcome, "JAX", 155)}" The text names the way '
            f"out: x.at[5].set(100) made a second array: element 5 is {new[5]:g} in "
            f"the new one and still {old[5]:g} in the old one."
        )
    else:
        takeaway = (
            f"This JAX does otherwise: the assignment gave "
            f"{values.shown(outcome, 'JAX')}, and x is now "
            f"{values.shown(outcome, 'old array')}."
        )
    return Conclusion(
        rows=rows,
        holds=refused and kept,
        takeaway=takeaway,
        answer=1 if refused else 0,
    )


STEP = Step(
    title="Assignment raises",
    prose="""\
A `jax.Array` is immutable: once it is made, its elements stay as they are.
JAX compiles functions without side effects, and an assignment into an array
is one: whoever else holds the array would see it change.

What one writes instead is an expression for a new array:

    y = x.at[5].set(100)

`x.at[5]` names a place, `.set(100)` says what shall be there, and the result
is another array. Ten numbers are updated here in NumPy's way and in JAX's.""",
    question=Question(
        text="What does x[5] = 100 do to a jax.Array?",
        choices=(
            "It changes the element",
            "It raises a TypeError",
            "It changes a copy in silence",
        ),
    ),
    claim=(
        "Assigning to an element raises a TypeError, and .at[].set() leaves "
        "the old array as it was."
    ),
    works=_assignment,
    conclude=_raises,
    source=NOTEBOOK,
)
