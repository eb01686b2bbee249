"""A TPU that is not here, shown in the app: chosen from a list, and walked through."""

from __future__ import annotations

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from jaxtui.machine import topologies
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.recorded import RecordedScreen
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.choice import ChoicePopup
from jaxtui.tui.widgets.device_table import DeviceTable
from tests.tui.driving import app_on, until, until_ready
from tests.tui.fake_engine import FakeEngine

SIZES = ((80, 24), (120, 40))


async def opened(pilot: Pilot[None], app: JaxtuiApp, *keys: str) -> RecordedScreen:
    """The screen after the list was opened and these keys were pressed in it."""
    await until_ready(pilot, app)
    await pilot.press("o")
    await until(pilot, lambda: isinstance(app.screen, ChoicePopup))
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(app.screen, RecordedScreen))
    await pilot.pause()
    screen = app.screen
    assert isinstance(screen, RecordedScreen)
    return screen


def title(screen: RecordedScreen) -> str:
    return str(screen.query_one("#recorded-title", Static).content)


def drawn(screen: RecordedScreen) -> str:
    """The text of the chip map."""
    return screen.query_one(ChipMap).text


@pytest.mark.parametrize("size", SIZES)
async def test_one_is_chosen_from_the_list_and_marked(size: tuple[int, int]) -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot, app, "down", "down", "enter")
        assert screen.topology == topologies.names()[2] == "v3-32"
        assert title(screen).startswith("RECORDED v3-32 · TPU v3")
        assert "not this machine" in title(screen)
        assert screen.query_one(DeviceTable).row_count == 32
        assert "▐ 0  1▌" in drawn(screen)
        words = str(screen.query_one("#recorded-words", Static).content)
        assert words.startswith("v3-32 = 32 TensorCores = 16 chips")


async def test_walking_through_them_and_back() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await until_ready(pilot, app)
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Other TPUs" in titles
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, ChoicePopup))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)

        # Keys that come at once mean the same.
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, ChoicePopup))
        for key in ("down", "down", "enter"):
            app.post_message(events.Key(key, None))
        await until(pilot, lambda: isinstance(app.screen, RecordedScreen))
        screen = app.screen
        assert isinstance(screen, RecordedScreen)
        assert screen.topology == "v3-32"

        # Another one is chosen without going back.
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ChoicePopup))
        await pilot.press("end", "enter")
        await until(pilot, lambda: screen.topology == "tpu7x-16")
        await pilot.press("n")
        await until(pilot, lambda: screen.topology == "v2-8")
        await pilot.press("b")
        await until(pilot, lambda: screen.topology == "tpu7x-16")
        await pilot.pause()
        assert screen.query_one(DeviceTable).row_count == 16

        # Each of them is drawn.
        await pilot.press("n")
        for name in topologies.names():
            await until(pilot, lambda name=name: f" {name} " in title(screen))
            await pilot.pause()
            count = len(topologies.devices(name))
            assert screen.query_one(DeviceTable).row_count == count
            assert "no coords" not in drawn(screen)
            await pilot.press("n")

        # The table and the map move together.
        await until(pilot, lambda: screen.topology == "v2-8")
        screen.query_one(DeviceTable).focus()
        await pilot.press("home", "down")
        await until(pilot, lambda: screen.selected == "tpu:1")
        assert "tpu:1 at 0,0,0 core 1" in drawn(screen)
        await pilot.press("tab", "down")
        await until(pilot, lambda: screen.selected == "tpu:5")
        assert screen.query_one(DeviceTable).cursor_row == 5

        # Nothing can be run on it.
        await pilot.press("r", "c", "w", "pagedown")
        await pilot.pause()
        assert app.screen is screen
        assert engine.works == []
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert [device.name for device in app.state.devices] == ["cpu:0"]
