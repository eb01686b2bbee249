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
from jaxtui.tui.state import CaseState, RunState

MOST = 4
"""Marks on one plot; more are no help to anybody."""


def times_numpy(case: CaseState, run: RunState) -> float | None:
    """How many times faster than NumPy on the same op and size a JAX case is.

    The twin has the same dtype if NumPy ran it, or else any.
    """
    measured = case.measurement
    if case.case.mode == "numpy" or measured is None or measured.ready is None:
        return None
    twins = [
        (one.case.dtype != case.case.dtype, one.measurement.ready.median)
        for one in run.cases
        if one.case.mode == "numpy"
        and (one.case.op, one.case.size) == (case.case.op, case.case.size)
        and one.measurement is not None
        and one.measurement.ready is not None
    ]
    if not twins:
        return None
    return min(twins)[1] / measured.ready.median


def crossing_marks(
    run: RunState, label: Callable[[CaseState], str]
) -> tuple[Mark, ...]:
    """A mark where each way of running crosses NumPy for the last time.

    Interpolated between neighbouring sizes on logarithmic axes; nothing is marked
    beyond the sizes that were measured, nor before the sweep is over: until then the
    figures move.

    Args:
        run: the sweep.
        label: what a case's curve is called.
    """
    if any(case.status not in ("done", "failed") for case in run.cases):
        return ()
    return tuple(_marks(run, label))[:MOST]


def _marks(run: RunState, label: Callable[[CaseState], str]) -> Iterator[Mark]:
    for curve in _curves(run).values():
        points = sorted(
            (case.case.size, math.log(ratio))
            for case in curve
            if (ratio := times_numpy(case, run)) is not None and ratio > 0
        )
        for low, high in reversed(list(pairwise(points))):
            if (low[1] < 0) == (high[1] < 0):
                continue
            at = crossing_size((low[0], high[0]), (low[1], high[1]))
            winner = label(curve[0]) if high[1] >= 0 else "numpy"
            yield Mark(at, f"{winner} wins from ~{place(at, low[0], high[0])}")
            break


def _curves(run: RunState) -> dict[Case, list[CaseState]]:
    """The cases that JAX ran, apart from their sizes."""
    curves: dict[Case, list[CaseState]] = {}
    for case in run.cases:
        if case.case.mode != "numpy":
            key = msgspec.structs.replace(case.case, size=0, params=None)
            curves.setdefault(key, []).append(case)
    return curves
