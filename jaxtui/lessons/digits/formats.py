"""Step 2: Range or digits."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Work

FORMATS = ("float64", "float32", "float16", "bfloat16")
"""From the most digits to the fewest."""


def _table(setting: Setting) -> tuple[Work, ...]:
    parts: list[Part] = []
    for name in FORMATS:
        of = f"jnp.finfo(jnp.{name})"
        parts += [
            Shown(name=f"{name} bits", code=f"{of}.bits"),
            Shown(name=f"{name} digits", code=f"{of}.nmant + 1"),
            Shown(name=f"{name} step", code=f"float({of}.eps)"),
            Shown(name=f"{name} largest", code=f"float({of}.max)"),
            Shown(name=f"{name} smallest", code=f"float({of}.smallest_normal)"),
        ]
    parts += [
        Shown(name="float16 of 70000", code="jnp.float16(70_000)"),
        Shown(name="bfloat16 of 70000", code="jnp.bfloat16(70_000)"),
        Shown(
            name="bfloat16 1 + 1/256", code="jnp.bfloat16(1) + jnp.bfloat16(1 / 256)"
        ),
        Shown(name="float16 1 + 1/256", code="jnp.float16(1) + jnp.float16(1 / 256)"),
    ]
    snippet = Snippet(
        title="Range and digits of four formats",
        setup="",
        parts=tuple(parts),
        budget_seconds=2.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _range_or_digits(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = [
        Row(
            what=f"{name}, {values.whole(outcome.number(f'{name} bits'))} bits",
            yours=_span(outcome, name),
            remark=_digits(outcome, name),
        )
        for name in FORMATS
    ]
    rows += [
        Row(what=f"jnp.{name}(70_000)", yours=values.shown(outcome, f"{name} of 70000"))
        for name in ("float16", "bfloat16")
    ]
    rows += [
        Row(
            what=f"1 + 1/256 in {name}",
            yours=values.shown(outcome, f"{name} 1 + 1/256"),
        )
        for name in ("float16", "bfloat16")
    ]
    half, brain = outcome.number("float16 digits"), outcome.number("bfloat16 digits")
    single = outcome.number("float32 largest")
    largest = outcome.number("bfloat16 largest")
    if half is None or brain is None or single is None or largest is None:
        return words.inconclusive(setting, outcome, rows, "the formats", many=True)
    overflows = values.shown(outcome, "float16 of 70000") == "inf"
    lost = outcome.number("bfloat16 1 + 1/256") == 1.0
    holds = brain < half and 0.9 * single <= largest <= single and overflows and lost
    takeaway = (
        f"Both have 16 bits. float16 spends them on digits, {half:g} binary ones, and "
        f"70000 became {values.shown(outcome, 'float16 of 70000')}. bfloat16 has "
        f"float32's range, up to {largest:.2g}, and {brain:g} digits: 70000 became "
        f"{values.shown(outcome, 'bfloat16 of 70000')}, and 1 + 1/256 gave "
        f"{values.shown(outcome, 'bfloat16 1 + 1/256')}."
    )
    if not holds:
        takeaway += " That is not what the claim says of these formats."
    return Conclusion(rows=tuple(rows), holds=holds, takeaway=takeaway, answer=1)


def _span(outcome: Outcome, name: str) -> str:
    low = outcome.number(f"{name} smallest")
    high = outcome.number(f"{name} largest")
    if low is None or high is None:
        return fmt.ABSENT
    return f"{low:.1e} to {high:.1e}"


def _digits(outcome: Outcome, name: str) -> str:
    digits, step = outcome.number(f"{name} digits"), outcome.number(f"{name} step")
    if digits is None or step is None:
        return ""
    return f"{digits:g} binary digits: 1 and {1 + step:.17g} are neighbours"[:60]


STEP = Step(
    title="Range or digits",
    prose="""\
A floating-point number is a sign, some binary digits, and an exponent. More
digits place neighbouring numbers closer together, a longer exponent reaches
larger and smaller ones. With 16 bits one has to choose:

    float16   1 sign, 5 exponent, 10 digits
    bfloat16  1 sign, 8 exponent,  7 digits

One more digit, the leading one, is never stored. `jnp.finfo` knows all of
this, and the table below is made from it.

Two numbers put it to the test: 70000, which is large, and 1 + 1/256, which
needs nine digits.""",
    question=Question(
        text="What becomes of 70000 in float16?",
        choices=("70000", "Infinity", "The nearest number below, 65504"),
    ),
    claim=(
        "bfloat16 has the range of float32 and fewer digits than float16,"
        " which overflows at 70000."
    ),
    works=_table,
    conclude=_range_or_digits,
)
