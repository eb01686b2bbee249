"""A gradient is a function: exact, in two modes, and cheap."""

from __future__ import annotations

from bisect import bisect
from itertools import pairwise

from jaxtui.core import format as fmt
from jaxtui.core.format import seconds
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.figures import Figures, MissingError, decimals, near, over
from jaxtui.features.lessons.trial import Code, Trial, lesson, size, snippet_device
from jaxtui.ui.plot import Axis, Picture, Series

LOGISTIC = (0.25, 0.19661, 0.10499)
"""The gradient of ``sum_logistic`` at [0, 1, 2], as published."""


def _logistic(figures: Figures) -> Conclusion:
    grad, differences, formula = (
        figures.numbers(name) for name in ("grad", "differences", "formula")
    )

    def off(numbers: tuple[float, ...]) -> str:
        pairs = zip(numbers, grad, strict=False)
        return fmt.error(max((abs(a - b) for a, b in pairs), default=None))

    def row(what: str, numbers: tuple[float, ...]) -> tuple[object, ...]:
        return what, (decimals(numbers),), "", f"off by up to {off(numbers)}"

    published, holds = decimals(LOGISTIC), near(grad, LOGISTIC, 2e-5)
    rows = figures.table(
        ("grad(sum_logistic)(x)", (decimals(grad),), published),
        row("differences, float32", differences),
        row("exp(−x) / (1 + exp(−x))²", formula),
    )
    verdict = "the published numbers" if holds else f"and {published} was published"
    sentences = (
        f"grad gave {decimals(grad)}, {verdict}.",
        f"It agrees with the formula to {off(formula)}; the differences are off by"
        f" {off(differences)}, because they divide the rounding errors of float32 by a"
        " small step. grad takes none: it differentiates each operation by its rule.",
    )
    return Conclusion(holds, 1 if figures["function"] else None, rows, sentences)


# Which of three is right?

_PUBLISHED = {"hand 11": "5335.99173553719", "grad f 11": "5335.9917"}
_PUBLISHED["diff f 11"] = "5335.992456821259"


def _signs(figures: Figures) -> Conclusion:
    def agree(first: str, second: str) -> bool:
        return near(figures.numbers(first), figures.numbers(second), 1e-4)

    # The derivative by hand is that of f and not that of g.
    points = ("11", "0.5")
    right = all(
        agree(f"grad f {at}", f"hand {at}") and not agree(f"grad g {at}", f"hand {at}")
        for at in points
    )
    sure = all(agree(f"grad {f} {at}", f"diff {f} {at}") for f in "fg" for at in points)
    rows = []
    for at in points:
        for what, name in (
            (f"by hand, x = {at}", f"hand {at}"),
            ("  grad, + 1/x", f"grad f {at}"),
            ("  differences, + 1/x", f"diff f {at}"),
            ("  grad, − 1/x", f"grad g {at}"),
            ("  differences, − 1/x", f"diff g {at}"),
        ):
            numbers = decimals(figures.numbers(name))
            rows.append((what, (numbers,), _PUBLISHED.get(name, "")))
    sentence = (
        f"For −1/x at 0.5 the hand derivative says {figures['hand 0.5']:g}; grad says"
        f" {figures['grad g 0.5']:g}, and the differences {figures['diff g 0.5']:.6g}."
    )
    answer = 1 if right else None
    return Conclusion(right and sure, answer, figures.table(*rows), [sentence])


# Forward and reverse.


