"""How many digits do you need? Four floating-point formats, timed and compared."""

from __future__ import annotations

from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Case, Experiment, Measurement, Part, Shown, Snippet, Work

FORMATS = ("float64", "float32", "float16", "bfloat16")
"""From the most digits to the fewest."""

WORSE = 2.0
"""How many times larger the error of each next format must be."""

_MUCH = 1.25
"""Times that differ by less count as about the same."""

DOCUMENTED = "JAX documentation, Type promotion semantics: "
PROMOTION = f"{DOCUMENTED}https://docs.jax.dev/en/latest/type_promotion.html"


# Step 1


def _products(setting: Setting) -> tuple[Work, ...]:
    compared = tuple(
        Case(
            op="matmul",
            size=setting.size,
            dtype=dtype,
            precision="highest",
            device=setting.device,
            mode="jit",
        )
        for dtype in FORMATS
    )
    return (Experiment(cases=compared, budget_seconds=8.0),)


def _cost_and_error(setting: Setting, outcome: Outcome) -> Conclusion:
    found = {dtype: outcome.find(dtype=dtype) for dtype in FORMATS}
    rows = tuple(
        Row(
            what=dtype,
            yours=words.duration(words.ready(one)),
            remark=words.trouble(outcome, dtype=dtype) or _memory_and_error(one),
        )
        for dtype, one in found.items()
    )
    errors = {
        dtype: one.error_vs_float64
        for dtype, one in found.items()
        if one and one.error_vs_float64 is not None
    }
    seconds = {
        dtype: time for dtype, one in found.items() if (time := words.ready(one))
    }
    if len(errors) < 2 or "float32" not in seconds:
        return words.inconclusive(setting, outcome, rows, "the products", many=True)
    holds = all(
        wider * WORSE <= narrower for wider, narrower in pairwise(errors.values())
    )
    first, last = next(iter(errors)), list(errors)[-1]
    takeaway = [
        f"From {first} to {last} the error grew from {fmt.error(errors[first])} to "
        f"{fmt.error(errors[last])}, and the three matrices shrank from "
        f"{_memory(found[first])} to {_memory(found[last])}.",
        _about_times(setting, seconds),
    ]
    if not holds:
        takeaway.insert(
            1,
            f"Not every step made it {WORSE:g} times larger, as the claim says it "
            "would: the device may compute in another format than it stores.",
        )
    fastest = min(seconds, key=seconds.__getitem__)
    return Conclusion(
        rows=rows,
        holds=holds if len(errors) == len(FORMATS) else None,
        takeaway=" ".join(takeaway),
        answer=FORMATS.index(fastest),
    )


def _memory_and_error(one: Measurement | None) -> str:
    if one is None:
        return ""
    return f"{_memory(one)}, error {fmt.error(one.error_vs_float64)}"


def _memory(one: Measurement | None) -> str:
    return fmt.bytes_text(one.bytes if one else None)


def _about_times(setting: Setting, seconds: dict[str, float]) -> str:
    """How each format's time stands to that of float32."""
    single = seconds["float32"]
    faster = [name for name, time in seconds.items() if time * _MUCH < single]
    slower = [name for name, time in seconds.items() if time > single * _MUCH]
    said = [f"float32 took {words.duration(single)} on {setting.device}."]
    if faster:
        parts = [f"{name} {words.ratio(single, seconds[name])}" for name in faster]
        said.append(f"Faster than it: {words.listing(parts)}.")
    if slower:
        parts = [f"{name} {words.ratio(seconds[name], single)}" for name in slower]
        said.append(f"Slower: {words.listing(parts)}.")
    if {"float16", "bfloat16"} & set(slower):
        said.append(
            "Fewer bytes are no gain where the chip has no arithmetic for the format "
            "and converts every number first."
        )
    elif not faster:
        said.append("So fewer digits save memory here, and no time.")
    return " ".join(said)


# Step 2


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


# Step 3

_NUMBER = 2**24 + 1
"""The first whole number that float32 does not have."""


def _truncated(setting: Setting) -> tuple[Work, ...]:
    setup = f"wide = np.array([{_NUMBER}.0])  # NumPy's float64\n"
    narrow = Snippet(
        title="float64 data in JAX, as it is by default",
        setup=setup,
        parts=(
            Shown(name="NumPy", code="wide.dtype"),
            Shown(name="taken over", code="jnp.asarray(wide).dtype"),
            Shown(name="its value", code="int(jnp.asarray(wide)[0])"),
            Shown(name="asked for", code='jnp.zeros(3, dtype="float64").dtype'),
        ),
        budget_seconds=1.0,
        device=values.chosen(setting),
    )
    wide = Snippet(
        title="float64 data in JAX with jax_enable_x64",
        setup=setup,
        parts=(
            Shown(name="taken over, x64", code="jnp.asarray(wide).dtype"),
            Shown(name="its value, x64", code="int(jnp.asarray(wide)[0])"),
            Shown(name="integers, x64", code="jnp.arange(3).dtype"),
        ),
        budget_seconds=1.0,
        device=values.chosen(setting),
        x64=True,
    )
    return (narrow, wide)


