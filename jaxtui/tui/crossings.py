"""Where JAX overtakes NumPy in a sweep: read off between the sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import msgspec

from jaxtui.crossover.points import crossing_size
from jaxtui.crossover.words import place
from jaxtui.model import Case
from jaxtui.plot import Mark
from jaxtui.tui.against_numpy import against_numpy
from jaxtui.tui.plot_state import Clock
from jaxtui.tui.run_state import CaseState, RunState

MOST = 4
"""Marks on one plot; more are no help to anybody."""


def crossing_marks(
    run: RunState, label: Callable[[CaseState], str], clock: Clock = "ready"
) -> tuple[Mark, ...]:
    """A mark where each way of running crosses NumPy for the last time.

    Interpolated between neighbouring sizes on logarithmic axes, without those at which
    the intervals leave open who is faster. Nothing is marked beyond the sizes that were
    measured, nor before the sweep is over: until then the figures move. Nor is there a
    mark where an engine died: what is missing may be what decides.

    Args:
        run: the sweep.
        label: what a case's curve is called.
        clock: of the JAX cases.
    """
    if any(case.status not in ("done", "failed") for case in run.cases):
        return ()
    if run.outcome == "crashed":
        return ()
    return tuple(_marks(run, label, clock))[:MOST]


def _marks(
    run: RunState, label: Callable[[CaseState], str], clock: Clock
) -> Iterator[Mark]:
    for curve in _curves(run).values():
        points = sorted(
            (case.case.size, math.log(found.median))
            for case in curve
            if (found := against_numpy(case, run, clock)) is not None
            and not found.low <= 1 <= found.high
        )
        for low, high in reversed(list(pairwise(points))):
            if (low[1] < 0) == (high[1] < 0):
                continue
            at = crossing_size((low[0], high[0]), (low[1], high[1]))
            names = [label(curve[0]), "numpy"]
            faster, slower = names if high[1] >= 0 else reversed(names)
            around = place(at, low[0], high[0])
            yield Mark(at, f"{faster} beats {slower} from ~{around}")
            break


def _curves(run: RunState) -> dict[Case, list[CaseState]]:
    """The cases that JAX ran, apart from their sizes."""
    curves: dict[Case, list[CaseState]] = {}
    for case in run.cases:
        if case.case.mode != "numpy":
            key = msgspec.structs.replace(case.case, size=0, params=None)
            curves.setdefault(key, []).append(case)
    return curves
