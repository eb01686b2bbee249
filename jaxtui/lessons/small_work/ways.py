"""The ways to compute a sigmoid: their cases, figures and curves."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.lessons import cases, words
from jaxtui.lessons.base import Setting
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Case, Mode
from jaxtui.plot import Axis, Mark, Picture, Series

OP = "sigmoid"

FEWEST = 10
"""Elements of the smallest array."""

LARGE = 1_000_000
"""Elements above which the cases take turns among themselves only."""

LABELS: dict[Mode, str] = {
    "numpy": "NumPy",
    "eager": "JAX, eager",
    "jit": "JAX, jit",
    "tensorflow": "TensorFlow",
}
"""What the modes are called in tables and plots."""


def every_way(setting: Setting, elements: Sequence[int]) -> tuple[Case, ...]:
    """The cases of NumPy, eager and compiled JAX at these sizes."""
    return tuple(
        case
        for n in elements
        for case in (
            cases.numpy(OP, n),
            cases.jax(setting.device, OP, n, "eager"),
            cases.jax(setting.device, OP, n),
        )
    )


def points(outcome: Outcome, mode: Mode) -> list[tuple[int, float]]:
    """Elements and seconds of every size in one mode."""
    taken = [
        (one.case.size, words.ready(one))
        for one in outcome.measurements
        if one.case.mode == mode
    ]
    return sorted((size, seconds) for size, seconds in taken if seconds)


def picture(
    found: dict[str, list[tuple[int, float]]], title: str, marks: tuple[Mark, ...] = ()
) -> Picture | None:
    """Curves of seconds over elements; ``None`` without a point."""
    series = tuple(
        Series(
            label, [float(x) for x, _ in points], [y for _, y in points], points=True
        )
        for label, points in found.items()
        if points
    )
    if not series:
        return None
    return Picture(
        series,
        Axis("elements", log=True, format=fmt.tick_size),
        Axis("", log=True, format=fmt.tick_seconds),
        title,
        marks,
    )


def disturbed(outcome: Outcome) -> str:
    """That something else used the CPU, where it did."""
    if any(one.has("contended") for one in outcome.measurements):
        return " Other processes used the CPU meanwhile: try again when it is quiet."
    return ""
