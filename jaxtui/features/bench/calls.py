"""The calls of one case: as they come, and how they spread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

from jaxtui.core import format as fmt
from jaxtui.core.model import Summary
from jaxtui.core.state import CaseState
from jaxtui.core.stats import bin_edge, bin_of
from jaxtui.core.trace import Trace
from jaxtui.ui.plot import Axis, Color, Mark, Picture, Reading, Series, Value

MOST_BINS = 30

_FEWEST_POINTS = 64
"""The width of the live plot in points to begin with."""

_ABOVE = 1.25
"""The height of a histogram in that of its highest bar, for the names of the marks."""

_TAIL = 0.005
"""The share of calls at either end that may lie outside of the plot."""


def live(case: CaseState, colors: Sequence[Color]) -> Picture | None:
    """Ready and dispatch of every call so far; ``None`` before the first."""
    if not case.ready.points:
        return None
    # The axis doubles instead of growing with each call: what is drawn stays where it
    # is, and only the new columns have to be sent to the terminal.
    longest = max(len(case.ready.points), len(case.dispatch.points))
    width = max(1, longest - 1) if case.status == "done" else _FEWEST_POINTS
    while width < longest - 1:
        width *= 2
    pair = (("ready", case.ready), ("dispatch", case.dispatch))
    clocks = [(name, trace) for name, trace in pair if trace.points]
    # Half decades around all points, so that the axis seldom moves.
    values = [value for _, trace in clocks for value in trace.points if value > 0]
    low, high = min(values, default=1e-6), max(values, default=1e-3)
    decades = (
        10 ** (math.floor(2 * math.log10(low)) / 2),
        10 ** (math.ceil(2 * math.log10(high)) / 2),
    )
    return Picture(
        tuple(
            Series(
                name,
                range(len(clock.points)),
                clock.points,
                colors[index],
                specks=True,
            )
            for index, (name, clock) in enumerate(clocks)
        ),
        Axis("calls, in order", limits=(0, width), format=lambda _: ""),
        Axis("", log=True, limits=decades, format=fmt.tick_seconds),
        "time per call",
        places=range(longest),
        read=partial(_read_call, clocks),
        start=longest - 1,
    )


def _read_call(clocks: Sequence[tuple[str, Trace]], place: int) -> Reading:
    trace = clocks[0][1]
    values = tuple(
        Value(fmt.seconds(clock.points[place]), series=index)
        for index, (_, clock) in enumerate(clocks)
        if place < len(clock.points)
    )
    if trace.calls == len(trace.points):
        return Reading(f"call {place + 1}", values)
    # Points are the fastest and the slowest of some calls, at about their places.
    call = max(1, round((place + 0.5) / len(trace.points) * trace.calls))
    return Reading(f"near call {fmt.count(call)}", values)


def histogram(case: CaseState, colors: Sequence[Color]) -> Picture | None:
    """Draw the distribution of the calls until ready; ``None`` before the first."""
    if case.measurement is None or not case.ready.counts:
        return None
    trace, summary = case.ready, case.measurement.ready
    first, last = _range(trace.counts, summary)
    edges, counts = _binned(trace.counts, first, last)
    slower = sum(count for index, count in trace.counts.items() if index > last)
    title = f"ready · {fmt.plural(trace.calls, 'call')}"
    if slower:
        longest = fmt.seconds(bin_edge(max(trace.counts) + 0.5), 2)
        title += f", {fmt.count(slower)} slower, to {longest}"
    marks: tuple[Mark, ...] = ()
    if summary is not None:
        # Not in a larger unit, as where only one digit is known: p99 stands beside it.
        middle = fmt.seconds(summary.median, max(2, fmt.digits_known(summary.interval)))
        marks = (
            Mark(summary.median, f"median {middle}"),
            Mark(summary.p99, f"p99 {fmt.seconds(summary.p99, 2)}"),
        )
    middles = [math.sqrt(low * high) for low, high in pairwise(edges)]
    return Picture(
        (Series("", middles, counts, colors[0], bars=True),),
        Axis("time", log=True, limits=(edges[0], edges[-1]), format=fmt.tick_seconds),
        Axis("", limits=(0.0, _ABOVE * max(counts)), format=_whole),
        title,
        marks,
        places=middles,
        read=partial(_read_bin, edges, counts),
        start=counts.index(max(counts)),
    )


def _binned(
    counts: Mapping[int, int], first: int, last: int
) -> tuple[list[float], list[int]]:
    """The ends of equal bins on a logarithmic axis, seconds, and the calls in each.

    The first begins at the bin ``first`` of the trace; its bin ``last`` is in the last.
    """
    calls = sum(counts.values())
    # Rice's rule: as many as there are calls to make their heights mean something.
    most = min(MOST_BINS, max(6, round(2 * calls ** (1 / 3))))
    width = max(1, math.ceil((last + 1 - first) / most))
    number = max(1, math.ceil((last + 1 - first) / width))
    heights = [0] * number
    for index, count in counts.items():
        place = (index - first) // width
        if 0 <= place < number:
            heights[place] += count
    return [bin_edge(first + place * width) for place in range(number + 1)], heights


def _range(counts: Mapping[int, int], summary: Summary | None) -> tuple[int, int]:
    """The first and last bin to show: nearly all calls, median and p99."""
    total, passed = sum(counts.values()), 0
    inside = []
    for index in sorted(counts):
        if passed + counts[index] > _TAIL * total and passed < (1 - _TAIL) * total:
            inside.append(index)
        passed += counts[index]
    if summary is not None:
        named = (summary.median, summary.p99)
        inside += [bin_of(value) for value in named if value > 0]
    return min(inside), max(inside)


def _read_bin(edges: Sequence[float], counts: Sequence[int], place: int) -> Reading:
    low, high = fmt.seconds(edges[place]), fmt.seconds(edges[place + 1])
    count, total = counts[place], sum(counts)
    values = (Value(fmt.plural(count, "call"), f"({fmt.percent(count / total)})"),)
    return Reading(f"{low} to {high}", values)


def _whole(value: float) -> str:
    return fmt.count(round(value)) if abs(value - round(value)) < 1e-6 else ""
