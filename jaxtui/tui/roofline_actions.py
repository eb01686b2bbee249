"""The key that has the roofs of a device measured."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from jaxtui.tui.command import Command
from jaxtui.tui.roofline import device_of, work_for
from jaxtui.tui.roofs_state import asking, not_begun

if TYPE_CHECKING:
    from jaxtui.model import Roofs
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
        state = app.session.latest
        cases = [one.case for one in state.run.cases] if state.run else []
        device = device_of(cases, state.case_index)
        if device is None:
            return
        work = work_for(state.roofs, cases, device, state.ops)
        app.session.update(view="roofline", roofs=asking(state.roofs, work))
        app.background(partial(self._measure_roofs, work))

    async def _measure_roofs(self, work: Roofs) -> None:
        session = cast("JaxtuiApp", self).session
        try:
            await session.run(work, "roofs")
        finally:
            latest = session.latest
            if latest.purpose != "roofs" or not latest.running:
                session.update(roofs=not_begun(latest.roofs))
