"""The curves of a run over size: one for each way of running."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from functools import partial
from operator import itemgetter
from typing import NamedTuple, get_args

import msgspec
from msgspec.structs import replace

from jaxtui.core import format as fmt
from jaxtui.core.model import Case, Measurement, OpInfo
from jaxtui.core.model.measurement import Interval
from jaxtui.core.model.own import is_own, parts, short_name
from jaxtui.core.state import CaseState, Job
from jaxtui.features.bench import calls, collectives
from jaxtui.features.bench.crossing import Crossing, last_crossing, start_text
from jaxtui.features.bench.figures import (
    against_numpy,
    cached_per_run,
    ready_interval,
    share_of_peak,
)
from jaxtui.ui.app.state import Metric
from jaxtui.ui.plot import SERIES, Axis, Color, Mark, Picture, Reading, Series, Value

METRICS: tuple[Metric, ...] = get_args(Metric)
"""The metrics of the curves, in the order of the key."""

MOST = 4
"""Marks of crossings on one plot; more are of no help."""

_TICKS: dict[Metric, Callable[[float], str]] = {
    "time": fmt.tick_seconds,
    "flops": fmt.tick_rate,
    "peak": fmt.percent,
    "numpy": fmt.ratio,
    "busbw": fmt.tick_rate,
}
"""The writers of each metric's values on an axis."""


def sizes(run: Job) -> list[int]:
    """The sizes of a run; a user's function may have none."""
    return sorted({case.case.size for case in run.cases} - {0})


def swept(run: Job, case: CaseState | None, ops: Sequence[OpInfo] = ()) -> Job:
    """The cases that have one axis with a case, or with the first one: their sizes mean
    the same.

    Args:
        run: with at least one case.
        case: of the run.
        ops: the catalogue.
    """
    means = {op.name: op.size_means for op in ops}

    def axis(case: Case) -> str:
        # Functions of one file are given the same sizes.
        return parts(case.op)[0] if is_own(case.op) else means.get(case.op, case.op)

    same_axis = axis((case or run.cases[0]).case)
    alike = tuple(entry for entry in run.cases if axis(entry.case) == same_axis)
    return run if len(alike) == len(run.cases) else replace(run, cases=alike)


def of_run(run: Job, ops: Sequence[OpInfo], colors: Sequence[Color]) -> Picture | None:
    """Draw the picture that fits a run: curves over sizes that mean the same for all
    cases, or the calls of its only case.
    """
    if len(run.cases) == 1:
        return calls.live(run.cases[0], colors)
    if len(sizes(run)) < 2 or swept(run, None, ops) is not run:
        return None
    return picture(run, "time", colors)


def picture(
    run: Job,
    metric: Metric,
    colors: Sequence[Color],
    crossings: Sequence[Mark] | None = None,
    *,
    selected: CaseState | None = None,
) -> Picture | None:
    """Draw one curve per way of running, over size.

    Crossings with NumPy are read off unless there are others; reading begins at the
    size of the selected case.
    """
    curves: dict[str, list[tuple[float, Interval]]] = {
        label: [] for label in labels(run)
    }
    for case in run.cases:
        interval = _interval_of(case, metric, run)
        # A user's function may have no size, and so no place on the axis.
        if interval is not None and interval.median > 0 and case.case.size:
            curves[label_of(case, run)].append((float(case.case.size), interval))
    if not any(curves.values()):
        return None
    all_sizes = sizes(run)
    # A curve that this metric does not have keeps its place: the colours and shapes of
    # the others stay.
    series = tuple(
        Series(
            label,
            [x for x, _ in sorted(points)],
            [interval.median for _, interval in sorted(points)],
            colors[tint % len(colors)],
            spans=[(interval.low, interval.high) for _, interval in sorted(points)],
            points=True,
        )
        for (label, points), tint in zip(curves.items(), tints(run), strict=True)
    )
    marks = list(crossings or ())
    if metric not in ("time", "numpy"):
        marks = []
    elif crossings is None:
        marks = list(_crossing_marks(run))
    if metric in ("numpy", "peak"):
        label = "equal" if metric == "numpy" else "peak"
        marks.insert(0, Mark(1.0, label, "y"))
    x = Axis(
        "size",
        log=True,
        limits=(all_sizes[0], all_sizes[-1]),
        format=fmt.tick_size,
        ticks=all_sizes,
    )
    start = 0
    if selected is not None and selected.case.size in all_sizes:
        start = all_sizes.index(selected.case.size)
    return Picture(
        series,
        x,
        Axis("", log=True, format=_TICKS[metric]),
        title_of(metric, run.cases),
        tuple(marks),
        places=[float(size) for size in all_sizes],
        read=partial(_read, run, metric, all_sizes, curves),
        start=start,
    )


