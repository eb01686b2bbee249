"""Step 4: Same key, same numbers."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Work


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
        Row(what="jax.random.uniform(key), 1st", yours=line(outcome, "JAX first")),
        Row(what="jax.random.uniform(key), 2nd", yours=line(outcome, "JAX second")),
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


def line(outcome: Outcome, name: str) -> str:
    """The numbers of a value, or whatever stands for them."""
    found = values.numbers(outcome, name)
    return values.decimals(found, 6) if found else values.shown(outcome, name)


STEP = Step(
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
    claim=("The same key gives the same numbers, while NumPy's hidden state moves on."),
    works=_keys,
    conclude=_repeated,
)
