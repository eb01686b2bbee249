"""The links on the screen: what is timed, what is selected, what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from jaxtui.model import Event, Remark, RunEvent, RunStarted, WorkFailed
from jaxtui.model.links import Links
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.links import SIZES, LinksScreen, PairMap
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.device_table import DeviceTable
from tests.fake_engine import FakeEngine, at_once, cpu_devices, tpu_devices
from tests.linking import answer, link
from tests.tui.driving import app_on, until, until_ready

NARROW, WIDE = (80, 24), (120, 40)


def said(work: Any) -> Sequence[Event]:
    slower = {("tpu:0", "tpu:1"): 2.0}
    return answer(work, slower) if isinstance(work, Links) else at_once(work)


def machine(others: Any = said, **facts: Any) -> FakeEngine:
    engine = FakeEngine(**({"devices": tpu_devices()} | facts))
    engine.answer_others(others)
    return engine


def works(app: JaxtuiApp) -> list[Links]:
    engine: FakeEngine = app.session.engine  # type: ignore[assignment]
    return [work for work in engine.works if isinstance(work, Links)]


async def open_links(pilot: Pilot[None], app: JaxtuiApp) -> LinksScreen:
    await until_ready(pilot, app)
    await pilot.press("l")
    await until(pilot, lambda: isinstance(app.screen, LinksScreen))
    await until(pilot, lambda: works(app) and not app.session.state.busy)
    await pilot.pause()
    screen = app.screen
    assert isinstance(screen, LinksScreen)
    return screen


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_it_times_all_pairs_and_shows_them(size: tuple[int, int]) -> None:
    app = app_on(machine())
    async with app.run_test(size=size) as pilot:
        screen = await open_links(pilot, app)
        (work,) = works(app)
        assert len(work.pairs) == 56
        pairs = screen.query_one(PairMap)
        await until(pilot, lambda: pairs.text.count("40") == 55)
        assert pairs.text.count("20") == 1
        assert screen.query_one("#links-map").display == (size == WIDE)
        text = screen.query_one("#links-about").text  # type: ignore[attr-defined]
        assert "tpu:0 at 0,0,0 → tpu:1 at 1,0,0" in text
        assert "1 hop" in text
        # Closing it leaves the figures: it is not timed again.
        await pilot.press("escape", "l")
        await until(pilot, lambda: isinstance(app.screen, LinksScreen))
        await pilot.pause()
        assert len(works(app)) == 1


async def test_one_pair_is_selected_in_both() -> None:
    app = app_on(machine())
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_links(pilot, app)
        assert screen.cell == (0, 1)
        await pilot.press("down", "down", "right")
        assert screen.cell == (2, 2)
        await pilot.press("left", "left", "left", "up", "up", "up")
        assert screen.cell == (0, 0)
        await pilot.press(*["right"] * 9, *["down"] * 9)
        assert screen.cell == (7, 7)
        # On the map: where the copy goes.
        chips = screen.query_one(ChipMap)
        assert "from" in chips.text
        chips.focus()
        await pilot.press("left")
        assert screen.cell == (7, 6)
        await pilot.click(PairMap, offset=(3, 1))
        assert screen.cell == (0, 0)


async def test_its_other_figure() -> None:
    app = app_on(machine())
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_links(pilot, app)
        assert screen.figure == "rate"
        await pilot.press("g")
        pairs = screen.query_one(PairMap)
        await until(pilot, lambda: pairs.text.count("30") == 56)
        await pilot.press("g")
        await until(pilot, lambda: pairs.text.count("40") == 55)


async def test_other_sizes() -> None:
    app = app_on(machine())
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_links(pilot, app)
        for key, nbytes in (("plus", 2**28), ("minus", 2**26), ("minus", 2**24)):
            before = len(works(app))
            await pilot.press(key)
            await until(pilot, lambda n=before: len(works(app)) == n + 1)
            await until(pilot, lambda: not app.session.state.busy)
            assert works(app)[-1].nbytes == nbytes
        await pilot.press("r")
        await until(pilot, lambda: len(works(app)) == 5)
        await until(pilot, lambda: not app.session.state.busy)
        screen._nbytes = SIZES[-1]
        assert screen.why_not("more")
        screen._nbytes = SIZES[0]
        assert screen.why_not("fewer")


async def test_leaving_ends_the_run() -> None:
    def begins(work: Any) -> Iterator[RunEvent]:
        yield RunStarted()
        yield link("tpu:0", "tpu:1")

    app = app_on(machine(begins))
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot, app)
        await pilot.press("l")
        await until(pilot, lambda: app.session.state.running)
        screen = app.screen
        assert isinstance(screen, LinksScreen)
        await until(pilot, lambda: screen.links.measured)
        assert screen.why_not("again")
        await pilot.press("escape")
        engine: FakeEngine = app.session.engine  # type: ignore[assignment]
        await until(pilot, lambda: "stop" in engine.calls)
        await until(pilot, lambda: not app.session.state.busy)


async def test_a_refusal_is_said() -> None:
    why = Remark("out-of-memory", {"asked": "1.00 TiB"}, "error")

    def refused(work: Any) -> Sequence[Event]:
        first, *_, last = answer(work)
        return [first, WorkFailed(remark=why), last]

    app = app_on(machine(refused))
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_links(pilot, app)
        notes = screen.query_one("#links-words")
        await until(pilot, lambda: "1.00 TiB" in notes.text)  # type: ignore[attr-defined]


@pytest.mark.parametrize("count", [1, 64])
async def test_one_device_and_many(count: int) -> None:
    app = app_on(machine(answer, devices=cpu_devices(count, simulated=True)))
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        app.query_one(DeviceTable).focus()
        await pilot.press("l")
        if count == 1:
            await until(pilot, lambda: app.session.state.message)
            assert not isinstance(app.screen, LinksScreen)
            return
        await until(pilot, lambda: works(app) and not app.session.state.busy)
        screen = app.screen
        assert isinstance(screen, LinksScreen)
        assert len(screen.links.groups) == 16
        assert 240 <= len(works(app)[0].pairs) <= 241
        await until(pilot, lambda: screen.query_one(PairMap).text.count("40") > 50)


async def test_it_is_copied_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "data"))
    app = app_on(machine())
    async with app.run_test(size=WIDE) as pilot:
        await open_links(pilot, app)
        await pilot.press("y")
        await until(pilot, lambda: list(tmp_path.rglob("copied/*")))
        await pilot.press("u", "enter")
        await until(pilot, lambda: list(tmp_path.glob("links*.json")))
