"""Which view the plot of the tab Bench shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from jaxtui.view.curves import sizes

if TYPE_CHECKING:
    from jaxtui.tui.state import State

View = Literal["live", "sweep", "histogram", "roofline"]

VIEWS: tuple[View, ...] = ("live", "sweep", "histogram", "roofline")
"""In the order in which the key goes round."""


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
