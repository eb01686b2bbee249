"""The actions of the async view."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from jaxtui.model import Case, Loop

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp

FIRST_CALLS = 20
"""Fewer than any runtime lets be in flight, so that nothing holds the host back: the
first look shall show the hand-over alone."""

BUDGET_SECONDS = 6.0
"""Of a loop that the user waits for, compile included."""


class LoopActions:
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


def loopable(case: Case, device: str) -> Case:
    """The case as JAX dispatches it: what the host computes itself becomes jit."""
    if case.on_host:
        return msgspec.structs.replace(case, mode="jit", device=device, inputs="device")
    if case.mode not in ("eager", "jit"):
        return msgspec.structs.replace(case, mode="jit")
    return case
