"""What XLA did with the selected case: the key that asks, and its screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from jaxtui.model import Inspection
from jaxtui.tui.command import Command
from jaxtui.tui.loop_actions import loopable

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp

OPEN_INSPECTION: tuple[Command, ...] = (
    Command(
        "inspect",
        "h,ctrl+j",
        "inspect",
        "What XLA did",
        "Show jaxpr, StableHLO and HLO of the selected case, its kernels and fusions.",
        "View",
        tab="devices,bench",
    ),
)
"""What opens it."""


class InspectActions:
    """A part of the app."""

    def action_inspect(self) -> None:
        """Compile the selected case, and show what became of it."""
        app = cast("JaxtuiApp", self)
        state, case = app.session.state, app._case()
        device = state.device
        if state.busy:
            app.session.say("A run is going on: stop it first.")
            return
        if case is None or device is None or not state.can_run:
            app.session.say("JAX is not ready yet.")
            return
        from jaxtui.tui.screens.inspect import InspectScreen

        kept = case.mode == "pallas"
        inspection = Inspection(case=case if kept else loopable(case, device.name))
        app.push_screen(InspectScreen(inspection))
        app.start(inspection, "inspection")
