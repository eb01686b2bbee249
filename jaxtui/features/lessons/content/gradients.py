"""A gradient is a function: exact, in two modes, and cheap."""

from __future__ import annotations

from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row, Setting
from jaxtui.features.lessons.figures import NAN, Figures, decimals, minutes, near, over
from jaxtui.features.lessons.outcome import Outcome
from jaxtui.features.lessons.trial import Code, Trial, lesson, size, snippet_device
from jaxtui.format import seconds
from jaxtui.plot import Axis, Picture, Series

LOGISTIC = (0.25, 0.19661, 0.10499)
"""The gradient of ``sum_logistic`` at [0, 1, 2], as published."""

CHEAPER = 3.0
"""The factor by which the fitting mode must be cheaper."""

CHEAP = 8.0
"""The largest cost of a value and its gradient, in values."""

STEPS = 20
"""Steps of gradient descent."""


def _logistic(figures: Figures) -> Conclusion:
    names = ("grad", "differences", "formula")
    grad, differences, formula = map(figures.numbers, names)
    published, holds = decimals(LOGISTIC), near(grad, LOGISTIC, 2e-5)

    def off(numbers: tuple[float, ...]) -> str:
        pairs = zip(numbers, grad, strict=False)
        same = bool(numbers) and len(numbers) == len(grad)
        return fmt.error(max(abs(a - b) for a, b in pairs) if same else None)

    def row(what: str, numbers: tuple[float, ...]) -> Row:
        remark = f"off by up to {off(numbers)}"
        return Row(what, decimals(numbers), remark=remark)

    verdict = "the published numbers" if holds else f"and {published} was published"
    return Conclusion(
        holds=holds,
        answer=1 if figures.is_true("function") else None,
        rows=(
            Row("grad(sum_logistic)(x)", decimals(grad), published),
            row("differences, float32", differences),
            row("exp(−x) / (1 + exp(−x))²", formula),
        ),
        sentences=(
            f"grad gave {decimals(grad)}, {verdict}.",
            f"It agrees with the formula to {off(formula)}; the differences are off by "
            f"{off(differences)}, because they divide the rounding errors of float32 "
            "by a small step. grad takes no step: it differentiates each operation by "
            "its rule.",
        ),
    )


# Which of three is right?

_AT = {"11": ("5335.99173553719", "5335.9917", "5335.992456821259"), "0.5": ("",) * 3}
"""The points of differentiation of the two polynomials, and the published values of the
first."""

_DERIVATIVES = ("hand", "grad f", "grad g", "diff f", "diff g")


def _signs(figures: Figures) -> Conclusion:
    numbers = figures.numbers

    def agree(first: str, second: str) -> bool:
        return near(numbers(first), numbers(second), 1e-4)

    def rows(at: str, hand: str, grad: str, differences: str) -> tuple[Row, ...]:
        return tuple(
            Row(what, decimals(numbers(f"{name} {at}")), published)
            for what, name, published in (
                (f"by hand, x = {at}", "hand", hand),
                ("  grad, + 1/x", "grad f", grad),
                ("  differences, + 1/x", "diff f", differences),
                ("  grad, − 1/x", "grad g", ""),
                ("  differences, − 1/x", "diff g", ""),
            )
        )

    # The derivative by hand is that of f and not that of g.
    right = all(
        agree(f"grad f {at}", f"hand {at}") and not agree(f"grad g {at}", f"hand {at}")
        for at in _AT
    )
    sure = all(agree(f"grad {f} {at}", f"diff {f} {at}") for f in "fg" for at in _AT)
    hand, grad, differences = (
        figures[f"{name} 0.5"] for name in ("hand", "grad g", "diff g")
    )
    return Conclusion(
        holds=right and sure,
        answer=1 if right else None,
        rows=tuple(
            row for at, published in _AT.items() for row in rows(at, *published)
        ),
        sentences=(
            f"For −1/x at 0.5 the hand derivative says {hand:g}; grad says {grad:g}, "
            f"and the differences {differences:.6g}.",
        ),
    )


# Forward and reverse.

_APART = ("one", "many", "jvp", "vjp")
"""The names of the comparisons of the two modes."""

_TIMES = ("forward one", "reverse one", "forward many", "reverse many")


