"""The number of digits you need: four floating-point formats, timed and compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from jaxtui.core import format as fmt
from jaxtui.core.format import bytes_text, seconds
from jaxtui.core.model import Case
from jaxtui.features.lessons.base import Conclusion, Setting
from jaxtui.features.lessons.figures import Figures, MissingError, count, fastest
from jaxtui.features.lessons.trial import Code, Trial, lesson

FORMATS = ("float64", "float32", "float16", "bfloat16")
"""The formats from the most digits to the fewest."""

_MUCH = 1.25
"""Times that differ by less count as about the same."""


# The same product in four formats.


def _product_cases(setting: Setting) -> Mapping[str, Case]:
    return {
        dtype: Case(
            op="matmul",
            size=setting.size,
            dtype=dtype,
            precision="highest",
            device=setting.device,
            mode="jit",
        )
        for dtype in FORMATS
    }


def _products(figures: Figures) -> Conclusion:
    single = figures["float32"]
    measured = {name: m for name in FORMATS if (m := figures.find(name)) is not None}
    errors = {
        name: product.error_vs_float64
        for name, product in measured.items()
        if product.error_vs_float64 is not None
    }
    if len(errors) < 2:
        raise MissingError("float16")

    def remark(name: str) -> str:
        if (product := measured.get(name)) is None:
            return ""
        return f"{bytes_text(product.bytes)}, error {fmt.error(errors.get(name))}"

    first, *_, last = errors
    worse = all(wide * 2 <= narrow for wide, narrow in pairwise(errors.values()))
    faster = [name for name in measured if figures[name] * _MUCH < single]
    slower = [name for name in measured if figures[name] > single * _MUCH]
    by = fmt.listed(f"{name} {figures.ratio('float32', name)}" for name in faster)
    behind = fmt.listed(f"{name} {figures.ratio(name, 'float32')}" for name in slower)
    sentences = [
        f"From {first} to {last} the error grew from {fmt.error(errors[first])} to"
        f" {fmt.error(errors[last])}, and the three matrices shrank from"
        f" {bytes_text(measured[first].bytes)} to {bytes_text(measured[last].bytes)}.",
        ""
        if worse
        else "Not every format with fewer digits has 2 times the error: the device may"
        " compute in another format than it stores.",
        f"float32 took {seconds(single)} on {figures.setting.device}.",
        f"Faster than it: {by}." if faster else "",
        f"Slower: {behind}." if slower else "",
    ]
    if {"float16", "bfloat16"} & {*slower}:
        sentences.append(
            "Fewer bytes gain nothing where the chip has no arithmetic for the format"
            " and converts every number first."
        )
    elif not faster:
        sentences.append("Here fewer digits save memory, but no time.")
    return Conclusion(
        worse if len(errors) == len(FORMATS) else None,
        fastest(*map(figures.get, FORMATS)),
        figures.table(*((name, name, "", remark(name)) for name in FORMATS)),
        sentences,
    )


# Range or digits.


def _formats(figures: Figures) -> Conclusion:
    digits, fewer = figures["float16 digits"], figures["bfloat16 digits"]
    largest, single = figures["bfloat16 largest"], figures["float32 largest"]
    overflow, finite = (figures.text(f"{f} of 70000") for f in ("float16", "bfloat16"))
    absorbed = figures["bfloat16 1 + 1/256"]

    def row(name: str) -> tuple[object, ...]:
        ends = figures.get(f"{name} smallest"), figures.get(f"{name} largest")
        low, high = (fmt.ABSENT if math.isnan(end) else f"{end:.1e}" for end in ends)
        places, neighbour = figures[f"{name} digits"], 1 + figures[f"{name} step"]
        remark = f"{count(places)} binary digits: 1 and {neighbour:.17g} are neighbours"
        bits = count(figures[f"{name} bits"])
        return f"{name}, {bits} bits", (f"{low} to {high}",), "", remark

    rows = figures.table(
        *map(row, FORMATS),
        ("jnp.float16(70_000)", "float16 of 70000"),
        ("jnp.bfloat16(70_000)", "bfloat16 of 70000"),
        ("1 + 1/256 in float16", "float16 1 + 1/256"),
        ("1 + 1/256 in bfloat16", "bfloat16 1 + 1/256"),
    )
    sentences = (
        "Both have 16 bits.",
        f"float16 spends them on digits, {count(digits)} binary ones, and 70000 became"
        f" {overflow}. bfloat16 has float32's range, up to {largest:.2g}, and"
        f" {count(fewer)} digits: 70000 became {finite}, and 1 + 1/256 gave"
        f" {absorbed:g}.",
    )
    as_wide = 0.9 * single <= largest <= single
    holds = fewer < digits and as_wide and overflow == "inf" and absorbed == 1
    return Conclusion(holds, 1, rows, sentences)


# Where your float64 went.


def _float64(figures: Figures) -> Conclusion:
    text, names = figures.text, ("taken over", "taken over, x64", "asked for")
    over, wide, named = map(text, names)

    def warned(name: str) -> str:
        return "with a warning" if figures.value(name).warnings else "no warning"

    silent = over == "float32" and warned("taken over") == "no warning"
    holds = silent and wide == "float64"
    stays = f"16777217 stays {figures.cell('its value, x64')}"
    rows = figures.table(
        ("NumPy's own", "NumPy"),
        ("jnp.asarray of it", "taken over", "", warned("taken over")),
        ("where 16777217 became", "its value"),
        ("jnp.zeros, float64 asked for", "asked for", "", warned("asked for")),
        ("jnp.asarray with x64", "taken over, x64", "", stays),
    )
    sentences = (
        f"jnp.asarray gave {over}, {warned('taken over')}; with x64 it gave {wide}.",
        "This JAX behaves differently.",
    )
    if holds:
        sentences = (
            f"jnp.asarray silently made {over} of float64, and 16777217 became"
            f" {text('its value')}.",
            f"Asking for float64 by name gave {named}, {warned('asked for')}. With"
            " jax_enable_x64 the array stayed float64. Set it at the start of a"
            f" program, not halfway: whole numbers are {text('integers, x64')} from"
            " then on, too.",
        )
    answer = 2 if over == "float64" else 0 if silent else 1
    return Conclusion(holds, answer, rows, sentences)


# When two dtypes meet.


def _promotion(figures: Figures) -> Conclusion:
    halves, weak, strong = map(figures.text, ("halves", "weak", "strong"))
    widened, refused = halves == "float32", figures.raised("lax", "TypeError")
    weakly = weak == "bfloat16" and strong == "float32"
    numpy = f"NumPy says {figures.cell('NumPy')}"
    rows = figures.table(
        ("float16 + bfloat16", "halves", "float32"),
        ("lax.add of the same two", "lax", "TypeError"),
        ("lax.add(42, 42.0)", "lax, numbers"),
        ("bfloat16 + 2.5", "weak", "bfloat16", "a Python number is weakly typed"),
        ("bfloat16 + np.float32(2.5)", "strong", "float32", "a NumPy number is not"),
        ("int32 + float16", "integer", "float16", numpy),
    )
    why = (
        ": neither holds the other's numbers, so JAX takes the smallest format that"
        " holds both"
    )
    sentences = (
        f"float16 + bfloat16 gave {halves}{why if widened else ''}.",
        "lax.add refused to choose: jax.lax converts nothing by itself."
        if refused
        else f"lax.add gave {figures.text('lax')}.",
        f"2.5 took over the array's dtype, {weak}; np.float32(2.5) made {strong} of it."
        " One NumPy number is enough to double the memory of a model."
        if weakly
        else f"With 2.5 it was {weak}, with np.float32(2.5) {strong}.",
    )
    answer = {"float16": 0, "bfloat16": 1, "float32": 2}.get(halves, 3)
    return Conclusion(widened and refused and weakly, answer, rows, sentences)


LESSON = lesson(
    "digits",
    Trial(_products, cases=_product_cases, budget=8.0),
    Trial(_formats, Code(2.0)),
    Trial(_float64, (Code(1.0), Code(1.0, x64=True))),
    Trial(_promotion, Code(2.0)),
    sizes={"cpu": 512, "gpu": 4096, "tpu": 4096},
    limits=(16, 16_384),
)
