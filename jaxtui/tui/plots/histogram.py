"""How the calls of one case spread: dispatch and ready, each on an axis of its own.

On a common axis both would be a few columns wide, however far they lie apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.model import Summary
from jaxtui.plot import Axis, Color, Mark, Picture, Reading, Series, Value
from jaxtui.stats import bin_edge, bin_of
from jaxtui.tui.run_state import CaseState
from jaxtui.tui.trace import Trace

MOST_BINS = 30

_ABOVE = 1.25
"""The height of the plot in that of its highest bar, for the names of the marks."""

_TAIL = 0.005
"""The share of calls at either end that may lie outside of the plot."""


def picture(case: CaseState, colors: Sequence[Color]) -> Picture | None:
    """Both clocks side by side, ready alone where there is no other.

    ``None`` before the first call.
    """
    measured = case.measurement
    if measured is None or not case.ready.counts:
        return None
    ready = _of_clock("ready", case.ready, measured.ready, colors[0])
    if not case.dispatch.counts:
        return ready
    dispatch = _of_clock("dispatch", case.dispatch, measured.dispatch, colors[1])
    return replace(ready, left=dispatch)


def _of_clock(
    name: str, trace: Trace, summary: Summary | None, color: Color
) -> Picture:
    first, last = _range(trace.counts, summary)
    edges, counts = binned(trace.counts, first, last)
    beyond = _beyond(trace.counts, last)
    marks: tuple[Mark, ...] = ()
    if summary is not None:
        marks = (
            Mark(summary.median, f"median {fmt.measured(summary)}"),
            Mark(summary.p99, f"p99 {fmt.seconds(summary.p99, 2)}"),
        )
    middles = [math.sqrt(low * high) for low, high in pairwise(edges)]
    return Picture(
        (Series(_calls(trace.calls), middles, counts, color, bars=True),),
        Axis(
            "seconds",
            log=True,
            limits=(edges[0], edges[-1]),
            format=fmt.tick_seconds,
        ),
        Axis("", limits=(0.0, _ABOVE * max(counts)), format=_whole),
        f"{name} · {beyond}" if beyond else name,
        marks,
        places=middles,
        read=partial(_read, name, edges, counts),
        start=counts.index(max(counts)),
    )


def binned(
    counts: Mapping[int, int], first: int, last: int
) -> tuple[list[float], list[int]]:
    """The ends of equal bins on a logarithmic axis, seconds, and the calls in each.

    Args:
        counts: of the trace.
        first: its bin at which the first one begins.
        last: its bin that must be in the last one.
    """
    calls = sum(counts.values())
    # Rice's rule: as many as there are calls to make their heights mean something.
    wanted = min(MOST_BINS, max(6, round(2 * calls ** (1 / 3))))
    each = max(1, math.ceil((last + 1 - first) / wanted))
    number = max(1, math.ceil((last + 1 - first) / each))
    found = [0] * number
    for index, count in counts.items():
        place = (index - first) // each
        if 0 <= place < number:
            found[place] += count
    return [bin_edge(first + place * each) for place in range(number + 1)], found


def _range(counts: Mapping[int, int], summary: Summary | None) -> tuple[int, int]:
    """The first and last bin to show: nearly all calls, median and p99."""
    total, seen = sum(counts.values()), 0
    inside = []
    for index in sorted(counts):
        if seen + counts[index] > _TAIL * total and seen < (1 - _TAIL) * total:
            inside.append(index)
        seen += counts[index]
    if summary is not None:
        named = (summary.median, summary.p99)
        inside += [bin_of(value) for value in named if value > 0]
    return min(inside), max(inside)


def _beyond(counts: Mapping[int, int], last: int) -> str:
    slower = sum(count for index, count in counts.items() if index > last)
    if not slower:
        return ""
    return (
        f"{fmt.count(slower)} slower, to {fmt.seconds(bin_edge(max(counts) + 0.5), 2)}"
    )


def _read(
    name: str, edges: Sequence[float], counts: Sequence[int], place: int
) -> Reading:
    low, high = fmt.seconds(edges[place]), fmt.seconds(edges[place + 1])
    count, total = counts[place], sum(counts)
    values = (Value(_calls(count), f"({fmt.percent(count / total)})"),)
    return Reading(f"{name} {low} to {high}", values)


def _calls(count: int) -> str:
    return fmt.plural(count, "call")


def _whole(value: float) -> str:
    return fmt.count(round(value)) if abs(value - round(value)) < 1e-6 else ""
