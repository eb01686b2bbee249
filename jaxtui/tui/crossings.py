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
from jaxtui.tui.per_run import once_per_run
from jaxtui.tui.plot_state import Clock
from jaxtui.tui.state import CaseState, RunState

MOST = 4
"""Marks on one plot; more are no help to anybody."""


def seconds_of(case: CaseState, clock: Clock) -> float | None:
    """Seconds per call by a clock, or ``None`` if the case was not timed by it.

    What the host computes itself is done when the call returns: it has no dispatch, and
    in a queue each call takes as long as alone.
    """
    measured = case.measurement
    if measured is None or measured.ready is None:
        return None
    if clock == "dispatch":
        return measured.dispatch.median if measured.dispatch else None
    if clock == "pipelined" and not case.case.on_host:
        return measured.pipelined_seconds
    return measured.ready.median


def times_numpy(case: CaseState, run: RunState, clock: Clock = "ready") -> float | None:
    """How many times faster than NumPy on the same op and size a JAX case is.

    The twin has the same dtype if NumPy ran it, or else any.

    Args:
        case: of the run.
        run: holds the twins.
        clock: of the JAX case; NumPy's is ready.
    """
    if case.case.mode == "numpy":
        return None
    seconds = seconds_of(case, clock)
    if not seconds:
        return None
    twins = [
        (dtype != case.case.dtype, taken)
        for dtype, taken in _numpy_seconds(run).get((case.case.op, case.case.size), ())
    ]
    if not twins:
        return None
    return min(twins)[1] / seconds


@once_per_run
def _numpy_seconds(run: RunState) -> dict[tuple[str, int], list[tuple[str, float]]]:
    """By op and size: NumPy's dtypes and seconds per call."""
    found: dict[tuple[str, int], list[tuple[str, float]]] = {}
    for one in run.cases:
        if one.case.mode == "numpy" and one.measurement and one.measurement.ready:
            timed = one.case.dtype, one.measurement.ready.median
            found.setdefault((one.case.op, one.case.size), []).append(timed)
    return found


def crossing_marks(
    run: RunState, label: Callable[[CaseState], str], clock: Clock = "ready"
) -> tuple[Mark, ...]:
    """A mark where each way of running crosses NumPy for the last time.

    Interpolated between neighbouring sizes on logarithmic axes; nothing is marked
    beyond the sizes that were measured, nor before the sweep is over: until then the
    figures move.

    Args:
        run: the sweep.
        label: what a case's curve is called.
        clock: of the JAX cases.
    """
    if any(case.status not in ("done", "failed") for case in run.cases):
        return ()
    return tuple(_marks(run, label, clock))[:MOST]


def _marks(
    run: RunState, label: Callable[[CaseState], str], clock: Clock
) -> Iterator[Mark]:
    for curve in _curves(run).values():
        points = sorted(
            (case.case.size, math.log(ratio))
            for case in curve
            if (ratio := times_numpy(case, run, clock)) is not None and ratio > 0
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
