"""The actions of the health check, and who gives its tests to the engine."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from jaxtui import format as fmt
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.tui.check_state import CheckState
from jaxtui.view.check import Report, written

if TYPE_CHECKING:
    from jaxtui.model import Check, CheckLevel
    from jaxtui.tui.app import JaxtuiApp

# ``check_play`` is imported by the first check: nothing else needs it.


class CheckActions:
    """The part of the app that runs the health check, one test after the other."""

    @property
    def _clinic(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self)

    @property
    def _checked(self) -> CheckState:
        return self._clinic.session.latest.check

    # Keys.

    def action_check(self, level: CheckLevel) -> None:
        """Check all devices that this process can use."""
        from jaxtui.tui import check_play

        if refusal := self._clinic.session.latest.refusal("verdicts"):
            self._clinic.session.say(refusal)
            return
        devices = check_play.addressable(self._clinic.session.latest.devices)
        if not devices:
            self._clinic.session.say("None of these devices belongs to this process.")
            return
        self._set_check(check_play.begun(devices, level))

    def action_check_panel(self) -> None:
        """Stop the check that is going on; hide the last one, or show it again."""
        if self._checked.going:
            self._clinic.action_stop()
        else:
            self._set_check(replace(self._checked, shown=not self._checked.shown))

    def hide_check(self) -> None:
        """Make room for the first minute."""
        if self._checked.shown:
            self._set_check(replace(self._checked, shown=False))

    def stop_check(self) -> bool:
        """Begin no further test; whether none is going on that must be stopped."""
        if not self._checked.going:
            return False
        from jaxtui.tui import check_play

        self._set_check(check_play.stopped(self._checked))
        if self._clinic.session.latest.running:
            return False
        if self._checked.going:
            self._clinic.session.say("Stopping as soon as the next test has begun.")
        return True

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

    # Running.

    def check_on(self) -> None:
        """Give the engine the next test, if it is time.

        Called after each change of the snapshot.
        """
        if not self._checked.going:
            return
        from jaxtui.tui import check_play

        running = self._clinic.session.latest.running
        state, check = check_play.following(self._checked, running)
        if state is self._checked:
            return
        self._set_check(state)
        if check is not None:
            self._clinic.background(partial(self._run_test, check))

    async def _run_test(self, check: Check) -> None:
        from jaxtui.tui import check_play

        session = self._clinic.session
        if session.latest.running:
            self._set_check(check_play.not_begun(self._checked))
            return
        limit = check_play.RESTART_SECONDS
        try:
            await asyncio.wait_for(session.run(check, "check"), limit)
        except asyncio.TimeoutError:
            waited = fmt.seconds(limit)
            self._give_up_check(f"JAX did not start again within {waited}.")
            return
        except EngineUnavailableError as error:
            self._give_up_check(f"JAX could not be started again: {error}")
            raise
        if self._checked.stopping:
            await session.stop()
        else:
            self._limit_check()

    def _limit_check(self) -> None:
        """Have the test that has just begun ended when it takes too long."""
        session = self._clinic.session
        going, exam = session.latest.going, self._checked.exam
        if going is not None and exam is not None:
            late = partial(self._end_check_late, going.number, exam.deaths)
            self._clinic.set_timer(exam.limit_seconds, late)

    def _end_check_late(self, number: int, deaths: int) -> None:
        session = self._clinic.session
        going, exam = session.latest.going, self._checked.exam
        if exam is None or going is None or going.number != number:
            return
        if exam.deaths != deaths or session.latest.engine == "starting":
            # It begins again, as its engine has died: it has all its time again.
            self._limit_check()
            return
        from jaxtui.tui import check_play

        limit = fmt.seconds(exam.limit_seconds)
        self._set_check(check_play.overdue(self._checked))
        why = f"{self._checked.test} took longer than {limit}: ending the engine."
        self._clinic.background(partial(session.stop, why))

    def _give_up_check(self, why: str) -> None:
        from jaxtui.tui import check_play

        self._set_check(check_play.given_up(self._checked, why))

    def _set_check(self, check: CheckState) -> None:
        self._clinic.session.update(check=check)
