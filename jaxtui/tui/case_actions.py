"""The keys that open a screen of the selected case: its calls, and what XLA made."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from jaxtui.model import Case, Inspection, Loop
from jaxtui.tui.command import Command

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

FIRST_CALLS = 20
"""Fewer than any runtime lets be in flight, so that nothing holds the host back: the
first look shall show the hand-over alone."""

BUDGET_SECONDS = 6.0
"""Of a loop that the user waits for, compile included."""


class CaseActions:
    """A part of the app."""

    def action_async_view(self) -> None:
        """Open the async view of the current case."""
        app = cast("JaxtuiApp", self)
        case = app._case()
        if case is None or not app.session.state.devices:
            app.session.say("JAX is not ready yet.")
            return
        device = app.session.state.device
        assert device is not None
        loop = Loop(
            case=loopable(case, device.name),
            calls=FIRST_CALLS,
            budget_seconds=BUDGET_SECONDS,
        )
        self.open_loop(loop)

    def open_loop(self, loop: Loop) -> None:
        """Open the async view of a loop, which it runs."""
        app = cast("JaxtuiApp", self)
        from jaxtui.tui.screens.async_view import AsyncView

        if not isinstance(app.screen, AsyncView):
            app.push_screen(AsyncView(loop, fps=app._fps, clock=app._clock))

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


def loopable(case: Case, device: str) -> Case:
    """The case as JAX dispatches it: what the host computes itself becomes jit."""
    if case.on_host:
        return msgspec.structs.replace(case, mode="jit", device=device, inputs="device")
    if case.mode not in ("eager", "jit"):
        return msgspec.structs.replace(case, mode="jit")
    return case
