"""What the keys of the plot in the tab Bench do to the snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from jaxtui.tui.plot_state import next_view
from jaxtui.view.curves import METRICS, next_clock

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp


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
