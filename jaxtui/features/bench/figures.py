"""Figures of a case as people read them: its ratio to NumPy, its share of a peak, the
digits that its interval supports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from jaxtui.core import format as fmt
from jaxtui.core.model import Interval, Measurement
from jaxtui.core.state import CaseState, Job
from jaxtui.features.bench.crossing import ratio_of
from jaxtui.features.bench.thresholds import AT_THE_ROOF
from jaxtui.ui.plot.frame import LEVELS
from jaxtui.ui.text import Line, Span

APART = 2.0
"""Dispatch counts as far from ready when ready takes this many times longer."""

_T = TypeVar("_T")


def cached_per_run(compute: Callable[[Job], _T]) -> Callable[[Job], _T]:
    """Cache a function's result for the last snapshot of a run.

    Every case of a run asks about all of its cases: without this, a redraw of a
    thousand cases looks at a million.
    """
    last: tuple[Job, _T] | None = None

    def answer(run: Job) -> _T:
        nonlocal last
        if last is None or last[0] is not run:
            last = run, compute(run)
        return last[1]

    return answer


def against_numpy(case: CaseState, run: Job) -> Interval | None:
    """Return the speed-up of a JAX case over NumPy: NumPy's seconds for the same op and
    size over its own, until ready; both took turns.
    """
    numpy = None if case.case.mode == "numpy" else numpy_of(case, run)
    if numpy is None or numpy.measurement is None or case.measurement is None:
        return None
    rounds = _turns(numpy), _turns(case)
    return ratio_of(numpy.measurement, case.measurement, rounds)


def _turns(case: CaseState) -> Sequence[float]:
    """Seconds of what has taken turns: rounds, or processes where there are several."""
    measured = case.measurement
    if measured is not None and measured.processes is not None:
        return measured.processes.medians
    return case.rounds


def numpy_of(case: CaseState, run: Job) -> CaseState | None:
    """NumPy's case of the same op and size: one with figures, of the same dtype if
    there is such a one, the fastest.
    """
    like = case.case

    def order(candidate: CaseState) -> tuple[bool, bool, float]:
        ready = ready_interval(candidate)
        seconds = 0.0 if ready is None else ready.median
        return ready is None, candidate.case.dtype != like.dtype, seconds

    candidates = _by_numpy(run).get((like.op, like.size), ())
    return min(candidates, key=order, default=None)


def ready_interval(case: CaseState) -> Interval | None:
    """Seconds per call until its result was ready."""
    measured = case.measurement
    if measured is None or measured.ready is None:
        return None
    return measured.ready.interval


@cached_per_run
def _by_numpy(run: Job) -> dict[tuple[str, int], list[CaseState]]:
    """Return the cases that NumPy ran, by op and size."""
    cases: dict[tuple[str, int], list[CaseState]] = {}
    for case in run.cases:
        if case.case.mode == "numpy":
            cases.setdefault((case.case.op, case.case.size), []).append(case)
    return cases


def share_of_peak(measurement: Measurement) -> float | None:
    """The better of the two shares, of peak FLOP/s and of peak bytes/s; ``None`` where
    its arithmetic is impossible. What comes from a cache has no share of the memory.
    """
    peak = measurement.peak
    if peak is None:
        return None

    def share(rate: float | None, most: float | None) -> float:
        return rate / most if rate and most else 0.0

    computed = share(measurement.flops_per_second, peak.flops_per_second)
    moved = share(measurement.bytes_per_second, peak.bytes_per_second)
    if moved > AT_THE_ROOF:
        moved = 0.0
    best = 0.0 if computed > AT_THE_ROOF else max(computed, moved)
    return best or None


def awaited(measured: Measurement) -> Measurement:
    """Return the measurement with the rates of a call that is awaited, which its
    seconds are; a measurement has those of queued calls.
    """
    seconds = measured.ready.median if measured.ready else 0.0

    def rate(amount: float | None, queued: float | None) -> float | None:
        return amount / seconds if amount and queued and seconds else None

    return replace(
        measured,
        flops_per_second=rate(measured.flops, measured.flops_per_second),
        bytes_per_second=rate(measured.bytes, measured.bytes_per_second),
    )


# How they are drawn.


def figure(interval: Interval, unit: fmt.Unit | fmt.OwnUnits) -> Line:
    """A median in a unit; the digits that its interval does not support are apart, and
    all of them where it is vague.
    """
    digits = fmt.digits_known(interval)
    own = unit.of(interval.median)
    text = own.text(interval.median)
    name = "" if unit.name else f" {own.name}"
    passed, end = 0, len(text)
    for place, char in enumerate(text):
        if char.isdigit() and (passed or char != "0"):
            passed += 1
        if passed == digits:
            end = place + 1
            break
    if interval.vague:
        about = own.text(interval.median, 2)
        return (Span(f"~{about}{name}", "unknown"),)
    if digits == 3 or "e" in text:
        return (Span(f"{text}{name}", "value"),)
    parts = (Span(text[:end], "value"), Span(text[end:], "unknown"))
    return (*parts, Span(name, "value")) if name else parts


def speed_text(timed: Measurement | None) -> str:
    """FLOP/s, or bytes/s where there is none; nothing of a case without a figure."""
    return (
        str(fmt.speed(timed.flops_per_second, timed.bytes_per_second)) if timed else ""
    )


def rate_role(timed: Measurement | None) -> str:
    """Return the role of a figure that is no better known than the seconds."""
    return "unknown" if timed and timed.ready and timed.ready.vague else "value"


def bar_role(case: CaseState) -> str:
    """The colour of what ran: that of its mode."""
    return f"bar-{case.case.mode}"


def sparkline(values: Sequence[float]) -> str:
    """Draw some values, each in an eighth of a cell's height."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high <= low:
        return LEVELS[0] * len(values)
    last = len(LEVELS) - 1
    return "".join(LEVELS[round(last * (v - low) / (high - low))] for v in values)
