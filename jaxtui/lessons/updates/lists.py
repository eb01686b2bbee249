"""Step 5: Lists are not arrays."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.updates.assignment import NOTEBOOK
from jaxtui.model import Shown, Snippet, Work


def _lists(setting: Setting) -> tuple[Work, ...]:
    snippet = Snippet(
        title="A list where an array is expected",
        setup="numbers = [1, 42, 31337]\nx = jnp.arange(10)\n",
        parts=(
            Shown(name="NumPy", code="np.sum(numbers)"),
            Shown(name="JAX", code="jnp.sum(numbers)", raises=True),
            Shown(name="array", code="jnp.sum(jnp.array(numbers))"),
            Shown(name="index", code="x[[1, 4]]", raises=True),
            Shown(name="array index", code="x[jnp.array([1, 4])]"),
        ),
        budget_seconds=2.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _refused(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (
        Row(what="np.sum(numbers)", yours=values.shown(outcome, "NumPy")),
        Row(
            what="jnp.sum(numbers)",
            yours=values.shown(outcome, "JAX"),
            published="TypeError",
        ),
        Row(
            what="jnp.sum(jnp.array(numbers))",
            yours=values.shown(outcome, "array"),
            published="31380",
        ),
        Row(what="x[[1, 4]]", yours=values.shown(outcome, "index")),
        Row(what="x[jnp.array([1, 4])]", yours=values.shown(outcome, "array index")),
    )
    if values.absent(outcome, "NumPy", "JAX", "array", "index"):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    both = all(values.raised(outcome, name, "TypeError") for name in ("JAX", "index"))
    right = outcome.number("array") == 31380 == outcome.number("NumPy")
    takeaway = (
        "Both were refused with a TypeError. Under jit every number of a list would "
        "become an argument of its own, and a long list a slow program without "
        "anybody noticing; jnp.array(numbers) makes the copy visible, and gives "
        f"{values.shown(outcome, 'array')} like NumPy."
        if both and right
        else "This JAX is more lenient, or the sums differ; the rows show its answers."
    )
    return Conclusion(
        rows=rows, holds=both and right, takeaway=takeaway, answer=2 if both else 0
    )


STEP = Step(
    title="Lists are not arrays",
    prose="""\
NumPy turns whatever it is given into an array: a list, a tuple, a list of
lists. JAX does not. Its functions take arrays and single numbers; a list is
refused, as an argument and as an index.

    jnp.sum([1, 42, 31337])

The conversion would be written quickly, but it costs a copy to the device
for every call, and under jit each number of the list would be traced as an
argument of its own. JAX leaves it to you to say when that shall happen.""",
    question=Question(
        text="What does JAX say to a list?",
        choices=(
            "It converts it, like NumPy",
            "It converts it and warns",
            "It raises a TypeError",
        ),
    ),
    claim="JAX refuses a list, as argument and as index, with a TypeError.",
    works=_lists,
    conclude=_refused,
    source=NOTEBOOK,
)
