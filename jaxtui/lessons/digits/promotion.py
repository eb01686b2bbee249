"""Step 4: What two dtypes make."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Work

DOCUMENTED = "JAX documentation, Type promotion semantics: "

PROMOTION = f"{DOCUMENTED}https://docs.jax.dev/en/latest/type_promotion.html"


def _mixed(setting: Setting) -> tuple[Work, ...]:
    parts = (
        Shown(name="halves", code="(half + brain).dtype"),
        Shown(name="lax", code="lax.add(half, brain)", raises=True),
        Shown(name="lax, numbers", code="lax.add(42, 42.0)", raises=True),
        Shown(name="weak", code="(brain + 2.5).dtype"),
        Shown(name="strong", code="(brain + np.float32(2.5)).dtype"),
        Shown(name="is weak", code="jnp.asarray(2.5).weak_type"),
        Shown(name="integer", code="(jnp.int32(1) + half).dtype"),
        Shown(name="NumPy", code="(np.int32(1) + np.float16(1)).dtype"),
    )
    snippet = Snippet(
        title="What comes of two dtypes",
        setup="half, brain = jnp.float16(1), jnp.bfloat16(1)\n",
        parts=parts,
        budget_seconds=2.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _promoted(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (
        Row(
            what="float16 + bfloat16",
            yours=values.shown(outcome, "halves"),
            published="float32",
        ),
        Row(
            what="lax.add of the same two",
            yours=values.shown(outcome, "lax", 44),
            published="TypeError",
        ),
        Row(what="lax.add(42, 42.0)", yours=values.shown(outcome, "lax, numbers", 44)),
        Row(
            what="bfloat16 + 2.5",
            yours=values.shown(outcome, "weak"),
            published="bfloat16",
            remark="a Python number is weakly typed",
        ),
        Row(
            what="bfloat16 + np.float32(2.5)",
            yours=values.shown(outcome, "strong"),
            published="float32",
            remark="a NumPy number is not",
        ),
        Row(
            what="int32 + float16",
            yours=values.shown(outcome, "integer"),
            published="float16",
            remark=f"NumPy says {values.shown(outcome, 'NumPy')}",
        ),
    )
    if gone := values.absent(outcome, "halves", "lax", "weak", "strong"):
        return words.inconclusive(setting, outcome, rows, *gone)
    widened = outcome.text("halves") == "float32"
    refused = values.raised(outcome, "lax", "TypeError")
    weak = outcome.text("weak") == "bfloat16" and outcome.text("strong") == "float32"
    said = [
        f"float16 + bfloat16 gave {outcome.text('halves')}: neither holds the other's "
        "numbers, so JAX takes the smallest format that holds both."
        if widened
        else f"float16 + bfloat16 gave {outcome.text('halves')}.",
        "lax.add refused to choose: jax.lax converts nothing by itself."
        if refused
        else f"lax.add gave {values.shown(outcome, 'lax')}.",
        f"2.5 took over the array's dtype, {outcome.text('weak')}; np.float32(2.5) "
        f"made {outcome.text('strong')} of it. One NumPy number is enough to double "
        "the memory of a model."
        if weak
        else f"With 2.5 it was {outcome.text('weak')}, with np.float32(2.5) "
        f"{outcome.text('strong')}.",
    ]
    given = outcome.text("halves")
    kinds = ("float16", "bfloat16", "float32")
    return Conclusion(
        rows=rows,
        holds=widened and refused and weak,
        takeaway=" ".join(said),
        answer=kinds.index(given) if given in kinds else 3,
    )


STEP = Step(
    title="What two dtypes make",
    prose="""\
An operator on arrays of two dtypes converts both to one that is chosen by
rule. JAX's rules favour narrow types, because memory is what accelerators run
short of: an integer joins the float's format, whatever its width.

Numbers written in Python are weakly typed. They say that they are floats, not
how wide, and take over the dtype of the array that they meet. A number from
NumPy carries its dtype with it.

`jax.lax`, the layer below `jax.numpy`, converts nothing:

    jnp.float16(1) + jnp.bfloat16(1)
    lax.add(jnp.float16(1), jnp.bfloat16(1))""",
    question=Question(
        text="What is the dtype of float16 + bfloat16?",
        choices=("float16", "bfloat16", "float32", "An error"),
    ),
    claim=(
        "float16 + bfloat16 is float32, `lax.add` refuses to mix them, and a"
        " Python number takes the array's dtype."
    ),
    works=_mixed,
    conclude=_promoted,
    source=PROMOTION,
)
