"""The keys of the health check, and what they do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from jaxtui.analysis import examination
from jaxtui.tui.command import Command
from jaxtui.tui.state import CheckState
from jaxtui.view.check import Report, written

if TYPE_CHECKING:
    from jaxtui.analysis.examination import Examination
    from jaxtui.model import CheckLevel
    from jaxtui.tui.app import JaxtuiApp


CHECK_COMMANDS: tuple[Command, ...] = (
    Command(
        "check",
        "c,ctrl+k",
        "check('quick')",
        "Check",
        "Check this machine (quick): is everything there, right and fast?",
        "Check",
        footer=True,
        tab="devices",
    ),
    Command(
        "full-check",
        "C,ctrl+e",
        "check('full')",
        "Full check",
        "Check this machine thoroughly (full): it takes some minutes.",
        "Check",
        tab="devices",
    ),
    Command(
        "check-panel",
        "escape",
        "check_panel",
        "Hide",
        "Stop the check that is going on; hide the last one, or show it again.",
        "Check",
        tab="devices",
    ),
)


def is_of_a_check(action: str) -> bool:
    """Whether an action means something only once there is a check."""
    return action == "check_panel"


class CheckActions:
    """The part of the app that runs the health check."""

    @property
    def _clinic(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self)

    @property
    def _checked(self) -> CheckState:
        return self._clinic.session.state.check

    def action_check(self, level: CheckLevel) -> None:
        """Check all devices that this process can use."""
        session = self._clinic.session
        if refusal := session.state.refusal("verdicts"):
            session.say(refusal)
            return
        mine = tuple(one for one in session.state.devices if one.addressable)
        if not mine:
            session.say("None of these devices belongs to this process.")
            return
        session.update(check_shown=True)
        exam = examination.begin(mine, level)
        self._clinic.background(partial(self._play_check, exam))

    async def _play_check(self, exam: Examination) -> None:
        await self._clinic.session.play(exam, "check")

    def action_check_panel(self) -> None:
        """Stop the check that is running; hide the last one, or show it again."""
        if self._checked.going:
            self._clinic.action_stop()
        else:
            self._clinic.session.update(check_shown=not self._checked.shown)

    def hide_check(self) -> None:
        """Make room for the first minute."""
        if self._checked.shown:
            self._clinic.session.update(check_shown=False)

    def copy_check(self) -> None:
        """Copy the check as text, and write it to a file."""
        report = self.shown_check()
        if report is not None:
            self._clinic.take_away(written(report), "check.txt")

    def shown_check(self) -> Report | None:
        """The check that is on screen, with its verdicts."""
        if not self._checked.shown:
            return None
        from jaxtui.tui.widgets.devices_pane import DevicesPane

        return self._clinic.query_one(DevicesPane).report