def _modes(figures: Figures) -> Conclusion:
    row, apart = figures.row, [figures[name] for name in _APART]
    forward, reverse, many_forward, many_reverse = (figures[name] for name in _TIMES)
    worst = max((distance for distance in apart if distance == distance), default=NAN)
    same, ratio = worst < 1e-3, over(forward, reverse)
    return Conclusion(
        holds=same
        and forward >= CHEAPER * reverse
        and many_reverse >= CHEAPER * many_forward,
        answer=1 if ratio > 1.5 else 0 if ratio < 1 / 1.5 else 2,
        rows=(
            row("forward mode, 1000 → 1", "forward one", "", "jacfwd: 1000 pushes"),
            row("reverse mode, 1000 → 1", "reverse one", "", "jacrev: one pull"),
            row("forward mode, 1 → 1000", "forward many", "", "jacfwd: one push"),
            row("reverse mode, 1 → 1000", "reverse many", "", "jacrev: 1000 pulls"),
            Row(
                "largest difference",
                fmt.error(worst),
                remark="relative; jvp and vjp included",
            ),
        ),
        sentences=(
            f"1000 → 1: forward took {figures.ratio('forward one', 'reverse one')} the "
            "time of reverse.",
            f"1 → 1000: reverse took {figures.ratio('reverse many', 'forward many')} "
            "the time of forward.",
            f"{'The results agree to' if same else 'But the results differ by'} "
            f"{fmt.error(worst)}.",
        ),
    )


# What a gradient costs.


def _price(figures: Figures) -> Conclusion:
    row, n = figures.row, figures.setting.size
    value, both = figures["value"], figures["both"]
    ratio, differences = over(both, value), minutes((n + 1) * value)
    return Conclusion(
        holds=both <= CHEAP * value,
        answer=0 if ratio <= CHEAP else 1 if ratio < n / 2 else 2,
        rows=(
            row("the value, jitted", "value"),
            row("value_and_grad, jitted", "both", remark=f"{fmt.count(n)} derivatives"),
            Row("in values", figures.ratio("both", "value")),
            Row(
                "by differences",
                differences,
                remark=f"{fmt.count(n + 1)} values, computed from the first row",
            ),
        ),
        sentences=(
            f"The value took {seconds(value)}, the value with {fmt.count(n)} "
            f"derivatives {seconds(both)}: {figures.times('both', 'value')}.",
            f"One-sided differences would need {fmt.count(n + 1)} values: "
            f"{differences}.",
        ),
    )


# Twenty steps downhill.


def _descent(figures: Figures) -> Conclusion:
    losses, line = figures.numbers("losses"), figures.numbers("parameters")
    if len(losses) != STEPS + 1 or len(line) != 2:
        losses, line = (NAN, NAN), (NAN, NAN)
    first, last = losses[0], losses[-1]
    falling = sum(after < before for before, after in pairwise(losses))

    def row(what: str, loss: float) -> Row:
        return Row(what, fmt.ABSENT if loss != loss else f"{loss:.3g}")

    return Conclusion(
        holds=falling == STEPS and last < 0.1 * first if last == last else None,
        answer=0 if falling == STEPS else 2 if last >= first else 1,
        rows=(
            row("loss before the first step", first),
            row("loss after 20 steps", last),
            Row(
                "slope and offset",
                decimals(figures.numbers("parameters"), 2),
                remark="the data were made with 3 and 2",
            ),
        ),
        sentences=(
            f"{falling} of 20 steps lowered the loss, from {first:.3g} to {last:.3g}.",
            f"The line is {line[0]:.2f}·x + {line[1]:.2f}. The program defines only "
            "the loss; grad makes the derivative.",
        ),
    )


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
            _logistic, needs=("grad", "differences", "formula")
        ),
        "Which of three is right?": Trial(
            _signs,
            Code(device=lambda s: snippet_device(s, s.processor), x64=True),
            needs=tuple(f"{of} {at}" for of in _DERIVATIVES for at in _AT),
        ),
        "Forward and reverse": Trial(
            _modes,
            Code(6.0),
            needs=(*_APART, *_TIMES),
        ),
        "What a gradient costs": Trial(
            _price,
            Code(4.0, size),
            needs=("both", "value"),
        ),
        "Twenty steps downhill": Trial(
            _descent, picture=_loss_picture, needs=("losses", "parameters")
        ),
    },
    sizes={"cpu": 1_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=10_000,
    maximum=1_000_000_000,
)
