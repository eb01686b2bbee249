"""The keys of the plot in the tab Bench, and what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from jaxtui.tui.command import Command
from jaxtui.tui.state import next_view, view_of
from jaxtui.view.curves import METRICS, clock_of, next_clock, sizes

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp
    from jaxtui.tui.state import State


PLOT_COMMANDS: tuple[Command, ...] = (
    Command(
        "view",
        "g,ctrl+g",
        "view",
        "View",
        "Draw the calls, the curves over size, how calls spread, or the roofline.",
        "View",
        footer=True,
        tab="bench",
    ),
    Command(
        "metric",
        "m,ctrl+t",
        "metric",
        "Metric",
        "Draw time, FLOP/s, bytes/s, % of peak or × NumPy.",
        "View",
        footer=True,
        tab="bench",
    ),
    Command(
        "clock",
        "k,ctrl+backslash",
        "clock",
        "Clock",
        "Draw the curves over size by another clock: ready, dispatch or pipelined.",
        "View",
        footer=True,
        tab="bench",
    ),
)
"""What changes the picture."""


def _reading(name: str, keys: str, label: str, description: str) -> Command:
    action = name.replace("-", "_")
    return Command(f"plot-{name}", keys, action, label, description, "Plot in focus")


READING_COMMANDS: tuple[Command, ...] = (
    _reading("previous", "left", "Left", "Read off the place before."),
    _reading("next", "right", "Right", "Read off the next place."),
    _reading("back", "pageup", "Back", "Go back a tenth of the places."),
    _reading("ahead", "pagedown", "Ahead", "Go on a tenth of the places."),
    _reading("first", "home", "First", "Read off the first place."),
    _reading("last", "end", "Last", "Read off the last place."),
    _reading("pick", "enter", "Pick", "Over sizes: select the case of this size."),
    _reading("leave", "escape", "Leave", "Leave the plot for the results."),
)
"""What works while the plot has the focus (Tab or a click gives it)."""


def why_not_plot(action: str, state: State) -> str | None:
    """Why the picture cannot be changed like this now, or ``None``.

    Args:
        action: its name without arguments.
        state: what is on screen.
    """
    if action not in ("view", "metric", "clock"):
        return None
    if state.run is None:
        return "There is nothing to draw yet: run something first."
    if action == "view":
        return None
    if view_of(state) != "sweep":
        if len(sizes(state.run)) > 1:
            return f"The {action} is of the curves over size: g goes there."
        return f"The {action} is of curves over size, and there is only one size."
    if action == "clock" and clock_of(state.metric, state.clock) is None:
        return (
            "Rates have one clock, pipelined where it is known: time and × NumPy have "
            "others (m)."
        )
    return None


def decisive(state: State) -> tuple[object, ...]:
    """What the answers above depend on."""
    if state.run is None:
        return ()
    return view_of(state), clock_of(state.metric, state.clock) is None


class PlotActions:
    """A part of the app."""

    def action_view(self) -> None:
        """The next view of the run."""
        session = cast("JaxtuiApp", self).session
        session.update(view=next_view(session.state))

    def action_metric(self) -> None:
        """The next metric over size."""
        session = cast("JaxtuiApp", self).session
        index = METRICS.index(session.state.metric) + 1
        session.update(metric=METRICS[index % len(METRICS)])

    def action_clock(self) -> None:
        """The next clock that the metric has."""
        session = cast("JaxtuiApp", self).session
        latest = session.state
        session.update(clock=next_clock(latest.metric, latest.clock))
