"""The health check in the tab Devices, on a fake engine and on the real one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from jaxtui.analysis import examination
from jaxtui.engine.client import EngineClient, EngineOptions, EngineUnavailableError
from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    CHECK_TESTS,
    Check,
    CheckDone,
    RunEvent,
    RunFinished,
    Work,
    WorkFailed,
)
from jaxtui.state import begin_run, reduce
from jaxtui.tui import themes
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.check import CheckPanel
from jaxtui.tui.devices import DevicesPane, FirstMinute
from jaxtui.tui.state import EMPTY, NO_CHECK
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.device_table import DeviceTable
from jaxtui.tui.widgets.paper import Paper
from jaxtui.tui.widgets.status_line import MessageLine, StatusLine
from tests.tui import check_figures
from tests.tui.check_figures import BROKEN, SLOW
from tests.tui.driving import app_on, until, until_done, until_ready
from tests.tui.fake_engine import FakeEngine, tpu_devices

NARROW, WIDE = (80, 24), (120, 40)

FAULTY = Path(__file__).parents[1] / "engine" / "faulty_engine.py"


class Halting(FakeEngine):
    """Does all tests at once but one, of which it only does a part."""

    def __init__(self, test: str, events: int) -> None:
        super().__init__(tpu_devices(), scripted=False)
        self.answer = self._part
        self._test, self._count = test, events

    def _part(self, work: object) -> Sequence[RunEvent]:
        assert isinstance(work, Check)
        found = check_figures.events(work)
        return found[: self._count] if work.test == self._test else found

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(work.test for work in self.works if isinstance(work, Check))


class Gated(FakeEngine):
    """Begins no run before it is let."""

    def __init__(self) -> None:
        super().__init__(tpu_devices(), scripted=False)
        self.answer = lambda work: check_figures.events(work)[:2]
        self.gate = asyncio.Event()

    async def run(self, work: Work) -> int:
        await self.gate.wait()
        return await super().run(work)


class Lost(FakeEngine):
    """Cannot be had any more from some run on."""

    async def run(self, work: Work) -> int:
        if self.run_number == 2:
            raise EngineUnavailableError("The engine ended before it was ready.")
        return await super().run(work)


def text(app: JaxtuiApp, name: str) -> str:
    return app.query_one(f"#check-{name}", Paper).text


def cell(app: JaxtuiApp, device: str, column: str) -> str:
    return app.query_one(DeviceTable).get_cell(device, column).plain.strip()


def details(app: JaxtuiApp) -> str:
    return app.query_one("#facts", Paper).text


def drawn(app: JaxtuiApp) -> str:
    return app.query_one(ChipMap).text


def columns(app: JaxtuiApp) -> list[str]:
    return [str(key.value) for key in app.query_one(DeviceTable).columns]


def shown(app: JaxtuiApp, kind: type) -> str:
    return app.query_one(kind).render().plain  # type: ignore[no-any-return]


async def check(pilot: Pilot[None], app: JaxtuiApp, key: str = "c") -> None:
    """A whole check, and its last snapshot on screen."""
    await until_ready(pilot, app)
    await pilot.press(key)
    await until_over(pilot, app)


async def until_over(pilot: Pilot[None], app: JaxtuiApp) -> None:
    await until(pilot, lambda: app.state.check.exam and not app.state.check.going)
    await pilot.pause()


async def until_halted(pilot: Pilot[None], app: JaxtuiApp, engine: Halting) -> None:
    await until_ready(pilot, app)
    await pilot.press("c")
    await until(pilot, lambda: app.state.check.test == engine.tests[-1])
    await until(pilot, lambda: app.state.check.exam.check is not None)
    await pilot.pause()


def test_it_is_busy_between_its_tests() -> None:
    """Events of a run are taken in by the check that plays, and by no other."""
    exam = examination.begin(tpu_devices(), "quick")
    state = replace(EMPTY, engine="ready", devices=tpu_devices())
    ended = RunFinished(outcome="complete", elapsed_seconds=1.5)
    work = exam.next_work
    assert work is not None
    alone = begin_run(state, 1, "check", work)
    assert reduce(alone, Envelope(generation=0, run=1, event=ended)).check is NO_CHECK
    state = replace(state, series={"check": exam}, playing="check")
    for number in (1, 2):
        work = state.check.exam.next_work if state.check.exam else None
        assert work is not None
        state = begin_run(state, number, "check", work)
        for event in check_figures.events(work):
            state = reduce(state, Envelope(generation=0, run=number, event=event))
    assert not state.running
    assert state.busy
    assert (state.check.test, state.check.place) == ("compute", 3)
    assert state.check.elapsed_seconds == pytest.approx(2 * 1.5)


async def test_a_check_at_80_by_24(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = FakeEngine(tpu_devices())
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("down", "down")
        await until(pilot, lambda: app.state.cursor == "tpu:2")
        await check(pilot, app)
        works = [work for work in engine.works if isinstance(work, Check)]
        assert tuple(work.test for work in works) == CHECK_TESTS
        assert {work.level for work in works} == {"quick"}
        assert not app.state.busy

        # A column for each test, and the verdict is in view.
        assert columns(app) == ["id", *CHECK_TESTS]
        assert cell(app, "tpu:0", "compute") == "86%"
        assert cell(app, SLOW, "compute") == "▾56%"
        assert cell(app, BROKEN, "numerics") == "✗"
        table = app.query_one(DeviceTable)
        assert table.virtual_size.width <= table.size.width
        assert not app.query_one("#map-panel").display
        assert text(app, "verdict").startswith(" FAIL  Do not rely on tpu:3")
        assert text(app, "list").strip().startswith("✗ numerics")
        region = app.query_one("#check-verdict").region
        assert app.screen.region.contains_region(region)
        assert region.height == len(text(app, "verdict").split("\n"))

        # The cursor stays; Enter shows all figures of its device, which can be paged.
        assert app.state.cursor == "tpu:2"
        await pilot.press("down")
        await until(pilot, lambda: app.state.cursor == BROKEN)
        assert isinstance(app.focused, DeviceTable)
        pane = app.query_one("#details")
        assert not app.query_one("#details-panel").display
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one("#details-panel").display)
        assert not app.query_one(CheckPanel).display
        # Written anew once it has its width.
        await until(pilot, lambda: "numerics, identical bits" in details(app))
        facts = details(app)
        assert facts.startswith("tpu:3 at 3,0,0 in the check")
        assert "4 of 1048576 elements differ" in " ".join(facts.split())
        assert facts.index("numerics, identical bits") < facts.index("memory, free")
        await pilot.press("pagedown")
        await until(pilot, lambda: pane.scroll_y > 0)
        await pilot.press("pageup")
        await until(pilot, lambda: pane.scroll_y == 0)
        await pilot.press("d")
        await until(pilot, lambda: app.query_one(CheckPanel).display)

        # The text is kept in a file.
        await pilot.press("y")
        await until(pilot, lambda: list(tmp_path.iterdir()))
        (written,) = tmp_path.iterdir()
        assert written.name.endswith("check.txt")
        assert "Verdict: fail. Do not rely on tpu:3" in written.read_text()

        # Another theme paints the verdicts anew.
        await pilot.press("t")
        await until(pilot, lambda: app.theme == themes.LIGHT)
        color = app.theme_variables["check-fail"]

        def painted() -> bool:
            found = app.query_one(DeviceTable).get_cell(BROKEN, "numerics")
            return any(color in str(span.style) for span in found.spans)

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


async def test_a_full_check_at_120_by_40() -> None:
    engine = FakeEngine(tpu_devices())
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await check(pilot, app, "C")
        works = [work for work in engine.works if isinstance(work, Check)]
        assert {work.level for work in works} == {"full"}
        names = tuple(device.name for device in tpu_devices())
        assert {work.devices for work in works} == {names}
        assert columns(app) == ["id", *CHECK_TESTS]

        # It can be hidden, and shown again.
        panel = app.query_one(CheckPanel)
        assert all(mark in drawn(app) for mark in ("3✗", "5▾", "▾ low"))
        await pilot.press("escape")
        await until(pilot, lambda: not panel.display)
        assert "numerics" not in columns(app)
        assert "✗" not in drawn(app)
        await pilot.press("escape")
        await until(pilot, lambda: panel.display)
        assert "compute" in columns(app)
        assert "3✗" in drawn(app)


async def test_progress_other_runs_and_stopping() -> None:
    engine = Halting("bandwidth", 6)
    now = [0.0]
    app = app_on(engine, clock=lambda: now[0])
    async with app.run_test(size=NARROW) as pilot:
        await until_halted(pilot, app, engine)
        now[0] = 12.0
        assert "test 4 of 9, 0:12" in shown(app, StatusLine)
        await until(
            pilot, lambda: "bandwidth: copying 2 GiB" in shown(app, MessageLine)
        )
        await until(pilot, lambda: "bandwidth 4 of 9" in text(app, "verdict"))
        assert "copying 2 GiB on 8 devices" in text(app, "verdict")
        assert text(app, "list").strip().startswith("▾ compute")
        assert cell(app, SLOW, "compute") == "▾56%"
        assert cell(app, SLOW, "bandwidth") != "·"

        for key in ("c", "C", "r"):
            app.session.say("")
            await pilot.press(key)
            await pilot.pause()
            assert app.state.check.test == "bandwidth"
        app.query_one(DevicesPane).perform("check('quick')")
        await until(pilot, lambda: "s stops it" in app.state.message)
        assert engine.tests == CHECK_TESTS[:4]

        await pilot.press("s")
        await until_over(pilot, app)
        assert engine.calls.count("stop") == 1
        assert text(app, "verdict").startswith(" STOPPED  4 of 9 tests")
        assert cell(app, SLOW, "steady") == "·"
        assert not app.state.busy


async def test_devices_are_done_one_after_the_other_until_escape() -> None:
    engine = Halting("numerics", 0)
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot, app)
        await pilot.press("c")
        await until(pilot, lambda: engine.tests[-1:] == ("numerics",))
        events = check_figures.events(engine.works[-1])  # type: ignore[arg-type]
        last = next(i for i, one in enumerate(events) if isinstance(one, CheckDone))
        engine.emit_run(*events[: last + 1])
        await until(pilot, lambda: cell(app, "tpu:0", "numerics") == "✓")
        assert cell(app, "tpu:1", "numerics") == "…"
        await pilot.press("escape")
        await until_over(pilot, app)
        assert text(app, "verdict").startswith(" STOPPED  7 of 9 tests")


async def test_stopping_before_the_next_test_has_begun() -> None:
    engine = Gated()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("c")
        await until(pilot, lambda: app.state.check.going)
        await pilot.press("s")
        await until(pilot, lambda: "Stopping as soon as" in app.state.message)
        engine.gate.set()
        await until_over(pilot, app)
        assert len(engine.works) == 1
        assert "stop" in engine.calls


async def test_a_test_that_takes_too_long_is_ended_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Halting("memory", 4)
    patience = {"memory": 0.01}
    monkeypatch.setattr(
        examination, "limit_seconds", lambda check: patience.get(check.test, 600.0)
    )
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await check(pilot, app)
        assert engine.calls.count("stop") == 1
        # One device was through, the others count as hanging: it goes on alone.
        assert engine.works[-1].devices == ("tpu:0",)  # type: ignore[union-attr]
        assert tuple(dict.fromkeys(engine.tests)) == CHECK_TESTS
        assert cell(app, "tpu:0", "memory") == "✓"
        assert cell(app, "tpu:1", "memory") == "✗"
        assert cell(app, "tpu:1", "compute") == "–"
        assert "did not finish within" in text(app, "list")


async def test_the_death_of_the_engine_costs_a_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Halting("compute", 2)
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await until_halted(pilot, app, engine)
        engine.die()
        failed = WorkFailed(error="The engine was killed (signal 9).", hint="")
        engine.emit_run(failed, RunFinished(outcome="crashed", elapsed_seconds=1.0))
        engine.become_ready()
        await until_over(pilot, app)
        assert engine.tests == CHECK_TESTS
        assert cell(app, "tpu:0", "compute") == "–"
        assert "INCOMPLETE" in text(app, "verdict")
        assert cell(app, "tpu:0", "steady") == "✓"
        assert "signal 9" in text(app, "list")


async def test_without_an_engine_the_rest_is_skipped() -> None:
    engine = Lost(tpu_devices())
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await check(pilot, app)
        assert app.state.engine == "failed"
        assert "could not be started again" in text(app, "list")
        assert cell(app, "tpu:0", "steady") == "–"
        assert cell(app, "tpu:0", "memory") == "✓"


async def test_before_a_check_its_keys_say_so() -> None:
    app = app_on(FakeEngine(tpu_devices(), ready=False))
    async with app.run_test(size=NARROW) as pilot:
        await pilot.pause()
        pane = app.query_one(DevicesPane)
        assert pane.check_action("check_panel", ()) is None
        assert pane.why_not("check") == "JAX is not ready yet."
        assert pane.why_not("check_panel") == "There was no check yet."
        pane.action_check("quick")
        assert "belongs to this process" in app.session.state.message


async def test_the_real_engine_checks_simulated_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brief = dict.fromkeys(CHECK_TESTS, 0.05)
    monkeypatch.setitem(examination.BUDGETS, "quick", brief)
    options = EngineOptions(
        command=(sys.executable, str(FAULTY)),
        cpu_devices=2,
        environment={"FAULTS": "slow cpu:9"},  # which is not there
    )
    engine = EngineClient(options)
    app = JaxtuiApp(engine, fps=50)
    try:
        async with app.run_test(size=WIDE) as pilot:
            await until(pilot, lambda: app.state.devices)
            await pilot.press("c")
            await until(pilot, lambda: app.state.check.exam)
            await until(pilot, lambda: not app.state.check.going)
            await pilot.pause()
            assert cell(app, "cpu:0", "numerics") == "✓"
            assert cell(app, "cpu:1", "numerics") == "✓"
            assert "FAIL" not in text(app, "verdict")
    finally:
        await engine.close()
