"""A gradient is a function: exact, in two modes, and cheap."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from jaxtui.lessons.base import Setting
from jaxtui.lessons.figures import (
    All,
    AtLeast,
    AtMost,
    Equals,
    Figures,
    Holds,
    Present,
    Value,
    decimals,
    near,
    quotient,
)
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.trial import Code, Trial, lesson, snippet_device
from jaxtui.plot import Axis, Picture, Series

LOGISTIC = (0.25, 0.19661, 0.10499)
"""The gradient of ``sum_logistic`` at [0, 1, 2], as published."""

CHEAPER = 3.0
"""How many times cheaper the fitting mode must be."""

CHEAP = 8.0
"""How many values a value and its gradient may cost together."""

STEPS = 20
"""Of gradient descent."""


def _distances(figures: Figures) -> Mapping[str, Value]:
    grad = figures.numbers("grad")
    found: dict[str, Value] = {}
    for name in ("differences", "formula"):
        other = figures.numbers(name)
        if other and len(other) == len(grad):
            apart = max(abs(a - b) for a, b in zip(other, grad, strict=True))
            found[f"{name} off"] = apart
    return found


# Which of three is right?

_AT = ("11", "0.5")
"""Where the two polynomials are differentiated; the first is the published one."""

_DERIVATIVES = ("hand", "grad f", "grad g", "diff f", "diff g")


def _agree(figures: Figures, one: str, other: str) -> bool:
    return near(figures.numbers(one), figures.numbers(other), 1e-4)


def _is_right_sign(figures: Figures) -> bool:
    """The derivative by hand is that of f and not that of g."""
    return all(
        _agree(figures, f"grad f {at}", f"hand {at}")
        and not _agree(figures, f"grad g {at}", f"hand {at}")
        for at in _AT
    )


def _differences_agree(figures: Figures) -> bool:
    names = [f"{name} {at}" for name in ("f", "g") for at in _AT]
    return all(_agree(figures, f"grad {name}", f"diff {name}") for name in names)


# Forward and reverse.

_MATRIX = 1000
"""Inputs of one function, outputs of the other."""

_APART = ("one", "many", "jvp", "vjp")
"""What the two modes are compared by."""


def _mode_distances(figures: Figures) -> Mapping[str, Value]:
    found = [number for name in _APART if (number := figures[name]) is not None]
    return {"apart": max(found, default=None), "same": max(found, default=1.0) < 1e-3}


def _cheaper_answer(figures: Figures) -> int:
    ratio = quotient(figures["forward one"], figures["reverse one"]) or 0.0
    return 1 if ratio > 1.5 else 0 if ratio < 1 / 1.5 else 2


# What a gradient costs.


def _difference_costs(figures: Figures) -> Mapping[str, Value]:
    n, value = figures.setting.size, figures["value"]
    seconds = None if value is None else (n + 1) * value
    return {"values": n + 1, "by differences": seconds}


def _price_answer(figures: Figures) -> int:
    ratio = quotient(figures["both"], figures["value"]) or 0.0
    return 0 if ratio <= CHEAP else 1 if ratio < figures.setting.size / 2 else 2


# Twenty steps downhill.


def _loss_figures(figures: Figures) -> Mapping[str, Value]:
    losses, found = figures.numbers("losses"), figures.numbers("parameters")
    if len(losses) != STEPS + 1 or len(found) != 2:
        return {"last loss": None}
    return {
        "first loss": losses[0],
        "last loss": losses[-1],
        "falling": sum(after < before for before, after in pairwise(losses)),
        "slope": found[0],
        "offset": found[1],
    }


def _descent_answer(figures: Figures) -> int:
    if figures["falling"] == STEPS:
        return 0
    return 2 if (figures["last loss"] or 0.0) >= (figures["first loss"] or 0.0) else 1


def _loss_picture(setting: Setting, outcome: Outcome) -> Picture | None:
    value = outcome.values.get("losses")
    losses = value.numbers if value else ()
    if len(losses) < 2:
        return None
    return Picture(
        series=(Series(label="loss", x=range(len(losses)), y=losses, points=True),),
        x=Axis(label="step"),
        y=Axis(label="loss", log=True),
        title="Loss by step",
    )


LESSON = lesson(
    "gradients",
    {
        "grad takes a function and returns one": Trial(
            derive=lambda f: {
                **_distances(f),
                "published": decimals(LOGISTIC),
            },
            claim=All(
                Equals("grad", LOGISTIC, 2e-5), Present("differences", "formula")
            ),
            answer=lambda figures: 1 if figures.all_true("function") else None,
        ),
        "Which of three is right?": Trial(
            code=Code(device=lambda s: snippet_device(s, s.processor), x64=True),
            claim=Holds(
                lambda figures: _is_right_sign(figures) and _differences_agree(figures),
                *(f"{of} {at}" for of in _DERIVATIVES for at in _AT),
            ),
            answer=lambda figures: 1 if _is_right_sign(figures) else None,
        ),
        "Forward and reverse": Trial(
            code=Code(budget=6.0, memory=lambda _: 12 * 4 * _MATRIX**2),
            derive=_mode_distances,
            claim=All(
                Holds(lambda figures: figures.all_true("same"), *_APART),
                AtLeast("forward one", CHEAPER, "reverse one"),
                AtLeast("reverse many", CHEAPER, "forward many"),
            ),
            answer=_cheaper_answer,
        ),
        "What a gradient costs": Trial(
            code=Code(budget=4.0, memory=lambda n: 5 * 4 * n),
            derive=_difference_costs,
            claim=AtMost("both", CHEAP, "value"),
            answer=_price_answer,
        ),
        "Twenty steps downhill": Trial(
            derive=_loss_figures,
            picture=_loss_picture,
            claim=All(
                Holds(lambda figures: figures["falling"] == STEPS, "last loss"),
                Holds(lambda f: (f["last loss"] or 0) < 0.1 * (f["first loss"] or 0)),
            ),
            answer=_descent_answer,
        ),
    },
    sizes={"cpu": 1_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=10_000,
    maximum=1_000_000_000,
)
