"""Step 2: What the loop costs."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.batching.pairs import DOT
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Snippet, Timed, Work

NOTEBOOK = (
    "G. Sapunov, Deep Learning with JAX, notebook of chapter 6 (10 pairs of 3 numbers, "
    "Colab, JAX 0.4.16, 2023): https://github.com/che-shr-cat/JAX-in-Action"
)

FAR = 3.0
"""How many times longer the loop must take."""

_FORMS = (
    ("loop", "Python loop, eager", "4.58 ms"),
    ("hand", "by hand, eager", "91.9 µs"),
    ("vmap", "vmap, eager", "831 µs"),
    ("hand jit", "by hand, jit", "6.93 µs"),
    ("vmap jit", "vmap, jit", "7.60 µs"),
)


def _timed(setting: Setting) -> tuple[Work, ...]:
    setup = f"""\
{DOT}
hand_jit, vmap_jit = jax.jit(by_hand), jax.jit(by_vmap)
"""
    snippet = Snippet(
        title="Ten dot products, timed",
        setup=setup,
        parts=(
            Timed(name="loop", code="jax.block_until_ready(by_loop(a, b))"),
            Timed(name="hand", code="by_hand(a, b).block_until_ready()"),
            Timed(name="vmap", code="by_vmap(a, b).block_until_ready()"),
            Timed(name="hand jit", code="hand_jit(a, b).block_until_ready()"),
            Timed(name="vmap jit", code="vmap_jit(a, b).block_until_ready()"),
        ),
        budget_seconds=5.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _overhead(setting: Setting, outcome: Outcome) -> Conclusion:
    seconds = {name: outcome.seconds(name) for name, _, _ in _FORMS}
    rows = [
        Row(what=what, yours=words.duration(seconds[name]), published=published)
        for name, what, published in _FORMS
    ]
    loop, eager, jit = seconds["loop"], seconds["vmap"], seconds["vmap jit"]
    if loop is None or eager is None or jit is None:
        return words.inconclusive(setting, outcome, rows, "the forms", many=True)
    holds = loop >= FAR * jit and eager >= FAR * jit
    takeaway = (
        f"The loop took {words.duration(loop)}, vmap {words.duration(eager)} eagerly "
        f"and {words.duration(jit)} under jit: {words.times(loop, jit)} less than the "
        "loop. Thirty multiplications are no work. What differs is how many times "
        "Python hands something over, and eager vmap traces dot anew at each call. "
        "Jit it once, outside."
    )
    if not holds:
        takeaway = (
            f"The loop took {words.duration(loop)}, eager vmap "
            f"{words.duration(eager)}, jitted vmap {words.duration(jit)}: a smaller "
            "gap than the claim says."
        )
    answer = 0 if eager < 2 * jit else 1 if eager < 5 * jit else 2
    return Conclusion(rows=tuple(rows), holds=holds, takeaway=takeaway, answer=answer)


STEP = Step(
    title="What the loop costs",
    prose="""\
Ten pairs of three numbers make thirty multiplications. Whatever takes longer
than a microsecond here is the way to the work and not the work.

The loop indexes and multiplies ten times, each time an operation of its own.
The hand-batched form is one call. `vmap` without `jit` goes through the
tracing of `dot` at each call before it runs the result. Under `jit` both are
compiled once, and a call only hands over.

All five are timed until their results are there.""",
    question=Question(
        text="How much does jit gain for vmap(dot)?",
        choices=("Next to nothing", "2 to 5 times", "More than 5 times"),
    ),
    claim=(
        "The loop and the eager vmap each take at least 3 times as long as the "
        "jitted vmap."
    ),
    works=_timed,
    conclude=_overhead,
    source=NOTEBOOK,
)
