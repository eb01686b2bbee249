"""The health check in the tab Devices, on a fake engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec import structs
from msgspec.structs import replace
from textual.pilot import Pilot

from jaxtui.analysis import examination
from jaxtui.analysis.examination import of_level
from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    CHECK_TESTS,
    Check,
    CheckDone,
    CheckRead,
    RunEvent,
    RunFinished,
)
from jaxtui.state import begin_run, reduce
from jaxtui.tui import themes
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.check import CheckPanel
from jaxtui.tui.devices import DevicesPane, FirstMinute
from jaxtui.tui.state import EMPTY
from jaxtui.tui.status import MessageLine, StatusLine
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.device_table import DeviceTable
from jaxtui.ui.sheet import Sheet
from tests.analysis.figures import crowded
from tests.fake_engine import FakeEngine, tpu_devices
from tests.tui import check_figures
from tests.tui.check_figures import BROKEN, SLOW
from tests.tui.driving import app_on, plain, until, until_done, until_ready

NARROW, WIDE = (80, 24), (120, 40)
QUICK, FULL = of_level("quick"), of_level("full")


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


def text(app: JaxtuiApp, name: str) -> str:
    return app.query_one(f"#check-{name}", Sheet).text


def cell(app: JaxtuiApp, device: str, column: str) -> str:
    return app.query_one(DeviceTable).cell(device, column)


def columns(app: JaxtuiApp) -> list[str]:
    return [one.key for one in app.query_one(DeviceTable).drawn.columns]


async def until_over(pilot: Pilot[None], app: JaxtuiApp) -> None:
    """The end of a whole check, and its last snapshot on screen."""
    await until(pilot, lambda: app.state.exam and not app.state.checking)
    await pilot.pause()


def test_it_is_busy_between_its_tests() -> None:
    """Events of a run are taken in by the check that plays, and by no other."""
    exam = examination.begin(tpu_devices(), "quick")
    state = replace(EMPTY, engine="ready", devices=tpu_devices())
    ended = RunFinished(outcome="complete", elapsed_seconds=1.5)
    work = exam.next_work
    assert work is not None
    alone = begin_run(state, 1, "check", work)
    assert reduce(alone, Envelope(generation=0, run=1, event=ended)).exam is None
    state = replace(state, series={"check": exam}, playing="check")
    for number in (1, 2):
        work = state.exam.next_work if state.exam else None
        assert work is not None
        state = begin_run(state, number, "check", work)
        for event in check_figures.events(work):
            state = reduce(state, Envelope(generation=0, run=number, event=event))
    assert (state.running, state.busy, state.test) == (False, True, "compute")
    assert state.played_seconds == pytest.approx(2 * 1.5)


async def test_a_check_at_80_by_24(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    engine = FakeEngine(devices=tpu_devices())
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("down", "down")
        await until(pilot, lambda: app.state.cursor == "tpu:2")
        await pilot.press("c")
        await until_over(pilot, app)
        works = [work for work in engine.works if isinstance(work, Check)]
        assert tuple(work.test for work in works) == of_level("quick")
        assert {work.level for work in works} == {"quick"}
        assert not app.state.busy

        # A column for each test that has something to say; the verdict is in view.
        heads = columns(app)
        assert heads == ["id", *(test for test in QUICK if test in heads)]
        assert cell(app, "tpu:0", "compute") == "86%"
        assert cell(app, SLOW, "compute") == "▾56%"
        assert cell(app, BROKEN, "numerics") == "✗"
        table = app.query_one(DeviceTable)
        assert table.virtual_size.width <= table.size.width
        assert not app.query_one("#map-panel").display
        assert text(app, "verdict").split()[:2] == ["FAIL", BROKEN]
        assert text(app, "list").strip().startswith("odd one out")
        region = app.query_one("#check-verdict").region
        assert app.screen.region.contains_region(region)
        assert region.height == len(text(app, "verdict").split("\n"))

        # It took as long as it took, also after something else was played.
        took = app.query_one(CheckPanel).border_title
        app.session.update(played_seconds=3600.0)
        await pilot.pause()
        assert app.query_one(CheckPanel).border_title == took

        # The cursor stays; Enter shows all figures of its device, which can be paged.
        assert app.state.cursor == "tpu:2"
        await pilot.press("down")
        await until(pilot, lambda: app.state.cursor == BROKEN)
        assert isinstance(app.focused, DeviceTable)
        pane = app.query_one("#details")
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one("#details-panel").display)
        assert not app.query_one(CheckPanel).display
        details = app.query_one("#facts", Sheet)
        # Written anew once it has its width.
        await until(pilot, lambda: "matmul 512 int8" in details.text)
        assert details.text.startswith(BROKEN)
        await pilot.press("pagedown")
        await until(pilot, lambda: pane.scroll_y > 0)
        await pilot.press("pageup")
        await until(pilot, lambda: pane.scroll_y == 0)
        await pilot.press("d")
        await until(pilot, lambda: app.query_one(CheckPanel).display)

        # The text is kept in a file.
        await pilot.press("y")
        written = tmp_path / "copied" / "check.txt"
        await until(pilot, written.exists)
        assert "FAIL  tpu:3 at 3,0,0" in written.read_text()

        # Another theme paints the verdicts anew.
        await pilot.press("t")
        await until(pilot, lambda: app.theme == themes.LIGHT)
        color = app.theme_variables["check-fail"]

        def painted() -> bool:
            table = app.query_one(DeviceTable)
            row = table.render_line(1 + table.keys.index(BROKEN))
            styles = [segment.style for segment in row if "✗" in segment.text]
            return color.lower() in str(styles[0]).lower()

        await until(pilot, painted)

        # Hidden, the verdict stays in the table; Enter is the first minute again.
        await pilot.press("escape")
        await until(pilot, lambda: "check" in columns(app))
        cells = [cell(app, name, "check") for name in ("tpu:0", SLOW, BROKEN)]
        assert cells == ["✓ pass", "▾ low", "✗ FAIL"]
        await pilot.press("enter")
        await until_done(pilot, app)
        await pilot.pause()
        assert not app.query_one(CheckPanel).display
        assert "truth" in app.query_one(FirstMinute).text


async def test_a_full_check_of_several_devices_one_after_the_other_at_120_by_40() -> (
    None
):
    engine = Halting("numerics", 0)
    *mine, last = tpu_devices()
    # What another process holds is not checked.
    other = msgspec.structs.replace(last, addressable=False)
    engine.devices = (*mine, other)
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot, app)
        await pilot.press("C")
        await until(pilot, lambda: engine.tests[-1:] == ("numerics",))
        work = engine.works[-1]
        assert isinstance(work, Check)
        names = tuple(device.name for device in mine)
        assert (work.level, work.devices) == ("full", names)
        events = check_figures.events(work)
        done = next(i for i, one in enumerate(events) if isinstance(one, CheckDone))
        engine.emit_run(*events[: done + 1])
        await until(pilot, lambda: cell(app, "tpu:0", "numerics") == "✓")
        assert cell(app, "tpu:1", "numerics") == "…"
        await pilot.press("escape")
        await until_over(pilot, app)
        assert text(app, "verdict").startswith(" STOPPED  7 of 7 tests")

        # It can be hidden, and shown again.
        panel, chips = app.query_one(CheckPanel), app.query_one(ChipMap)
        assert all(mark in chips.text for mark in ("5▾", "▾ low"))
        await pilot.press("escape")
        await until(pilot, lambda: not panel.display)
        assert "numerics" not in columns(app)
        assert "▾" not in chips.text
        await pilot.press("escape")
        await until(pilot, lambda: app.state.message == "Nothing to close here.")
        assert not panel.display
        await pilot.press("g")
        await until(pilot, lambda: panel.display)
        assert "compute" in columns(app)
        assert "5▾" in chips.text


async def test_progress_other_runs_and_stopping() -> None:
    engine = Halting("bandwidth", 6)
    now = [0.0]
    app = app_on(engine, clock=lambda: now[0])
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("c")
        await until(pilot, lambda: (at := app.state.exam) and at.check and at.doing)
        await until(pilot, lambda: app.state.test == "bandwidth")
        place = f"{QUICK.index('bandwidth') + 1} of {len(QUICK)}"
        now[0] = 12.0
        assert f"test {place}, 0:12" in plain(app, StatusLine)
        said = "bandwidth: streaming large arrays"
        await until(pilot, lambda: said in plain(app, MessageLine))
        await until(pilot, lambda: f"bandwidth {place}" in text(app, "verdict"))
        assert "streaming large arrays" in text(app, "verdict")
        assert text(app, "list").strip().startswith("below the peak")
        assert cell(app, SLOW, "compute") == "▾56%"
        assert cell(app, SLOW, "bandwidth") != "·"

        for key in ("c", "C", "r"):
            await pilot.press(key)
        app.query_one(DevicesPane).perform("check('quick')")
        await until(pilot, lambda: "s stops it" in app.state.message)
        assert engine.tests == CHECK_TESTS[:4]

        await pilot.press("s")
        await until_over(pilot, app)
        assert engine.calls.count("stop") == 1
        assert text(app, "verdict").startswith(f" STOPPED  {place} tests")
        assert cell(app, SLOW, "numerics") == "·"
        assert not app.state.busy


async def test_a_check_that_others_disturbed_says_so_while_it_is_on_screen() -> None:
    def disturbed(work: Check) -> list[RunEvent]:
        return [
            structs.replace(
                event,
                reading=structs.replace(event.reading, remarks=(crowded(),)),
            )
            if isinstance(event, CheckRead)
            else event
            for event in check_figures.events(work)
        ]

    engine = FakeEngine(devices=tpu_devices())
    engine.answer_others(disturbed)
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("c")
        await until_over(pilot, app)
        assert "BUSY MACHINE" in plain(app, StatusLine)
        await pilot.press("2")
        await until(pilot, lambda: "BUSY" not in plain(app, StatusLine))
