"""The four lines that matter: stopwatch, truth, first call, NumPy."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.model import Measurement, Record
from jaxtui.stats import break_even_calls
from jaxtui.tui.run_state import CaseState, RunState

PENDING = "…"
"""Stands where a figure has not arrived yet."""

APART = 2.0
"""Dispatch counts as far from ready when ready takes this many times longer."""


class Line(Record, frozen=True):
    """One line: what it is, the time, and what follows from it."""

    label: str
    time: str = PENDING
    rest: str = ""
    bad: bool = False
    """Whether ``rest`` names something impossible."""


def lines(run: RunState) -> tuple[Line, ...]:
    """The four lines for the run's first JAX case and its NumPy twin.

    A case that failed takes one line with its error and hint.
    """
    jax = next((case for case in run.cases if not case.case.on_host), None)
    numpy = next((case for case in run.cases if case.case.mode == "numpy"), None)
    found: list[Line] = []
    if jax is not None:
        found += (
            [_failed(jax)]
            if jax.failure
            else [_stopwatch(jax), _truth(jax), _cold(jax)]
        )
    if numpy is not None:
        found.append(_failed(numpy) if numpy.failure else _numpy(numpy, jax))
    return tuple(found)


def impossible(measurement: Measurement) -> bool:
    """Whether calls per dispatched second would exceed what the chip can do."""
    rate, peak = _apparent_rate(measurement), measurement.peak
    if rate is None or peak is None or peak.flops_per_second is None:
        return False
    return rate > peak.flops_per_second


def share_of_peak(measurement: Measurement) -> float | None:
    """The better of the two shares, of peak FLOP/s and of peak bytes/s."""
    peak = measurement.peak
    if peak is None:
        return None
    pairs = (
        (measurement.flops_per_second, peak.flops_per_second),
        (measurement.bytes_per_second, peak.bytes_per_second),
    )
    shares = [rate / most for rate, most in pairs if rate and most]
    return max(shares, default=None)


def _apparent_rate(measurement: Measurement) -> float | None:
    if measurement.dispatch is None or not measurement.flops:
        return None
    return measurement.flops / measurement.dispatch.median


def _stopwatch(case: CaseState) -> Line:
    label, measured = "stopwatch says", case.measurement
    if measured is None or measured.dispatch is None or measured.ready is None:
        return Line(label)
    time = fmt.measured(measured.dispatch)
    rate = _apparent_rate(measured)
    speed = f"{fmt.flops_rate(rate)}  " if rate else ""
    if impossible(measured) and measured.peak and measured.peak.flops_per_second:
        peak = fmt.flops_rate(measured.peak.flops_per_second)
        return Line(label, time, f"{speed}IMPOSSIBLE, peak {peak}", bad=True)
    if measured.ready.median > APART * measured.dispatch.median:
        return Line(label, time, f"{speed}without waiting for the result", bad=True)
    return Line(label, time, f"{speed}the call returned when the work was done")


def _truth(case: CaseState) -> Line:
    measured = case.measurement
    if measured is None or measured.ready is None:
        return Line("truth", rest=_doing(case))
    parts = []
    if measured.flops_per_second:
        parts.append(fmt.flops_rate(measured.flops_per_second))
    elif measured.has("host-bound"):
        parts.append("host-bound: no rate")
    share = share_of_peak(measured)
    if share is not None:
        parts.append(f"{fmt.percent(share)} of peak")
    if measured.ready.rounds > 1:
        parts.append(f"± {fmt.percent(measured.ready.half_width)}")
    else:
        parts.append("one round only")
    return Line("truth", fmt.measured(measured.ready), "  ".join(parts))


def _cold(case: CaseState) -> Line:
    if case.phases.first_call is None:
        return Line("first call", rest=_doing(case))
    compiled = case.phases.compile
    rest = "" if compiled is None else f"compile {fmt.seconds(compiled)}"
    return Line("first call", fmt.seconds(case.phases.cold_seconds), rest)


def _numpy(numpy: CaseState, jax: CaseState | None) -> Line:
    label, measured = f"NumPy {numpy.case.dtype}", numpy.measurement
    if measured is None or measured.ready is None:
        return Line(label, rest=_doing(numpy))
    time = fmt.measured(measured.ready)
    theirs = jax.measurement if jax else None
    if jax is None or theirs is None or theirs.ready is None:
        return Line(label, time)
    calls = break_even_calls(
        jax.phases.cold_seconds, theirs.ready.median, measured.ready.median
    )
    if calls is None:
        return Line(label, time, "JAX never pays here: NumPy is faster")
    if calls == 1:
        return Line(label, time, "JAX pays from the first call")
    return Line(label, time, f"JAX pays after {fmt.count(calls)} calls")


def _failed(case: CaseState) -> Line:
    failure = case.failure
    assert failure is not None
    return Line(case.case.mode, "failed", f"{failure.error} {failure.hint}", bad=True)


def _doing(case: CaseState) -> str:
    return case.doing.replace("_", " ")
