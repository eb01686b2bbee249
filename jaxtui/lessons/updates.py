"""Arrays do not change: what an update is where nothing can be assigned."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.lessons.figures import (
    All,
    AtLeast,
    Equals,
    Figures,
    Holds,
    IsTrue,
    Raises,
    Value,
    bracket,
)
from jaxtui.lessons.trial import Code, Trial, lesson

FAR = 5.0
"""How many times faster an update in place must be to count as one."""

TEN = tuple(map(float, range(10)))


METHODS = ("set", "add", "multiply", "divide", "power", "min", "max", "apply", "get")
"""The nine methods of ``.at[]``."""


def _differing(figures: Figures) -> list[str]:
    return [name for name in METHODS if not figures.all_true(f"same {name}")]


def _agreement(figures: Figures) -> Mapping[str, Value]:
    other = _differing(figures)
    return {
        "agree": len(METHODS) - len(other),
        "others": fmt.listed(other),
        "added twice": len(figures.numbers("JAX twice")) == 4,
        **{f"{name} differs": name in other for name in METHODS},
    }


def _methods_answer(figures: Figures) -> int | None:
    other = _differing(figures)
    return 0 if not other else 1 if {*other} <= {"power", "divide"} else None


# Out of bounds.

MODES = ("clip", "drop", "fill")
BOTH = [f"{what} {mode}" for mode in MODES for what in ("get", "set")]


def _documented(figures: Figures) -> Mapping[str, Value]:
    right = (
        figures["get clip"] == 9
        and figures["get fill"] == -1
        and figures.numbers("set clip") == (*TEN[:9], 100.0)
        and figures.numbers("set drop") == figures.numbers("set fill") == TEN
    )
    return {
        "quiet": all(map(figures.succeeded, BOTH)),
        "right": right,
        **{
            f"set, {mode}": _changes(figures, f"set {mode}")
            for mode in ("default", *MODES, "promise_in_bounds")
        },
    }


def _changes(figures: Figures, name: str) -> str:
    """What an update of ``range(10)`` has changed, in words."""
    found = figures.numbers(name)
    if len(found) != 10:
        return figures.shown(name)
    changed = [
        f"{'the last' if i == 9 else f'element {i}'} becomes {found[i]:g}"
        for i in range(10)
        if found[i] != i
    ]
    return ", ".join(changed) or "unchanged"


def _default_answer(figures: Figures) -> int | None:
    if not figures.succeeded("get default"):
        return 0
    return {9.0: 1, 0.0: 2}.get(figures["get default"] or 0.0)


REFUSED = All(Raises("JAX", "TypeError"), Raises("index", "TypeError"))

LESSON = lesson(
    "updates",
    {
        "Assignment raises": Trial(
            code=Code(budget=2.0),
            derive=lambda figures: {
                "new element": dict(enumerate(figures.numbers("new array"))).get(5),
                "old element": dict(enumerate(figures.numbers("old array"))).get(5),
            },
            claim=All(
                Raises("JAX", "TypeError"),
                Equals("new array", (*TEN[:5], 100.0, *TEN[6:])),
                Equals("old array", TEN),
            ),
            answer=lambda figures: 1 if figures.failed_with("JAX", "TypeError") else 0,
        ),
        "Nine ways to update": Trial(
            code=Code(budget=4.0),
            derive=_agreement,
            claim=IsTrue(*(f"same {name}" for name in METHODS)),
            answer=_methods_answer,
        ),
        "What an update costs": Trial(
            code=Code(budget=5.0, memory=lambda n: 6 * 4 * n),
            derive=lambda figures: {
                "copied": 8.0 * figures.setting.size,
                "array": 4.0 * figures.setting.size,
            },
            claim=AtLeast("jit", FAR, "donated"),
            answer=bracket("jit", "donated", 1.5, FAR),
        ),
        "Out of bounds": Trial(
            derive=_documented,
            claim=All(
                Raises("NumPy", "IndexError"),
                Holds(
                    lambda figures: figures.all_true("quiet", "right"),
                    "get default",
                    "set default",
                    *BOTH,
                    numbers=False,
                ),
            ),
            answer=_default_answer,
        ),
        "Lists are not arrays": Trial(
            code=Code(budget=2.0),
            claim=All(
                REFUSED,
                Equals("NumPy", (31380,)),
                Equals("array", (31380,)),
            ),
            answer=lambda figures: 2 if REFUSED.holds(figures) else 0,
        ),
    },
    sizes={"cpu": 10_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=100_000,
    maximum=1_000_000_000,
)
