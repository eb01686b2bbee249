"""A figure beside another one: what that says about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

VerdictWord = Literal["pass", "low", "impossible", "fail", "skipped"]

SEVERITY: tuple[VerdictWord, ...] = ("skipped", "pass", "low", "impossible", "fail")
"""From the best to the worst, as far as an overall verdict is concerned."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One of the things that a reading is judged by."""

    word: VerdictWord
    expected: float | None
    """What it was compared with, in the unit of the reading."""
    source: str
    """Where that comes from."""
    clause: str = ""
    """Follows the figure in its sentence: ``86 % of the peak of 197 TFLOP/s``."""
    sentences: tuple[str, ...] = ()
    """Whole ones, which explain it."""
    share: float | None = None
    """Measured over expected, where that is a share."""


def worst(words: Iterable[VerdictWord]) -> VerdictWord | None:
    """The worst of some verdicts; ``None`` if there is none."""
    return max(words, key=SEVERITY.index, default=None)


def decisive(comparisons: Sequence[Comparison]) -> Comparison:
    """The first of the worst; there must be one."""
    return max(comparisons, key=lambda one: SEVERITY.index(one.word))