@cached_per_run
def labels(run: Job) -> tuple[str, ...]:
    """The curves of a run, in its order."""
    return tuple(dict.fromkeys(label_of(case, run) for case in run.cases))


@cached_per_run
def tints(run: Job) -> tuple[int, ...]:
    """The place of each curve's colour: that of its mode for the first of a mode."""
    modes = {label_of(case, run): case.case.mode for case in run.cases}
    chosen: dict[str, int] = {}
    for label, mode in modes.items():
        place = SERIES.get(mode)
        if place is not None and place not in chosen.values():
            chosen[label] = place
    free = (place for place in itertools.count() if place not in chosen.values())
    return tuple(chosen[label] if label in chosen else next(free) for label in modes)


def label_of(case: CaseState, run: Job) -> str:
    """Name a case's curve among those of the run, mode first."""
    names = _telling(run)
    if case.case.on_host:
        names = tuple(name for name in names if name in ("op", "dtype"))
    facts = (short_name(str(getattr(case.case, name))) for name in names)
    return " ".join((case.case.mode, *facts))


@cached_per_run
def _telling(run: Job) -> tuple[str, ...]:
    """Return the fields besides mode and size that differ between the cases."""
    cases = [entry.case for entry in run.cases]
    jax = [case for case in cases if not case.on_host]
    varied: dict[str, Sized] = {
        "op": {case.op for case in cases},
        "dtype": {case.dtype for case in cases},
        "precision": {case.precision for case in cases},
        "device": {case.device for case in jax},
        "inputs": {case.inputs for case in jax},
    }
    return tuple(name for name, values in varied.items() if len(values) > 1)


def case_at(run: Job, size: int, selected: CaseState | None) -> int | None:
    """Index of the case of a size that is like the selected one, or else of any."""
    there = [i for i, case in enumerate(run.cases) if case.case.size == size]
    label = None if selected is None else label_of(selected, run)
    alike = [i for i in there if label_of(run.cases[i], run) == label]
    return next(iter(alike or there), None)


# Values, and what is read off.


def _interval_of(case: CaseState, metric: Metric, run: Job) -> Interval | None:
    """A case's point on the curve over size, or ``None`` where it has none.

    It is seconds, a rate, a fraction, or a factor. A rate is as uncertain as the
    seconds that it is made of.
    """
    measured = case.measurement
    if measured is None or measured.ready is None:
        return None
    if metric == "time":
        return ready_interval(case)
    if metric == "numpy":
        return against_numpy(case, run)
    value, per_call = _rate(metric, measured), ready_interval(case)
    if value is None or per_call is None or per_call.low <= 0:
        return None if value is None else Interval(value, value, value)
    return Interval(
        value * per_call.median / per_call.high,
        value,
        value * per_call.median / per_call.low,
        per_call.confidence,
    )


def _rate(metric: Metric, measured: Measurement) -> float | None:
    if metric == "flops":
        return measured.flops_per_second
    if metric == "busbw":
        moved = collectives.rates_of(measured)
        return moved.bus_bytes_per_second if moved else None
    return share_of_peak(measured)


