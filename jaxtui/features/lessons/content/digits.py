"""The number of digits you need: four floating-point formats, timed and compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row, Setting
from jaxtui.features.lessons.figures import Figures, count, fastest
from jaxtui.features.lessons.trial import Code, Trial, lesson
from jaxtui.format import bytes_text, seconds
from jaxtui.model import Case

FORMATS = ("float64", "float32", "float16", "bfloat16")
"""The formats from the most digits to the fewest."""

WORSE = 2.0
"""The factor by which the error of each next format must be larger."""

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
    measured = {
        name: m for name in FORMATS if (m := figures.measured(name)) is not None
    }
    error = {name: m.error_vs_float64 for name, m in measured.items()}
    errors = {product: value for product, value in error.items() if value is not None}

    def row(name: str) -> Row:
        remark = ""
        if (product := measured.get(name)) is not None:
            remark = f"{bytes_text(product.bytes)}, error {fmt.error(error[name])}"
        return figures.row(name, name, remark=remark)

    rows, times = tuple(map(row, FORMATS)), [figures[name] for name in FORMATS]
    if len(errors) < 2 or "float32" not in measured:
        return Conclusion(rows=rows, holds=None)
    first, *_, last = errors
    worse = all(wide * WORSE <= narrow for wide, narrow in pairwise(errors.values()))
    single = figures["float32"]
    faster = [name for name in measured if figures[name] * _MUCH < single]
    slower = [name for name in measured if figures[name] > single * _MUCH]
    by = fmt.listed([f"{name} {figures.ratio('float32', name)}" for name in faster])
    behind = fmt.listed([f"{name} {figures.ratio(name, 'float32')}" for name in slower])
    converted = bool({"float16", "bfloat16"} & {*slower})
    return Conclusion(
        holds=worse if len(errors) == len(FORMATS) else None,
        answer=fastest(*times),
        rows=rows,
        sentences=(
            f"From {first} to {last} the error grew from {fmt.error(errors[first])} to "
            f"{fmt.error(errors[last])}, and the three matrices shrank from "
            f"{bytes_text(measured[first].bytes)} to "
            f"{bytes_text(measured[last].bytes)}.",
            ""
            if worse
            else "Not every format with fewer digits has 2 times the error: the "
            "device may compute in another format than it stores.",
            f"float32 took {seconds(single)} on {figures.setting.device}.",
            f"Faster than it: {by}." if faster else "",
            f"Slower: {behind}." if slower else "",
            "Fewer bytes gain nothing where the chip has no arithmetic for the format "
            "and converts every number first."
            if converted
            else "",
            "Here fewer digits save memory, but no time."
            if not converted and not faster
            else "",
        ),
    )


# Range or digits.


def _formats(figures: Figures) -> Conclusion:
    digits, fewer = figures["float16 digits"], figures["bfloat16 digits"]
    largest, single = figures["bfloat16 largest"], figures["float32 largest"]
    overflow, finite = figures.shown("float16 of 70000"), "bfloat16 of 70000"
    absorbed = figures["bfloat16 1 + 1/256"]

    def row(name: str) -> Row:
        ends = figures[f"{name} smallest"], figures[f"{name} largest"]
        low, high = (fmt.ABSENT if math.isnan(end) else f"{end:.1e}" for end in ends)
        remark, step = "", figures[f"{name} step"]
        if not math.isnan(step):
            places = count(figures[f"{name} digits"])
            remark = f"{places} binary digits: 1 and {1 + step:.17g} are neighbours"
        bits = count(figures[f"{name} bits"])
        return Row(f"{name}, {bits} bits", f"{low} to {high}", remark=remark)

    return Conclusion(
        holds=fewer < digits
        and 0.9 * single <= largest <= single
        and overflow == "inf"
        and absorbed == 1.0,
        answer=1,
        rows=(
            *map(row, FORMATS),
            figures.row("jnp.float16(70_000)", "float16 of 70000"),
            figures.row("jnp.bfloat16(70_000)", finite),
            figures.row("1 + 1/256 in float16", "float16 1 + 1/256"),
            figures.row("1 + 1/256 in bfloat16", "bfloat16 1 + 1/256"),
        ),
        sentences=(
            "Both have 16 bits.",
            f"float16 spends them on digits, {count(digits)} binary ones, and 70000 "
            f"became {overflow}. bfloat16 has float32's range, up to {largest:.2g}, "
            f"and {count(fewer)} digits: 70000 became {figures.shown(finite)}, and 1 + "
            f"1/256 gave {figures.shown('bfloat16 1 + 1/256')}.",
        ),
    )


# Where your float64 went.


def _float64(figures: Figures) -> Conclusion:
    row, shown = figures.row, figures.shown
    over, wide = shown("taken over"), shown("taken over, x64")

    def warned(name: str) -> str:
        value = figures.value(name)
        if value is None:
            return ""
        return "with a warning" if value.warnings else "no warning"

    silent = over == "float32" and warned("taken over") == "no warning"
    holds = silent and wide == "float64"
    held = (
        f"jnp.asarray silently made {over} of float64, and 16777217 became "
        f"{shown('its value')}.",
        f"Asking for float64 by name gave {shown('asked for')}, {warned('asked for')}. "
        "With jax_enable_x64 the array stayed float64. Set it at the start of a "
        f"program, not halfway: whole numbers are {shown('integers, x64')} from then "
        "on, too.",
    )
    failed = (
        f"jnp.asarray gave {over}, {warned('taken over')}; with x64 it gave {wide}.",
        "This JAX behaves differently.",
    )
    return Conclusion(
        holds=holds,
        answer=2 if over == "float64" else 0 if silent else 1,
        rows=(
            row("NumPy's own", "NumPy"),
            row("jnp.asarray of it", "taken over", remark=warned("taken over")),
            row("where 16777217 became", "its value"),
            row(
                "jnp.zeros, float64 asked for", "asked for", remark=warned("asked for")
            ),
            row(
                "jnp.asarray with x64",
                "taken over, x64",
                remark=f"16777217 stays {shown('its value, x64')}",
            ),
        ),
        sentences=held if holds else failed,
    )


# When two dtypes meet.


def _promotion(figures: Figures) -> Conclusion:
    row, shown = figures.row, figures.shown
    halves, weak, strong = shown("halves"), shown("weak"), shown("strong")
    widened, refused = halves == "float32", figures.failed_with("lax", "TypeError")
    weakly = weak == "bfloat16" and strong == "float32"
    why = (
        ": neither holds the other's numbers, so JAX takes the smallest format that "
        "holds both"
        if widened
        else ""
    )
    return Conclusion(
        holds=widened and refused and weakly,
        answer={"float16": 0, "bfloat16": 1, "float32": 2}.get(halves, 3),
        rows=(
            row("float16 + bfloat16", "halves", "float32"),
            Row("lax.add of the same two", shown("lax", 44), "TypeError"),
            Row("lax.add(42, 42.0)", shown("lax, numbers", 44)),
            row(
                "bfloat16 + 2.5", "weak", "bfloat16", "a Python number is weakly typed"
            ),
            row(
                "bfloat16 + np.float32(2.5)",
                "strong",
                "float32",
                "a NumPy number is not",
            ),
            row(
                "int32 + float16", "integer", "float16", f"NumPy says {shown('NumPy')}"
            ),
        ),
        sentences=(
            f"float16 + bfloat16 gave {halves}{why}.",
            "lax.add refused to choose: jax.lax converts nothing by itself."
            if refused
            else f"lax.add gave {shown('lax')}.",
            f"2.5 took over the array's dtype, {weak}; np.float32(2.5) made {strong} "
            "of it. One NumPy number is enough to double the memory of a model."
            if weakly
            else f"With 2.5 it was {weak}, with np.float32(2.5) {strong}.",
        ),
    )


LESSON = lesson(
    "digits",
    {
        "The same product in four formats": Trial(
            _products, cases=_product_cases, budget=8.0
        ),
        "Range or digits": Trial(
            _formats,
            Code(2.0),
            needs=(
                "float16 digits",
                "bfloat16 digits",
                "float32 largest",
                "bfloat16 largest",
            ),
        ),
        "Where your float64 went": Trial(
            _float64,
            (Code(1.0), Code(1.0, x64=True)),
            needs=("taken over", "asked for", "taken over, x64"),
        ),
        "When two dtypes meet": Trial(
            _promotion, Code(2.0), needs=("halves", "lax", "weak", "strong")
        ),
    },
    sizes={"cpu": 512, "gpu": 4096, "tpu": 4096},
    minimum=16,
    maximum=16_384,
)
