"""What the plot of the tab Bench can show: views, metrics, and the clocks they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from jaxtui.tui.run_state import RunState
    from jaxtui.tui.state import State

View = Literal["live", "sweep", "histogram", "roofline"]
Clock = Literal["ready", "dispatch", "pipelined"]
Metric = Literal["time", "flops", "bytes", "peak", "numpy"]

VIEWS: tuple[View, ...] = ("live", "sweep", "histogram", "roofline")
"""In the order in which the key goes round."""

METRICS: tuple[Metric, ...] = ("time", "flops", "bytes", "peak", "numpy")
"""What the curves over size can show, in the order in which the key goes round."""

_CLOCKS: dict[Metric, tuple[Clock, ...]] = {
    "time": ("ready", "dispatch", "pipelined"),
    # When a call returned says nothing beside NumPy, which returns with the result.
    "numpy": ("ready", "pipelined"),
}


def sizes(run: RunState) -> list[int]:
    """The sizes of a run; a function of the user's own may have none."""
    return sorted({case.case.size for case in run.cases} - {0})


def view_of(state: State) -> View:
    """The view that is shown: the one that was asked for, or else what fits."""
    several = state.run is not None and len(sizes(state.run)) > 1
    if state.view is None or (state.view == "sweep" and not several):
        return "sweep" if several else "live"
    return state.view


def next_view(state: State) -> View:
    """The view after the one that is shown; curves need several sizes."""
    several = state.run is not None and len(sizes(state.run)) > 1
    views = [view for view in VIEWS if view != "sweep" or several]
    return views[(views.index(view_of(state)) + 1) % len(views)]


def clock_of(metric: Metric, clock: Clock) -> Clock | None:
    """The clock under a metric; ``None`` for rates, which have one of their own.

    Args:
        metric: what the curves show.
        clock: the one that was asked for; ready where the metric does not have it.
    """
    clocks = _CLOCKS.get(metric)
    if clocks is None:
        return None
    return clock if clock in clocks else clocks[0]


def next_clock(metric: Metric, clock: Clock) -> Clock:
    """The clock after this one, of those that the metric has."""
    clocks, shown = _CLOCKS.get(metric), clock_of(metric, clock)
    if clocks is None or shown is None:
        return clock
    return clocks[(clocks.index(shown) + 1) % len(clocks)]
