"""How many digits do you need? Four floating-point formats, timed and compared."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.lessons.base import Setting
from jaxtui.lessons.figures import (
    All,
    Figures,
    Gives,
    Holds,
    Raises,
    Value,
    fastest,
)
from jaxtui.lessons.trial import Code, Trial, lesson
from jaxtui.model import Case

FORMATS = ("float64", "float32", "float16", "bfloat16")
"""From the most digits to the fewest."""

WORSE = 2.0
"""How many times larger the error of each next format must be."""

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


def _cost_and_error(figures: Figures) -> Mapping[str, Value]:
    found: dict[str, Value] = {}
    errors: dict[str, float] = {}
    for name in FORMATS:
        if (one := figures.measured(name)) is not None:
            found |= {f"{name} bytes": one.bytes, f"{name} error": one.error_vs_float64}
            if one.error_vs_float64 is not None:
                errors[name] = one.error_vs_float64
    known = len(errors) > 1 and figures["float32"] is not None
    if known:
        first, *_, last = errors
        for end, name in (("first", first), ("last", last)):
            found[end] = name
            found[f"{end} bytes"] = found[f"{name} bytes"]
            found[f"{end} error"] = found[f"{name} error"]
        found["complete"] = len(errors) == len(FORMATS)
        found["worse"] = all(
            wider * WORSE <= narrower for wider, narrower in pairwise(errors.values())
        )
    return {
        "products": 1.0 if known else None,
        **found,
        **_speeds_beside_float32(figures),
    }


def _speeds_beside_float32(figures: Figures) -> Mapping[str, Value]:
    """How each format's time stands to that of float32."""
    seconds = {name: time for name in FORMATS if (time := figures[name])}
    single = seconds.get("float32", 0.0)
    faster = [name for name, time in seconds.items() if time * _MUCH < single]
    slower = [name for name, time in seconds.items() if time > single * _MUCH]
    return {
        "faster": fmt.listed(
            [f"{name} {figures.ratio('float32', name)}" for name in faster]
        ),
        "slower": fmt.listed(
            [f"{name} {figures.ratio(name, 'float32')}" for name in slower]
        ),
        "converted": bool({"float16", "bfloat16"} & set(slower)),
    }


# Range or digits.


def _neighbours(figures: Figures) -> Mapping[str, Value]:
    return {
        f"after 1 in {name}": f"{1 + step:.17g}"
        for name in FORMATS
        if (step := figures[f"{name} step"]) is not None
    }


def _has_fewer_digits(figures: Figures) -> bool:
    single = figures["float32 largest"] or 0.0
    largest = figures["bfloat16 largest"] or 0.0
    fewer = (figures["bfloat16 digits"] or 0) < (figures["float16 digits"] or 0)
    overflows = figures.shown("float16 of 70000") == "inf"
    lost = figures["bfloat16 1 + 1/256"] == 1.0
    return fewer and 0.9 * single <= largest <= single and overflows and lost


# Where your float64 went.


def _warnings(figures: Figures) -> Mapping[str, Value]:
    found: dict[str, Value] = {}
    for name in ("taken over", "asked for"):
        value = figures.outcome.values.get(name)
        if value is not None:
            found[f"{name}, warned"] = (
                "with a warning" if value.warnings else "no warning"
            )
    return found


def _is_silent(figures: Figures) -> bool:
    narrow = figures.text("taken over") == "float32"
    return narrow and not figures.outcome.values["taken over"].warnings


# What two dtypes make.


WIDENED, REFUSED = Gives("halves", "float32"), Raises("lax", "TypeError")
WEAK = All(Gives("weak", "bfloat16"), Gives("strong", "float32"))

LESSON = lesson(
    "digits",
    {
        "The same product in four formats": Trial(
            cases=_product_cases,
            budget=8.0,
            derive=_cost_and_error,
            claim=Holds(
                lambda f: f.all_true("worse") if f.all_true("complete") else None,
                "products",
            ),
            answer=fastest(*FORMATS),
        ),
        "Range or digits": Trial(
            code=Code(budget=2.0),
            derive=_neighbours,
            claim=Holds(
                _has_fewer_digits,
                "float16 digits",
                "bfloat16 digits",
                "float32 largest",
                "bfloat16 largest",
            ),
            answer=lambda _: 1,
        ),
        "Where your float64 went": Trial(
            code=(Code(budget=1.0), Code(budget=1.0, x64=True)),
            derive=_warnings,
            claim=All(
                Holds(_is_silent, "taken over", "asked for", numbers=False),
                Gives("taken over, x64", "float64"),
            ),
            answer=lambda f: (
                2 if f.text("taken over") == "float64" else 0 if _is_silent(f) else 1
            ),
        ),
        "What two dtypes make": Trial(
            code=Code(budget=2.0),
            derive=lambda figures: {
                "widened": WIDENED.holds(figures),
                "refused": REFUSED.holds(figures),
                "weakly": WEAK.holds(figures),
            },
            claim=All(WIDENED, REFUSED, WEAK),
            answer=lambda f: {"float16": 0, "bfloat16": 1, "float32": 2}.get(
                f.text("halves") or "", 3
            ),
        ),
    },
    sizes={"cpu": 512, "gpu": 4096, "tpu": 4096},
    minimum=16,
    maximum=16_384,
)