def _modes(figures: Figures) -> Conclusion:
    worst = max(figures[name] for name in ("one", "many", "jvp", "vjp"))
    forward, reverse = figures["forward one"], figures["reverse one"]
    many_forward, many_reverse = figures["forward many"], figures["reverse many"]
    same, agree = worst < 1e-3, "relative; jvp and vjp included"
    rows = figures.table(
        ("forward mode, 1000 → 1", "forward one", "", "jacfwd: 1000 pushes"),
        ("reverse mode, 1000 → 1", "reverse one", "", "jacrev: one pull"),
        ("forward mode, 1 → 1000", "forward many", "", "jacfwd: one push"),
        ("reverse mode, 1 → 1000", "reverse many", "", "jacrev: 1000 pulls"),
        ("largest difference", (fmt.error(worst),), "", agree),
    )
    sentences = (
        f"1000 → 1: forward took {figures.ratio('forward one', 'reverse one')} the time"
        " of reverse.",
        f"1 → 1000: reverse took {figures.ratio('reverse many', 'forward many')} the"
        " time of forward.",
        f"{'The results agree to' if same else 'But the results differ by'}"
        f" {fmt.error(worst)}.",
    )
    cheaper = forward >= 3 * reverse and many_reverse >= 3 * many_forward
    answer = (0, 2, 1)[bisect((1 / 1.5, 1.5), over(forward, reverse))]
    return Conclusion(same and cheaper, answer, rows, sentences)


# What a gradient costs.


def _price(figures: Figures) -> Conclusion:
    n, value, both = figures.setting.size, figures["value"], figures["both"]
    ratio, computed = over(both, value), "values, computed from the first row"
    differences = _minutes((n + 1) * value)
    rows = figures.table(
        ("the value, jitted", "value"),
        ("value_and_grad, jitted", "both", "", f"{fmt.count(n)} derivatives"),
        ("in values", (figures.ratio("both", "value"),)),
        ("by differences", (differences,), "", f"{fmt.count(n + 1)} {computed}"),
    )
    sentences = (
        f"The value took {seconds(value)}, the value with {fmt.count(n)} derivatives"
        f" {seconds(both)}: {figures.times('both', 'value')}.",
        f"One-sided differences would need {fmt.count(n + 1)} values: {differences}.",
    )
    answer = 0 if ratio <= 8 else 1 if ratio < n / 2 else 2
    return Conclusion(ratio <= 8, answer, rows, sentences)


def _minutes(duration: float) -> str:
    """A time that may be hours."""
    if duration < 120:
        return seconds(duration)
    return f"{fmt.duration(duration)} {'h' if duration >= 3600 else 'min'}"


# Twenty steps downhill.


def _descent(figures: Figures) -> Conclusion:
    losses, line = figures.numbers("losses"), figures.numbers("parameters")
    if len(losses) != 21 or len(line) != 2:
        raise MissingError("losses")
    first, last = losses[0], losses[-1]
    falling = sum(after < before for before, after in pairwise(losses))
    data_text = "the data were made with 3 and 2"
    rows = figures.table(
        ("loss before the first step", (f"{first:.3g}",)),
        ("loss after 20 steps", (f"{last:.3g}",)),
        ("slope and offset", (decimals(line, 2),), "", data_text),
    )
    sentences = (
        f"{falling} of 20 steps lowered the loss, from {first:.3g} to {last:.3g}.",
        f"The line is {line[0]:.2f}·x + {line[1]:.2f}. The program defines only the"
        " loss; grad makes the derivative.",
    )
    answer = 0 if falling == 20 else 2 if last >= first else 1
    return Conclusion(falling == 20 and last < 0.1 * first, answer, rows, sentences)


def _loss_picture(figures: Figures) -> Picture | None:
    value = figures.outcome.values.get("losses")
    losses = value.numbers if value else ()
    if len(losses) < 2:
        return None
    curve = Series("loss", range(len(losses)), losses, points=True)
    return Picture((curve,), Axis("step"), Axis("loss", log=True), "Loss by step")


LESSON = lesson(
    "gradients",
    Trial(_logistic),
    Trial(_signs, Code(device=lambda s: snippet_device(s, s.processor), x64=True)),
    Trial(_modes, Code(6.0)),
    Trial(_price, Code(4.0, size)),
    Trial(_descent, picture=_loss_picture),
    sizes={"cpu": 1_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    limits=(10_000, 1_000_000_000),
)
