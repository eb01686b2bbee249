"""The choice of ops, or of functions of the user's own."""

from __future__ import annotations

from textual.message import Message

from jaxtui.model import OpInfo
from jaxtui.model.own import brief_name
from jaxtui.tui.own_state import Picked
from jaxtui.tui.screens.op_popup import OPEN, OpPopup, entries
from jaxtui.tui.widgets.choice import Choice


class OpChoice(Choice):
    """Its list says of each op what it is, and ends with opening a file."""

    class OpenWanted(Message):
        """A file is to be opened."""

    ops: tuple[OpInfo, ...] = ()
    """What there is to choose."""
    picks: tuple[Picked, ...] = ()
    """Functions that were chosen before."""

    def action_open(self) -> None:
        """Open the list below this widget."""
        listed = entries(self.ops, self.picks)
        popup = OpPopup(listed, self.chosen, self.region.offset)
        self.app.push_screen(popup, self._take)

    def _summary(self) -> str:
        if len(self.chosen) == 1:
            return brief_name(self.chosen[0])
        return super()._summary()

    def _take(self, chosen: tuple[str, ...] | None) -> None:
        if chosen == (OPEN,):
            self.post_message(self.OpenWanted())
            return
        super()._take(chosen)
