"""Step 3: A new shape compiles again."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.first_call.parts import COSTLY
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Timed, Work

_AGAIN = " again"

_KINDS = ("n×n float32", "n×(n+1) float32", "n×n bfloat16")

_TRACED = "traced"


def _shapes(setting: Setting) -> tuple[Work, ...]:
    n = _small(setting)
    setup = f"""\
traced = []

@jax.jit
def gram(x):
    traced.append(x.shape)  # Python runs this line only while JAX traces
    return x @ x.T

a = jax.random.uniform(jax.random.key(0), ({n}, {n}))
b = jax.random.uniform(jax.random.key(0), ({n}, {n + 1}))
c = a.astype(jnp.bfloat16)
# The first compile of a process costs more than any other: it is none of these.
jax.block_until_ready((b, jax.jit(lambda x: x + 1)(c)))
"""
    first = [
        Timed(name=kind, code=f"gram({name}).block_until_ready()", once=True)
        for kind, name in zip(_KINDS, "abc", strict=True)
    ]
    later = [
        Timed(name=kind + _AGAIN, code=f"gram({name}).block_until_ready()")
        for kind, name in zip(_KINDS, "abc", strict=True)
    ]
    snippet = Snippet(
        title=f"Which calls compile again, n = {n}",
        setup=setup,
        parts=(*first, *later, Shown(name=_TRACED, code="len(traced)")),
        budget_seconds=3.0,
        memory_bytes=8 * 4 * n * n,
        device=setting.device,
    )
    return (snippet,)


def _small(setting: Setting) -> int:
    """Small enough that compiling stands out."""
    return max(16, setting.size // 2)


def _compiled_again(setting: Setting, outcome: Outcome) -> Conclusion:
    traced = outcome.number(_TRACED)
    pairs = [(outcome.seconds(k), outcome.seconds(k + _AGAIN)) for k in _KINDS]
    rows: list[Row] = []
    for kind, (first, later) in zip(_KINDS, pairs, strict=True):
        rows.append(Row(what=f"{kind}, first call", yours=words.duration(first)))
        rows.append(
            Row(
                what=f"{kind}, later calls",
                yours=words.duration(later),
                remark=f"the first took {words.ratio(first, later)}",
            )
        )
    rows.append(
        Row(
            what="times that JAX traced",
            yours=words.ABSENT if traced is None else f"{traced:.0f}",
            remark="entries in the list traced",
        )
    )
    times = [words.quotient(first, later) for first, later in pairs]
    known = [each for each in times if each is not None]
    if traced is None or len(known) < len(_KINDS):
        return words.inconclusive(setting, outcome, rows, "the first calls", many=True)
    holds = traced == len(_KINDS) and min(known) >= COSTLY
    shown = words.listing([fmt.ratio(each) for each in known])
    takeaway = (
        f"JAX traced {traced:.0f} times for {len(_KINDS)} kinds of argument. The first "
        f"call of each kind took {shown} as long as its later calls."
    )
    takeaway += (
        " In a program whose shapes keep changing, that is paid again and again."
        if holds
        else " So not every new kind cost a visible compile here: at this size the "
        "work itself may be most of it."
    )
    return Conclusion(
        rows=tuple(rows),
        holds=holds,
        takeaway=takeaway,
        answer=2 if traced == len(_KINDS) else 0 if traced == 1 else None,
    )


STEP = Step(
    title="A new shape compiles again",
    prose="""\
`jax.jit` compiles for the shapes and dtypes of the arguments. When the same
function meets an argument of another kind, it is traced and compiled anew;
what it has compiled before stays in its cache.

The function below appends to a list. Python runs that line only while JAX
traces, so the length of the list counts the compiles:

    @jax.jit
    def gram(x):
        traced.append(x.shape)
        return x @ x.T

It is called with an n×n matrix, with one more column, and in bfloat16.""",
    question=Question(
        text="Which calls compile?",
        choices=(
            "Only the very first call",
            "Every call",
            "The first call of each shape and dtype",
        ),
    ),
    claim="Each new shape or dtype is traced and compiled once more.",
    works=_shapes,
    conclude=_compiled_again,
)
