"""A crossover: what is asked for and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jaxtui.core.model import Case, Experiment, Measurement, Record
from jaxtui.core.model.document import Document
from jaxtui.features.bench.crossing import Crossing, Side
from jaxtui.features.bench.messages import FailureRow

BUDGET_SECONDS = 12.0
"""Seconds of both runs: with starts and compiles half a minute."""

GRID_SHARE = 0.65
"""Fraction of the budget for the grid; the rest is for the sizes around a crossing."""


class Payback(Record, frozen=True, kw_only=True):
    """After how many calls a first call, compile included, pays off."""

    side: Side
    """The side of this first call."""
    seconds: float | None
    """Seconds of that first call."""
    calls: int | None
    """``null``: never, as it is not certain that its calls are faster."""


class Size(Record, frozen=True, kw_only=True):
    """A size at which both were measured."""

    size: int
    ratio: float | None
    """Seconds per call of the first side over those of the second; ``null`` where a
    result is wrong."""
    low: float | None
    high: float | None
    confidence: float | None
    """The probability that the ratio lies between them."""
    faster: Side | None
    """``null`` where that is not certain."""
    payback: Payback | None


class Crossover(Document, frozen=True, kw_only=True):
    """Two ways of running an op over size."""

    first: Case | None
    second: Case | None
    """The two sides, at the smallest size."""
    verdict: str = ""
    faster: Side | None = None
    """The faster side at the largest size at which it is certain."""
    crossing: Crossing | None = None
    """The last one."""
    sizes: tuple[Size, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    """Two for each of the sizes, the first side before the second."""
    failures: tuple[FailureRow, ...] = ()


def experiment(
    sides: tuple[Case, Case], sizes: Iterable[int], budget: float, seed: int = 0
) -> Experiment:
    """Return both sides at each size, as cases that take turns."""
    cases = tuple(
        msgspec.structs.replace(case, size=n) for n in sizes for case in sides
    )
    return Experiment(cases=cases, budget_seconds=budget, seed=seed)