def _read(
    run: Job,
    metric: Metric,
    all_sizes: Sequence[int],
    curves: Mapping[str, Sized],
    place: int,
) -> Reading:
    readings, labels = [], list(curves)
    for case in run.cases:
        label = label_of(case, run)
        if case.case.size != all_sizes[place] or not curves[label]:
            continue
        text, more = _text(case, metric, run)
        if text:
            readings.append((labels.index(label), text, more))
    name = fmt.size(all_sizes[place])
    if not readings:
        return Reading(f"{name}: no figures yet")
    write = fmt.alike(part for _, *parts in readings for part in parts)
    values = (
        Value(write(text), write(more), series)
        for series, text, more in sorted(readings, key=itemgetter(0))
    )
    return Reading(name, tuple(values))


def _text(case: CaseState, metric: Metric, run: Job) -> tuple[fmt.Cell, fmt.Cell]:
    """A value with its unit, or why there is none, and what is to be said of it."""
    point, measured = _interval_of(case, metric, run), case.measurement
    if point is None or measured is None:
        if case.status in ("failed", "not run"):
            return case.status, ""
        return ("no figure" if case.status == "done" else ""), ""
    if metric == "numpy":
        return fmt.factor(against_numpy(case, run)), ""
    if metric in ("flops", "busbw"):
        quantity: fmt.Quantity = "FLOP/s" if metric == "flops" else "B/s"
        return fmt.figure(point.median, quantity=quantity), ""
    if metric == "peak":
        return fmt.percent(point.median), "of peak"
    summary = measured.ready
    if summary is None or summary.rounds < 2:
        return fmt.median(summary), ""
    return fmt.median(summary), fmt.ends(summary)


def title_of(metric: Metric, cases: Sequence[CaseState]) -> str:
    if metric == "time":
        return "time per call over size"
    if metric == "numpy":
        return "× NumPy over size · above 1 JAX is faster"
    # Rates stand on the pipelined clock where it is known. Work that runs inline in
    # the caller is never in a queue.
    modes: dict[bool, set[str]] = {True: set(), False: set()}
    for case in cases:
        if (measured := case.measurement) and _rate(metric, measured):
            queued = measured.pipelined_seconds is not None
            modes[queued and not measured.has("inline")].add(case.case.mode)
    clocks = "pipelined"
    if modes[False] and not modes[True]:
        clocks = "ready"
    elif modes[False]:
        overtaken = ", ".join(sorted(modes[False] - modes[True]))
        clocks = f"pipelined, {overtaken or 'some'}: ready"
    name = {"flops": "FLOP/s", "busbw": "busbw, B/s"}.get(metric, "% of peak")
    return f"{name} over size · {clocks}"


# Where JAX overtakes NumPy, read off between the sizes.


class Overtaking(NamedTuple):
    """The last crossing of one curve with another."""

    crossing: Crossing
    faster: str
    """The label of the curve that is faster from there on."""
    slower: str


def _crossing_marks(run: Job) -> tuple[Mark, ...]:
    """A mark for each of ``crossings``."""
    return tuple(
        Mark(crossing.start, f"{faster} beats {slower} {start_text(crossing)}")
        for crossing, faster, slower in crossings(run)
    )


def crossings(run: Job) -> tuple[Overtaking, ...]:
    """Return the last crossing of each way of running with NumPy.

    There is none before the sweep is over: until then the figures move. Nor is there
    one where an engine died: what is missing may be what decides.
    """
    going = any(case.status in ("waiting", "running") for case in run.cases)
    if going or run.outcome == "crashed":
        return ()
    return tuple(_crossings(run))[:MOST]


def _crossings(run: Job) -> Iterator[Overtaking]:
    curves: dict[Case, list[CaseState]] = {}
    for case in run.cases:
        if case.case.mode != "numpy":
            key = msgspec.structs.replace(case.case, size=0, params=None)
            curves.setdefault(key, []).append(case)
    for curve in curves.values():
        ratios = sorted(
            (case.case.size, ratio)
            for case in curve
            if (ratio := against_numpy(case, run)) is not None
        )
        if (crossing := last_crossing(ratios)) is None:
            continue
        slower, faster = "numpy", label_of(curve[0], run)
        if crossing.faster == "first":
            slower, faster = faster, slower
        yield Overtaking(crossing, faster, slower)
