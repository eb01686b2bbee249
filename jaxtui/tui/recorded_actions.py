"""The recorded TPUs in the app: the key that asks which one, and its screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.geometry import Offset

from jaxtui.tui.command import Command

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp

OPEN_RECORDED: tuple[Command, ...] = (
    Command(
        "recorded",
        "o,ctrl+u",
        "recorded",
        "Show a recorded TPU…",
        "Show the devices of a TPU that is not here, as they were recorded.",
        "View",
        tab="devices",
    ),
)
"""What opens the list, from the tab Devices and from the palette."""

_PLACE = Offset(1, 2)
"""Of the list: under the tabs."""


class RecordedActions:
    """A part of the app."""

    def action_recorded(self) -> None:
        """Ask which one, and show it."""
        self.choose_recorded(None)

    def choose_recorded(self, shown: str | None) -> None:
        """Ask which topology to show.

        Args:
            shown: the one that is on screen, which gives way to the chosen one.
        """
        app = cast("JaxtuiApp", self)
        # Here, because the first frame shall not wait for any of it.
        from jaxtui.machine import topologies
        from jaxtui.tui.screens.choice_popup import ChoicePopup
        from jaxtui.tui.screens.recorded import RecordedScreen

        names = topologies.names()

        def show(chosen: tuple[str, ...] | None) -> None:
            if chosen is None:
                return
            if isinstance(app.screen, RecordedScreen):
                app.screen.topology = chosen[0]
            else:
                app.push_screen(RecordedScreen(chosen[0]))

        popup = ChoicePopup(names, (shown or names[0],), _PLACE, multiple=False)
        app.push_screen(popup, show)
