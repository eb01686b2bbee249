"""Your own kernel: an activation written in Pallas, beside what XLA makes of it."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.lessons.figures import VALUE_LENGTH, Figures, Holds, Value, quotient
from jaxtui.lessons.trial import Code, Trial, jax_case, lesson

AGREES = 1e-6
"""How much further from float64 than XLA's result the kernel's may be, relative."""


def _error_figures(figures: Figures) -> Mapping[str, Value]:
    kernel = figures.measured("kernel")
    slower = quotient(figures["kernel"], figures["jit"])
    found: dict[str, Value] = {
        "interpreted": kernel is not None and kernel.has("interpreted"),
        "inaccurate": kernel is not None and kernel.has("inaccurate"),
        "slower": slower is not None and slower > 1.1,
        "both": slower is not None,
    }
    for name in ("eager", "jit", "kernel"):
        one = figures.measured(name)
        found[f"{name} error"] = one.error_vs_float64 if one else None
    return found


def _is_right(figures: Figures) -> bool:
    apart = (figures["kernel error"] or 0.0) - (figures["jit error"] or 0.0)
    return abs(apart) <= AGREES and not figures.all_true("inaccurate")


def _compile_figures(figures: Figures) -> Mapping[str, Value]:
    value = figures.outcome.values.get("compiled for this device")
    error = (value.error if value else None) or ""
    return {
        "refused": bool(error),
        "error": fmt.shorten(error, VALUE_LENGTH),
        "same": figures.all_true("same as jit"),
    }


def _by_platform(figures: Figures) -> bool | None:
    """On a CPU the half of the claim that is about accelerators stays open."""
    if not figures.all_true("same") or figures["refused"] == figures["accelerated"]:
        return False
    return True if figures["accelerated"] else None


LESSON = lesson(
    "kernel",
    {
        "A kernel and its result": Trial(
            cases=lambda setting: {
                "eager": jax_case(setting.device, "selu", setting.size, "eager"),
                "jit": jax_case(setting.device, "selu", setting.size),
                "kernel": jax_case(setting.device, "selu", setting.size, "pallas"),
            },
            derive=_error_figures,
            claim=Holds(_is_right, "kernel error", "jit error"),
            answer=lambda figures: 0 if figures["holds"] else 1,
        ),
        "Blocks and the grid": Trial(
            code=Code(
                budget=4.0,
                names=lambda setting: {"interpret": not setting.accelerated},
            ),
            derive=_compile_figures,
            claim=Holds(
                _by_platform,
                "compiled for this device",
                "same as jit",
                "blocks",
                numbers=False,
            ),
            answer=lambda figures: 1 if figures["refused"] else 0,
        ),
    },
    sizes={"cpu": 1 << 18, "gpu": 1 << 20, "tpu": 1 << 20},
    minimum=1,
    maximum=1 << 28,
)
