"""How much faster than NumPy a case of JAX is."""

from __future__ import annotations

from jaxtui.stats import Interval, interval_of, ratio
from jaxtui.tui.per_run import once_per_run
from jaxtui.tui.plot_state import Clock
from jaxtui.tui.run_state import CaseState, RunState


def seconds_of(case: CaseState, clock: Clock) -> float | None:
    """Seconds per call by a clock, or ``None`` if the case was not timed by it."""
    found = _interval(case, clock)
    return found and found.median


def times_numpy(case: CaseState, run: RunState, clock: Clock = "ready") -> float | None:
    """How many times faster than NumPy a JAX case is; see ``against_numpy``."""
    found = against_numpy(case, run, clock)
    return None if found is None else found.median


def against_numpy(
    case: CaseState, run: RunState, clock: Clock = "ready"
) -> Interval | None:
    """NumPy's seconds for the same op and size over those of a JAX case.

    The twin has the same dtype if NumPy ran it, or else any. Both took turns: see
    ``stats.ratio``.

    Args:
        case: of the run.
        run: holds the twins.
        clock: of the JAX case; NumPy's is ready.
    """
    mine, twin = _interval(case, clock), _twin(case, run)
    theirs = _interval(twin) if twin else None
    if mine is None or twin is None or theirs is None:
        return None
    if clock == "ready":
        return ratio(theirs, mine, (twin.rounds, case.rounds))
    return ratio(theirs, mine)


def _interval(case: CaseState, clock: Clock = "ready") -> Interval | None:
    """Seconds per call by a clock.

    What the host computes itself is done when the call returns: it has no dispatch, and
    in a queue each call takes as long as alone. Queued calls are given the interval of
    blocked ones.
    """
    measured = case.measurement
    if measured is None or measured.ready is None:
        return None
    if clock == "dispatch":
        return interval_of(measured.dispatch) if measured.dispatch else None
    ready = interval_of(measured.ready)
    if clock == "ready" or case.case.on_host:
        return ready
    if (seconds := measured.pipelined_seconds) is None:
        return None
    scale = seconds / ready.median if ready.median else 1.0
    return Interval(scale * ready.low, seconds, scale * ready.high, ready.confidence)


def _twin(case: CaseState, run: RunState) -> CaseState | None:
    """NumPy's case of the work of a JAX case, the fastest if there are several."""
    if case.case.mode == "numpy":
        return None
    twins = _by_numpy(run).get((case.case.op, case.case.size), ())
    same = [one for one in twins if one.case.dtype == case.case.dtype]
    return min(
        same or twins, key=lambda one: seconds_of(one, "ready") or 0, default=None
    )


@once_per_run
def _by_numpy(run: RunState) -> dict[tuple[str, int], list[CaseState]]:
    """By op and size: the cases that NumPy ran."""
    found: dict[tuple[str, int], list[CaseState]] = {}
    for one in run.cases:
        if one.case.mode == "numpy" and one.measurement and one.measurement.ready:
            found.setdefault((one.case.op, one.case.size), []).append(one)
    return found