def _silently(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (
        Row(what="NumPy's own", yours=values.shown(outcome, "NumPy")),
        Row(
            what="jnp.asarray of it",
            yours=values.shown(outcome, "taken over"),
            remark=_warned(outcome, "taken over"),
        ),
        Row(
            what=f"where {_NUMBER} became",
            yours=values.shown(outcome, "its value"),
        ),
        Row(
            what="jnp.zeros, float64 asked for",
            yours=values.shown(outcome, "asked for"),
            remark=_warned(outcome, "asked for"),
        ),
        Row(
            what="jnp.asarray with x64",
            yours=values.shown(outcome, "taken over, x64"),
            remark=f"{_NUMBER} stays {values.shown(outcome, 'its value, x64')}",
        ),
    )
    if gone := values.absent(outcome, "taken over", "asked for", "taken over, x64"):
        return words.inconclusive(setting, outcome, rows, *gone)
    got, asked = outcome.text("taken over"), outcome.text("asked for")
    silent = got == "float32" and not outcome.values["taken over"].warnings
    cured = outcome.text("taken over, x64") == "float64"
    value = values.shown(outcome, "its value")
    if silent and cured:
        takeaway = (
            f"jnp.asarray made {got} of float64 without a word, and {_NUMBER} became "
            f"{value}. Asking for float64 by name gave {asked}, "
            f"{_warned(outcome, 'asked for')}. With jax_enable_x64 the array stayed "
            "float64. Set it at the start of a program, not halfway: whole numbers "
            f"are {values.shown(outcome, 'integers, x64')} from then on, too."
        )
    else:
        takeaway = (
            f"jnp.asarray gave {got}, {_warned(outcome, 'taken over')}; with x64 it "
            f"gave {outcome.text('taken over, x64')}. This JAX does not behave as the "
            "claim says."
        )
    return Conclusion(
        rows=rows,
        holds=silent and cured,
        takeaway=takeaway,
        answer=2 if got == "float64" else 0 if silent else 1,
    )


def _warned(outcome: Outcome, name: str) -> str:
    value = outcome.values.get(name)
    if value is None:
        return ""
    return "with a warning" if value.warnings else "no warning"


# Step 4


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


LESSON = Lesson(
    name="digits",
    title="How many digits do you need?",
    summary="Four formats: their time, memory, error and range; and what mixes them.",
    size_means="n of n×n",
    sizes={"cpu": 512, "gpu": 4096, "tpu": 4096},
    minimum=16,
    maximum=16_384,
    steps=(
        Step(
            title="The same product in four formats",
            prose="""\
A format with fewer digits takes less memory and less bandwidth, and on chips
made for it the arithmetic is faster too. What it costs is precision.

Here the same product of two n×n matrices runs in float64, float32, float16
and bfloat16. The table has the time, the bytes of its three matrices, and the
error: the largest deviation from the product in float64 of the same inputs,
relative to the largest element.

All products are asked for in full precision, `precision="highest"`. By
default a TPU or GPU may round the inputs of a float32 product first, which is
faster and a different question. float64 runs with x64 switched on for it.""",
            question=Question(
                text="Which format will be the fastest on this device?",
                choices=FORMATS,
            ),
            claim="Each format with fewer digits has at least twice the error.",
            works=_products,
            conclude=_cost_and_error,
        ),
        Step(
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
        ),
        Step(
            title="Where your float64 went",
            prose="""\
NumPy computes in float64 unless told otherwise. JAX computes in float32: its
64-bit types are switched off, because accelerators are slow in them or have
none.

An array that comes from NumPy is converted on its way. The number 16777217 is
2²⁴ + 1, the first whole number that float32 does not have.

    wide = np.array([16777217.0])
    jnp.asarray(wide)

The same lines then run once more with `jax_enable_x64`. In a program it is
set before anything else happens:

    jax.config.update("jax_enable_x64", True)""",
            question=Question(
                text="What does `jnp.asarray` make of the float64 array?",
                choices=("float32, silently", "float32, with a warning", "float64"),
            ),
            claim=(
                "Without x64 a float64 array becomes float32 without a warning; with"
                " x64 it stays float64."
            ),
            works=_truncated,
            conclude=_silently,
        ),
        Step(
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
        ),
    ),
)
