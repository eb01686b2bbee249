"""How much faster than NumPy a case of JAX is."""

from __future__ import annotations

from jaxtui.model import Summary
from jaxtui.stats import MINIMUM_ROUNDS, Interval, rounds_interval
from jaxtui.tui.per_run import once_per_run
from jaxtui.tui.plot_state import Clock
from jaxtui.tui.run_state import CaseState, RunState


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
    """How many times faster than NumPy a JAX case is; see ``against_numpy``."""
    found = against_numpy(case, run, clock)
    return None if found is None else found.median


def against_numpy(
    case: CaseState, run: RunState, clock: Clock = "ready"
) -> Interval | None:
    """NumPy's seconds for the same op and size over those of a JAX case.

    The twin has the same dtype if NumPy ran it, or else any. By the clock ready it is
    the median of the ratios of rounds of one number, which were taken next to each
    other, with its sign-test interval: a load that comes half-way moves both medians,
    but not their rounds' ratios. By other clocks, and of too few rounds, it is the
    ratio of the figures, and the interval is as wide as both of theirs allow.

    Args:
        case: of the run.
        run: holds the twins.
        clock: of the JAX case; NumPy's is ready.
    """
    seconds, twin = seconds_of(case, clock), _twin(case, run)
    if not seconds or twin is None:
        return None
    rounds = zip(twin.rounds, case.rounds, strict=False)
    ratios = [a / b for a, b in rounds if min(a, b) > 0]
    if clock == "ready" and len(ratios) >= MINIMUM_ROUNDS:
        return rounds_interval(ratios)
    mine, theirs = _summary(case), _summary(twin)
    value = theirs.median / seconds
    around = (1 + mine.half_width) * (1 + theirs.half_width)
    return Interval(value / around, value, value * around)


def _summary(case: CaseState) -> Summary:
    assert case.measurement is not None
    assert case.measurement.ready is not None
    return case.measurement.ready


def _twin(case: CaseState, run: RunState) -> CaseState | None:
    """NumPy's case of the work of a JAX case, the fastest if there are several."""
    if case.case.mode == "numpy":
        return None
    twins = _by_numpy(run).get((case.case.op, case.case.size), ())
    same = [one for one in twins if one.case.dtype == case.case.dtype]
    return min(same or twins, key=lambda one: _summary(one).median, default=None)


@once_per_run
def _by_numpy(run: RunState) -> dict[tuple[str, int], list[CaseState]]:
    """By op and size: the cases that NumPy ran."""
    found: dict[tuple[str, int], list[CaseState]] = {}
    for one in run.cases:
        if one.case.mode == "numpy" and one.measurement and one.measurement.ready:
            found.setdefault((one.case.op, one.case.size), []).append(one)
    return found
