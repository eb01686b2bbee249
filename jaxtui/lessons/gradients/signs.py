"""Step 2: Which of three is right?"""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Work

NOTEBOOK = (
    "G. Sapunov, Deep Learning with JAX, notebook of chapter 4: "
    "https://github.com/che-shr-cat/JAX-in-Action"
)

_AT = (11.0, 0.5)
"""Where the two polynomials are differentiated; the first is the published one."""


def _by_hand(setting: Setting) -> tuple[Work, ...]:
    setup = """\
def f(x):
    return x**4 + 12 * x + 1 / x


def g(x):
    return x**4 + 12 * x - 1 / x


def hand(x):  # published for both
    return 4 * x**3 + 12 - 1 / x**2


def differences(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)
"""
    parts: list[Part] = []
    for at in _AT:
        parts.append(Shown(name=f"hand {at:g}", code=f"hand({at})"))
        for name in ("f", "g"):
            parts += [
                Shown(name=f"grad {name} {at:g}", code=f"jax.grad({name})({at})"),
                Shown(name=f"diff {name} {at:g}", code=f"differences({name}, {at})"),
            ]
    snippet = Snippet(
        title="Two derivatives by hand, by grad and by differences",
        setup=setup,
        parts=tuple(parts),
        budget_seconds=3.0,
        device=values.chosen(setting, words.processor(setting)),
        x64=True,
    )
    return (snippet,)


def _wrong_sign(setting: Setting, outcome: Outcome) -> Conclusion:
    rows: list[Row] = []
    for at in _AT:
        rows.append(
            Row(
                what=f"by hand, x = {at:g}",
                yours=values.decimals(values.numbers(outcome, f"hand {at:g}")),
                published="5335.99173553719" if at == _AT[0] else "",
            )
        )
        for name, sign in (("f", "+"), ("g", "−")):
            rows += [
                Row(
                    what=f"{way}, {sign} 1/x",
                    yours=values.decimals(
                        values.numbers(outcome, f"{key} {name} {at:g}")
                    ),
                    published=_published(key, name, at),
                )
                for key, way in (("grad", "  grad"), ("diff", "  differences"))
            ]
    names = [
        f"{key} {at:g}"
        for key in ("hand", "grad f", "grad g", "diff f", "diff g")
        for at in _AT
    ]
    if any(outcome.number(name) is None for name in names):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    first = all(_agree(outcome, f"grad f {at:g}", f"hand {at:g}") for at in _AT)
    second = not any(_agree(outcome, f"grad g {at:g}", f"hand {at:g}") for at in _AT)
    checked = all(
        _agree(outcome, f"grad {name} {at:g}", f"diff {name} {at:g}")
        for name in ("f", "g")
        for at in _AT
    )
    hand, grad = outcome.number("hand 0.5") or 0.0, outcome.number("grad g 0.5") or 0.0
    differences = outcome.number("diff g 0.5") or 0.0
    takeaway = (
        f"For −1/x at 0.5 the hand derivative says {hand:g}; grad says {grad:g}, and "
        f"the differences {differences:.6g}. The derivative of −1/x is +1/x². At 11 "
        "the same slip is 0.0165 in 5336, which nobody would notice in a plot. "
        "Differences are too rough to train with, and good enough to check a formula."
    )
    if not (first and second and checked):
        takeaway = (
            f"Not as expected: at 0.5 the hand derivative is {hand:g}, grad of the "
            f"second function {grad:g}, its differences {differences:.6g}."
        )
    return Conclusion(
        rows=tuple(rows),
        holds=first and second and checked,
        takeaway=takeaway,
        answer=1 if first and second else None,
    )


def _published(key: str, name: str, at: float) -> str:
    if name != "f" or at != _AT[0]:
        return ""
    return {"grad": "5335.9917", "diff": "5335.992456821259"}[key]


def _agree(outcome: Outcome, one: str, other: str) -> bool:
    return values.near(
        values.numbers(outcome, one), values.numbers(outcome, other), 1e-4
    )


STEP = Step(
    title="Which of three is right?",
    prose="""\
Two functions that differ in one sign, and a derivative that has been
published for each, found by hand:

    f(x) = x⁴ + 12x + 1/x        f'(x) = 4x³ + 12 − 1/x²
    g(x) = x⁴ + 12x − 1/x        g'(x) = 4x³ + 12 − 1/x²

They cannot both be right. `grad` and central differences are asked, at 11 as
in the publication and at 0.5, where 1/x² is larger. Everything is computed
in float64, so that rounding does not blur the differences.""",
    question=Question(
        text="Which derivative is wrong?",
        choices=("That of f", "That of g", "Neither: 1/x² hardly matters"),
    ),
    claim=(
        "grad and differences agree on both functions, confirm the hand "
        "derivative of f and contradict that of g."
    ),
    works=_by_hand,
    conclude=_wrong_sign,
    source=(
        f"{NOTEBOOK} (f and its figures; the slip in g is quoted without its author)"
    ),
)
