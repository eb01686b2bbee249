"""The devices and their map: marks for the next run, and rates as colours."""

from __future__ import annotations

from textual.pilot import Pilot

from jaxtui.features.bench.form import CaseForm
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.widgets.chip_map import ChipMap
from jaxtui.ui.widgets.device_table import DeviceTable
from tests.fake_engine import FakeEngine, cpu_devices, tpu_devices
from tests.ui.app.driving import (
    border,
    lines,
    opened,
    until,
    until_done,
)

WIDE = (120, 40)


async def mark(pilot: Pilot[None], app: JaxtuiApp, *places: int) -> None:
    """Mark devices by the numbers of their rows, ascending."""
    app.query_one(DeviceTable).focus()
    await pilot.press("home")
    here = 0
    for place in places:
        await pilot.press(*["down"] * (place - here), "space")
        here = place
    await pilot.pause()


async def test_marked_devices_are_those_of_the_next_run() -> None:
    engine = FakeEngine(devices=tpu_devices())
    async with opened(engine, size=WIDE) as (pilot, app):
        await mark(pilot, app, 0, 3, 5)
        assert [*app.session.state.chosen] == ["tpu:0", "tpu:3", "tpu:5"]
        await until(pilot, lambda: "5*" in app.query_one(ChipMap).text)
        assert "tpu:3*" in lines(app, "DeviceTable")
        # The mark is taken back where it is.
        await pilot.press("space")
        assert app.session.state.chosen == ("tpu:0", "tpu:3")
        await pilot.press("enter")
        await until_done(pilot, app)
        devices = [case.device for case in engine.experiments[0].cases]
        assert devices == ["tpu:0", "tpu:3", "host"]
        # The form gets them, too.
        await pilot.press("e")
        await until(pilot, lambda: app.tab == "bench" and app.query(CaseForm))
        form = app.query_one(CaseForm)
        await until(pilot, lambda: form.values.devices == ("tpu:0", "tpu:3"))


async def test_the_map_goes_through_the_rates() -> None:
    async with opened(FakeEngine(devices=tpu_devices()), size=WIDE) as (pilot, app):

        def title() -> str:
            return border(app, "#map-panel")[0]

        await pilot.press("m")
        assert app.session.state.heat is None
        assert app.session.state.message
        await mark(pilot, app, *range(8))
        await pilot.press("enter")
        await until_done(pilot, app)
        for heat in ("FLOP/s", "B/s", "deviation", None):
            await pilot.press("m")
            await until(pilot, lambda heat=heat: app.session.state.heat == heat)
            named = heat is not None
            await until(pilot, lambda named=named: ("matmul 8192" in title()) == named)


async def test_a_cursor_among_hundreds_lays_nothing_out_anew() -> None:
    async with opened(FakeEngine(devices=cpu_devices(512)), size=WIDE) as (pilot, app):
        await pilot.press("down")
        await until(pilot, lambda: app.state.cursor == "cpu:1")
        await pilot.pause()
        layouts: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app, layouts.append)
        await pilot.press("down")
        await until(pilot, lambda: app.state.cursor == "cpu:2")
        await until(pilot, lambda: "cpu:2" in border(app, "#details-panel")[0])
        await pilot.pause()
        assert not layouts
