"""A case's place on the curves over size, for each metric and clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxtui import format as fmt
from jaxtui.model import Measurement
from jaxtui.tui.against_numpy import seconds_of, times_numpy
from jaxtui.tui.plot_state import Clock, Metric, clock_of
from jaxtui.tui.readout import share_of_peak
from jaxtui.tui.run_state import CaseState, RunState

_RATES: dict[Metric, str] = {
    "flops": "FLOP/s",
    "bytes": "bytes/s",
    "peak": "% of peak",
}

TICKS: dict[Metric, Callable[[float], str]] = {
    "time": fmt.tick_seconds,
    "flops": fmt.tick_flops_rate,
    "bytes": fmt.tick_bytes_rate,
    "peak": fmt.percent,
    "numpy": fmt.ratio,
}
"""How the values of each metric stand on an axis."""


def value_of(
    case: CaseState, metric: Metric, clock: Clock, run: RunState
) -> float | None:
    """A case's point on the curve over size, or ``None`` where it has none.

    Args:
        case: of the run.
        metric: what the curves show: seconds, a rate, a fraction, or a factor.
        clock: of time and × NumPy; rates have their own.
        run: holds NumPy's figures.
    """
    measured = case.measurement
    if measured is None or measured.ready is None:
        return None
    shown = clock_of(metric, clock) or "ready"
    match metric:
        case "time":
            return seconds_of(case, shown)
        case "numpy":
            return times_numpy(case, run, shown)
        case _:
            return _rate(metric, measured)


def text_of(
    case: CaseState, metric: Metric, clock: Clock, run: RunState
) -> tuple[str, str] | None:
    """The same in words: the value with its unit, and what is to be said of it.

    ``None`` where the case has no point.
    """
    value, measured = value_of(case, metric, clock, run), case.measurement
    if value is None or measured is None:
        return None
    match metric:
        case "time":
            return _time_text(case, clock, value)
        case "flops":
            return fmt.flops_rate(value), ""
        case "bytes":
            return fmt.bytes_rate(value), ""
        case "peak":
            return fmt.percent(value), "of peak"
        case _:
            return fmt.ratio(value), ""


def _time_text(case: CaseState, clock: Clock, value: float) -> tuple[str, str]:
    measured = case.measurement
    assert measured is not None
    if clock == "pipelined":
        return fmt.seconds(value), "(ready)" if case.case.on_host else ""
    summary = measured.dispatch if clock == "dispatch" else measured.ready
    if summary is None or summary.rounds < 2:
        return fmt.measured(summary), ""
    return fmt.measured(summary), f"± {fmt.percent(summary.half_width)}"


def title_of(metric: Metric, clock: Clock, cases: Sequence[CaseState]) -> str:
    """What the curves show and on which clock."""
    shown = clock_of(metric, clock)
    host = any(case.case.on_host for case in cases)
    numpy = ", numpy: ready" if host else ""
    if metric == "time":
        return {
            "ready": "ready · seconds per call over size",
            "dispatch": "dispatch · seconds until the call returned, over size",
            "pipelined": f"pipelined{numpy} · seconds per call over size",
        }[shown or "ready"]
    if metric == "numpy":
        return f"× NumPy over size · {shown} · above 1 JAX is faster"
    return f"{_RATES[metric]} over size · {_rate_clocks(metric, cases)}"


def _rate_clocks(metric: Metric, cases: Sequence[CaseState]) -> str:
    """The clocks that the rates stand on: pipelined where it is known."""
    rated = [
        case for case in cases if case.measurement and _rate(metric, case.measurement)
    ]
    by_clock = {
        clock: {case.case.mode for case in rated if _rate_clock(case) == clock}
        for clock in ("pipelined", "ready")
    }
    if not by_clock["ready"]:
        return "pipelined"
    if not by_clock["pipelined"]:
        return "ready"
    modes = ", ".join(sorted(by_clock["ready"] - by_clock["pipelined"]))
    return f"pipelined, {modes or 'some'}: ready"


def _rate(metric: Metric, measured: Measurement) -> float | None:
    """A rate, or a share of the peak."""
    match metric:
        case "flops":
            return measured.flops_per_second
        case "bytes":
            return measured.bytes_per_second
        case _:
            return share_of_peak(measured)


def _rate_clock(case: CaseState) -> Clock:
    """Work that runs inline in the caller is never in a queue."""
    measured = case.measurement
    assert measured is not None
    if measured.pipelined_seconds is None or measured.has("inline"):
        return "ready"
    return "pipelined"
