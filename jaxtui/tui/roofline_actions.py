"""The key that has the roofs of a device measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from jaxtui.tui.command import Command
from jaxtui.tui.roofline import device_of, work_for

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp

MEASURE_ROOFS: tuple[Command, ...] = (
    Command(
        "roofs",
        "z,f4",
        "roofs",
        "Roofs",
        "Measure how fast the device is at best, and show how near each case comes.",
        "Run",
        tab="bench",
    ),
)
"""What measures them, in the tab Bench."""


class RooflineActions:
    """A part of the app."""

    def action_roofs(self) -> None:
        """Measure the roofs that limit the cases, and show these under them."""
        app = cast("JaxtuiApp", self)
        state = app.session.state
        cases = [one.case for one in state.run.cases] if state.run else []
        device = device_of(cases, state.case_index)
        if device is None:
            return
        app.session.update(view="roofline")
        app.start(work_for(state.roofs, cases, device, state.ops), "roofs")
