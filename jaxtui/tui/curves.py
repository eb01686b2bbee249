"""What the plots show: a run turned into series and axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.model.own import short_name
from jaxtui.plot import Axis, Color, Mark, Picture, Series
from jaxtui.tui.crossings import crossing_marks, times_numpy
from jaxtui.tui.readout import share_of_peak
from jaxtui.tui.state import CaseState, Metric, RunState
from jaxtui.tui.trace import Trace

_FEWEST_POINTS = 64
"""The live plot's width in points to begin with."""

_TITLES: dict[Metric, str] = {
    "time": "ready · seconds per call over size",
    "flops": "FLOP/s over size",
    "bytes": "bytes/s over size",
    "peak": "% of peak over size",
    "numpy": "× NumPy over size: above 1 JAX is faster",
}


def picture(
    run: RunState,
    case: CaseState | None,
    metric: Metric,
    colors: Sequence[Color],
    *,
    live: bool = False,
) -> Picture | None:
    """The plot of a run, or ``None`` while there is nothing to draw.

    Several sizes make curves over size; otherwise the samples of ``case`` are drawn as
    they arrive, ready and dispatch on one logarithmic axis.
    """
    if not live and len({one.case.size for one in run.cases} - {0}) > 1:
        return sweep(run, metric, colors)
    return None if case is None else samples(case, colors)


def samples(case: CaseState, colors: Sequence[Color]) -> Picture | None:
    """Ready and dispatch of every call so far."""
    if not case.ready.points:
        return None
    # The axis doubles instead of growing with each call: what is drawn stays where it
    # is, and only the new columns have to be sent to the terminal.
    longest = max(len(case.ready.points), len(case.dispatch.points))
    width = max(1, longest - 1) if case.status == "done" else _FEWEST_POINTS
    while width < longest - 1:
        width *= 2
    clocks = [("ready", case.ready), ("dispatch", case.dispatch)]
    return Picture(
        tuple(
            Series(name, range(len(trace.points)), trace.points, colors[index])
            for index, (name, trace) in enumerate(clocks)
            if trace.points
        ),
        Axis("calls, in order", limits=(0, width), format=lambda _: ""),
        Axis("", log=True, limits=_decades(clocks), format=fmt.tick_seconds),
        "seconds per call",
    )


def sweep(
    run: RunState,
    metric: Metric,
    colors: Sequence[Color],
    crossings: Sequence[Mark] | None = None,
) -> Picture | None:
    """One curve per way of running, over size.

    Args:
        run: what was measured.
        metric: what the curves show.
        colors: of the curves, in turn.
        crossings: where they cross; by default those with NumPy are read off.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for case in run.cases:
        value = value_of(case, metric, run)
        points = curves.setdefault(_curve_label(case, run), [])
        # A function of the user's own may have no size, and so no place on the axis.
        if value is not None and value > 0 and case.case.size:
            points.append((float(case.case.size), value))
    if not any(curves.values()):
        return None
    sizes = sorted({case.case.size for case in run.cases} - {0})
    series = tuple(
        Series(
            label,
            [x for x, _ in sorted(points)],
            [y for _, y in sorted(points)],
            colors[index % len(colors)],
            points=True,
        )
        for index, (label, points) in enumerate(curves.items())
    )
    return Picture(
        series,
        Axis(
            "size",
            log=True,
            limits=(sizes[0], sizes[-1]),
            format=fmt.tick_size,
            ticks=sizes,
        ),
        Axis("", log=True, format=_FORMATS[metric]),
        _TITLES[metric],
        (*_marks(metric), *_crossings(run, metric, crossings)),
    )


def value_of(case: CaseState, metric: Metric, run: RunState) -> float | None:
    """A case's point on the curve over size, or ``None`` where it has none."""
    measured = case.measurement
    if measured is None or measured.ready is None:
        return None
    match metric:
        case "time":
            return measured.ready.median
        case "flops":
            return measured.flops_per_second
        case "bytes":
            return measured.bytes_per_second
        case "peak":
            return share_of_peak(measured)
        case _:
            return times_numpy(case, run)


def _decades(clocks: Sequence[tuple[str, Trace]]) -> tuple[float, float]:
    """Half decades around all points, so that the axis seldom moves."""
    values = [value for _, trace in clocks for value in trace.points if value > 0]
    low, high = min(values, default=1e-6), max(values, default=1e-3)
    return 10 ** (math.floor(2 * math.log10(low)) / 2), 10 ** (
        math.ceil(2 * math.log10(high)) / 2
    )


def _curve_label(case: CaseState, run: RunState) -> str:
    """What tells this curve from the others of the run, mode first."""
    asked = case.case
    words: list[str] = [asked.mode]
    for name in ("op", "dtype", "precision", "device", "inputs"):
        values = {
            getattr(one.case, name)
            for one in run.cases
            if name not in ("device", "inputs") or not one.case.on_host
        }
        if len(values) > 1 and not (
            asked.on_host and name in ("device", "inputs", "precision")
        ):
            words.append(short_name(str(getattr(asked, name))))
    return " ".join(words)


def _marks(metric: Metric) -> tuple[Mark, ...]:
    if metric == "numpy":
        return (Mark(1.0, "as fast", "y"),)
    if metric == "peak":
        return (Mark(1.0, "peak", "y"),)
    return ()


def _crossings(
    run: RunState, metric: Metric, known: Sequence[Mark] | None
) -> Sequence[Mark]:
    if metric not in ("time", "numpy"):
        return ()
    if known is not None:
        return known
    return crossing_marks(run, lambda case: _curve_label(case, run))


_FORMATS = {
    "time": fmt.tick_seconds,
    "flops": fmt.tick_flops_rate,
    "bytes": fmt.tick_bytes_rate,
    "peak": fmt.percent,
    "numpy": fmt.ratio,
}
