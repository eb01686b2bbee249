"""The curves over size: one for each way of running."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Sized
from functools import partial

from jaxtui import format as fmt
from jaxtui.model.own import short_name
from jaxtui.plot import Axis, Color, Mark, Picture, Reading, Series, Value
from jaxtui.tui.crossings import crossing_marks
from jaxtui.tui.per_run import once_per_run
from jaxtui.tui.plot_state import Clock, Metric, clock_of, sizes
from jaxtui.tui.plots.values import TICKS, text_of, title_of, value_of
from jaxtui.tui.run_state import CaseState, RunState


def picture(
    run: RunState,
    metric: Metric,
    colors: Sequence[Color],
    crossings: Sequence[Mark] | None = None,
    *,
    clock: Clock = "ready",
    selected: CaseState | None = None,
) -> Picture | None:
    """One curve per way of running, over size.

    Args:
        run: what was measured.
        metric: what the curves show.
        colors: of the curves, in turn.
        crossings: where they cross; by default those with NumPy are read off.
        clock: of time and × NumPy.
        selected: the case at whose size reading begins.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    named: set[str] = set()
    for case in run.cases:
        value = value_of(case, metric, clock, run)
        if value is not None or _may_come(case, metric, clock):
            named.add(label_of(case, run))
        # A function of the user's own may have no size, and so no place on the axis.
        points = curves.setdefault(label_of(case, run), [])
        if value is not None and value > 0 and case.case.size:
            points.append((float(case.case.size), value))
    if not any(curves.values()):
        return None
    asked = sizes(run)
    # A curve that this clock does not have keeps its place: the colours and shapes of
    # the others stay.
    series = tuple(
        Series(
            label if label in named else "",
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
            limits=(asked[0], asked[-1]),
            format=fmt.tick_size,
            ticks=asked,
        ),
        Axis("", log=True, format=TICKS[metric]),
        title_of(metric, clock, run.cases),
        (*_marks(metric), *_crossings(run, metric, clock, crossings)),
        places=[float(size) for size in asked],
        read=partial(_read, run, metric, clock, asked, list(curves), named),
        start=asked.index(selected.case.size)
        if selected is not None and selected.case.size in asked
        else 0,
    )


def _may_come(case: CaseState, metric: Metric, clock: Clock) -> bool:
    """Whether a case belongs in the legend without a point, as yet or as it failed.

    NumPy has no dispatch, and is not compared with itself.
    """
    if case.status == "done":
        return False
    if not case.case.on_host:
        return True
    return metric != "numpy" and (metric, clock) != ("time", "dispatch")


def label_of(case: CaseState, run: RunState) -> str:
    """What tells a case's curve from the others of the run, mode first."""
    asked = case.case
    words: list[str] = [asked.mode]
    words += [
        short_name(str(getattr(asked, name)))
        for name in _telling(run)
        if not (asked.on_host and name in ("device", "inputs", "precision"))
    ]
    return " ".join(words)


@once_per_run
def _telling(run: RunState) -> tuple[str, ...]:
    """What beside the mode and the size differs between the cases of a run."""
    cases = [one.case for one in run.cases]
    jax = [case for case in cases if not case.on_host]
    varied: dict[str, Sized] = {
        "op": {case.op for case in cases},
        "dtype": {case.dtype for case in cases},
        "precision": {case.precision for case in cases},
        "device": {case.device for case in jax},
        "inputs": {case.inputs for case in jax},
    }
    return tuple(name for name, values in varied.items() if len(values) > 1)


def case_at(run: RunState, size: int, selected: CaseState | None) -> int | None:
    """Index of the case of a size that is like the selected one, or else of any."""
    there = [i for i, case in enumerate(run.cases) if case.case.size == size]
    wanted = None if selected is None else label_of(selected, run)
    alike = [i for i in there if label_of(run.cases[i], run) == wanted]
    return next(iter(alike or there), None)


def _read(
    run: RunState,
    metric: Metric,
    clock: Clock,
    asked: Sequence[int],
    labels: Sequence[str],
    named: Collection[str],
    place: int,
) -> Reading:
    """Every curve's value at one size."""
    size = asked[place]
    values = []
    for case in run.cases:
        label = label_of(case, run)
        if case.case.size != size or label not in named:
            continue
        text, more = text_of(case, metric, clock, run) or (_missing(case), "")
        if text:
            values.append(Value(text, more, labels.index(label)))
    shown = clock_of(metric, clock)
    name = fmt.size(size) + (f" {shown}" if shown else "")
    if not values:
        return Reading(f"{name}: no figures yet")
    return Reading(name, tuple(sorted(values, key=lambda value: value.series or 0)))


def _missing(case: CaseState) -> str:
    if case.status == "failed":
        return "failed"
    return "no figure" if case.status == "done" else ""


def _marks(metric: Metric) -> tuple[Mark, ...]:
    if metric == "numpy":
        return (Mark(1.0, "as fast", "y"),)
    if metric == "peak":
        return (Mark(1.0, "peak", "y"),)
    return ()


def _crossings(
    run: RunState, metric: Metric, clock: Clock, known: Sequence[Mark] | None
) -> Sequence[Mark]:
    shown = clock_of(metric, clock)
    if shown is None or shown == "dispatch":
        return ()
    if known is not None:
        return known
    return crossing_marks(run, lambda case: label_of(case, run), shown)
