"""The keys of every tab, wherever in it the focus is."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from jaxtui.tui.app import TABS, JaxtuiApp
from tests.tui.driving import app_on, until, until_ready
from tests.tui.fake_engine import FakeEngine, tpu_devices


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_key_of_a_tab_works_wherever_the_focus_is_or_says_why_not(
    size: tuple[int, int],
) -> None:
    app = app_on(FakeEngine(tpu_devices()))
    async with app.run_test(size=size) as pilot:
        await until_ready(pilot, app)
        for number, tab in enumerate(TABS, 1):
            await pilot.press(str(number))
            await until(pilot, lambda tab=tab: tab in app.panes and app.tab == tab)
            await check_keys(pilot, app, tab)


async def check_keys(pilot: Pilot[None], app: JaxtuiApp, tab: str) -> None:
    pane = app.panes[tab]
    await until(pilot, lambda: app.focused and pane in app.focused.ancestors)
    reached = [one for one in app.screen.focus_chain if pane in one.ancestors]
    # By Tab nothing else is reached: outside of the pane its keys would be dead.
    assert reached == app.screen.focus_chain
    for widget in reached:
        if isinstance(widget, Input):
            continue  # its letters are text
        app.screen.set_focus(widget)
        await pilot.pause()
        active = app.screen.active_bindings
        own = {key for key, _ in pane._bindings}
        assert own & active.keys(), widget
        for key in own & active.keys():
            node, binding, enabled, _ = active[key]
            if node is pane and not enabled:
                why = pane.why_not(binding.action.partition("(")[0])
                assert why is not None, binding.action
                assert why.endswith(".")
