"""A TPU that is not here, shown in the app: chosen from a list, and walked through."""

from __future__ import annotations

import re

from textual import events
from textual.command import CommandPalette

from jaxtui.features.devices.recorded import RecordedScreen
from jaxtui.ui.widgets.chip_map import ChipMap
from jaxtui.ui.widgets.device_table import DeviceTable
from tests.fake_engine import FakeEngine
from tests.ui.app.driving import opened, until


async def test_one_is_chosen_from_the_list_and_walked_through() -> None:
    engine = FakeEngine()
    async with opened(engine) as (pilot, app):
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        # Letters that come at once find one.
        for key in (*"ov3-32", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: isinstance(app.screen, RecordedScreen))
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, RecordedScreen)
        table, chips = screen.query_one(DeviceTable), screen.query_one(ChipMap)
        assert table.row_count == 32
        assert re.search(r"\b31\b", chips.text)

        # Another one is chosen without going back.
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"7x-16", "enter")
        await until(pilot, lambda: screen.topology == "tpu7x-16")
        await until(pilot, lambda: table.row_count == 16)
        await pilot.press("o", *"v2-8", "enter")
        await until(pilot, lambda: screen.topology == "v2-8")

        # The table and the map move together.
        table.focus()
        await pilot.press("home", "down")
        await until(pilot, lambda: screen.selected == "tpu:1")
        await until(pilot, lambda: "tpu:1 at 0,0,0 core 1" in chips.text)
        await pilot.press("tab", "down")
        await until(pilot, lambda: screen.selected == "tpu:5")
        assert table.cursor_row == 5

        # Nothing can be run on it.
        await pilot.press("r", "c", "w", "pagedown")
        await pilot.pause()
        assert app.screen is screen
        assert engine.works == []
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert [device.name for device in app.state.devices] == ["cpu:0", "cpu:1"]
