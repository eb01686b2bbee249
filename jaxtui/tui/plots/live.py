"""The calls of one case as they come: ready and dispatch, one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from jaxtui import format as fmt
from jaxtui.plot import Axis, Color, Picture, Reading, Series, Value
from jaxtui.tui.run_state import CaseState
from jaxtui.tui.trace import Trace

_FEWEST_POINTS = 64
"""The plot's width in points to begin with."""


def picture(case: CaseState, colors: Sequence[Color]) -> Picture | None:
    """Ready and dispatch of every call so far; ``None`` before the first."""
    if not case.ready.points:
        return None
    # The axis doubles instead of growing with each call: what is drawn stays where it
    # is, and only the new columns have to be sent to the terminal.
    longest = max(len(case.ready.points), len(case.dispatch.points))
    width = max(1, longest - 1) if case.status == "done" else _FEWEST_POINTS
    while width < longest - 1:
        width *= 2
    clocks = [
        (name, trace)
        for name, trace in (("ready", case.ready), ("dispatch", case.dispatch))
        if trace.points
    ]
    return Picture(
        tuple(
            Series(
                name,
                range(len(trace.points)),
                trace.points,
                colors[index],
                named=True,
            )
            for index, (name, trace) in enumerate(clocks)
        ),
        Axis("calls, in order", limits=(0, width), format=lambda _: ""),
        Axis("", log=True, limits=_decades(clocks), format=fmt.tick_seconds),
        "seconds per call",
        places=range(longest),
        read=partial(_read, clocks),
        start=longest - 1,
    )


def _read(clocks: Sequence[tuple[str, Trace]], place: int) -> Reading:
    trace = clocks[0][1]
    values = tuple(
        Value(fmt.seconds(trace.points[place]), series=index)
        for index, (_, trace) in enumerate(clocks)
        if place < len(trace.points)
    )
    if trace.calls == len(trace.points):
        return Reading(f"call {place + 1}", values)
    # Points are the fastest and the slowest of some calls, at about their places.
    call = max(1, round((place + 0.5) / len(trace.points) * trace.calls))
    return Reading(f"near call {fmt.count(call)}", values)


def _decades(clocks: Sequence[tuple[str, Trace]]) -> tuple[float, float]:
    """Half decades around all points, so that the axis seldom moves."""
    values = [value for _, trace in clocks for value in trace.points if value > 0]
    low, high = min(values, default=1e-6), max(values, default=1e-3)
    return 10 ** (math.floor(2 * math.log10(low)) / 2), 10 ** (
        math.ceil(2 * math.log10(high)) / 2
    )
