"""The health check on the screen, on a fake engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import Check, CheckDone, RunEvent, RunFinished
from jaxtui.core.state import begin_run, reduce
from jaxtui.features.check.exam import begin, of_level
from jaxtui.features.check.report import exam_of
from jaxtui.features.check.screen import CheckScreen
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.state import EMPTY
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.device_table import DeviceTable
from tests.fake_engine import FakeEngine, cpu_devices, tpu_devices
from tests.features.check import check_figures
from tests.features.check.check_figures import BROKEN
from tests.ui.app.driving import app_on, plain, until, until_ready

NARROW, WIDE = (80, 24), (120, 40)
QUICK = of_level("quick")


class Halting(FakeEngine):
    """Does all tests at once but one, of which it only does a part."""

    def __init__(self, test: str, events: int) -> None:
        super().__init__(self._part, devices=tpu_devices())
        self._test, self._count = test, events

    def _part(self, work: object) -> Sequence[RunEvent]:
        assert isinstance(work, Check)
        found = check_figures.events(work)
        return found[: self._count] if work.test == self._test else found

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(work.test for work in self.works if isinstance(work, Check))


async def opened(pilot: Pilot[None], app: JaxtuiApp, key: str = "c") -> CheckScreen:
    await until_ready(pilot, app)
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.screen, CheckScreen))
    screen = app.screen
    assert isinstance(screen, CheckScreen)
    return screen


def text(screen: CheckScreen) -> str:
    return screen.query_one("#check-report", Sheet).text


def last_cell(screen: CheckScreen, row: int) -> str:
    return str(screen.table.get_row_at(row)[-1]).strip()


def title(screen: CheckScreen) -> str:
    return str(screen.query_one("#check-figures").border_title)


def test_it_is_busy_between_its_tests() -> None:
    """Events of a run are taken in by the check that plays, and by no other."""
    exam = begin(tpu_devices(), "quick")
    state = replace(EMPTY, engine="ready", devices=tpu_devices())
    ended = RunFinished(outcome="complete", elapsed_seconds=1.5)
    work = exam.next_work
    assert work is not None
    alone = begin_run(state, 1, "check", work)
    assert not reduce(alone, Envelope(generation=0, run=1, event=ended)).series
    state = replace(state, series={"check": exam}, playing="check")
    for number in (1, 2):
        latest = exam_of(state)
        assert latest
        assert isinstance(latest.next_work, Check)
        state = begin_run(state, number, "check", latest.next_work)
        for event in check_figures.events(latest.next_work):
            state = reduce(state, Envelope(generation=0, run=number, event=event))
    assert (state.running, state.busy) == (False, True)
    assert state.played_seconds == pytest.approx(2 * 1.5)


async def test_one_device_a_copy_and_coming_back(data: Path) -> None:
    engine = FakeEngine(devices=tpu_devices())
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot, app)
        await until(pilot, lambda: text(screen).startswith(" FAIL "))
        works = [work for work in engine.works if isinstance(work, Check)]
        assert tuple(work.test for work in works) == QUICK
        assert {work.level for work in works} == {"quick"}

        # Enter shows the figures of the device at the cursor, and of all again.
        await until(pilot, lambda: "7 devices" in text(screen))
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: BROKEN in title(screen))
        assert "7 devices" not in text(screen)
        assert "matmul 512 int8" in text(screen)
        await pilot.press("enter")
        await until(pilot, lambda: "7 devices" in text(screen))

        # The text is kept in a file; no option of a command is in it.
        await pilot.press("y")
        written = data / "copied" / "check.txt"
        await until(pilot, written.exists)
        assert "FAIL  tpu:3 at 3,0,0" in written.read_text()
        assert "--" not in written.read_text()

        # Closing keeps the figures.
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, DeviceTable))
        again = await opened(pilot, app)
        await until(pilot, lambda: text(again).startswith(" FAIL "))
        assert len(engine.works) == len(works)
        await pilot.press("r")
        await until(pilot, lambda: len(engine.works) == 2 * len(works))


async def test_a_full_check_that_is_stopped_at_120_by_40() -> None:
    engine = Halting("numerics", 0)
    *mine, last = tpu_devices()
    # What another process holds is not checked.
    other = msgspec.structs.replace(last, addressable=False)
    engine.devices = (*mine, other)
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot, app, "C")
        await until(pilot, lambda: engine.tests[-1:] == ("numerics",))
        work = engine.works[-1]
        assert isinstance(work, Check)
        names = tuple(device.name for device in mine)
        assert (work.level, work.devices) == ("full", names)
        events = check_figures.events(work)
        done = next(i for i, one in enumerate(events) if isinstance(one, CheckDone))
        engine.emit_run(*events[: done + 1])
        await until(pilot, lambda: last_cell(screen, 0) == "✓")
        assert last_cell(screen, 1) == "…"
        assert "CHECKING" in text(screen)
        assert "numerics 7 of 7" in text(screen)
        await pilot.press("r")
        await until(pilot, lambda: "s stops it" in plain(app, "MessageLine"))
        await pilot.press("s")
        await until(pilot, lambda: text(screen).startswith(" STOPPED  7 of 7 tests"))
        assert engine.calls.count("stop") == 1
        await until(pilot, lambda: "5▾" in screen.chips.text)


async def test_of_one_device_there_are_its_figures_alone() -> None:
    app = app_on(FakeEngine(devices=cpu_devices(1)))
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot, app)
        await until(pilot, lambda: "ran" in text(screen))
        assert not screen.query_one("#check-upper").display
        assert app.focused is screen.query_one("#check-figures")


async def test_devices_of_other_processes_are_not_checked() -> None:
    theirs = tuple(replace(x, addressable=False) for x in tpu_devices())
    app = app_on(FakeEngine(devices=theirs))
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("c")
        await until(pilot, lambda: "belongs to this process" in str(app.state.message))
