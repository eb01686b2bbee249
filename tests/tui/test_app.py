"""The app on a fake engine: keys in, snapshots and screens out."""

from __future__ import annotations

from typing import Any

import pytest
from rich.table import Table
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Static

from jaxtui.tui import themes
from jaxtui.tui.app import JaxtuiApp, TooSmall
from jaxtui.tui.bench import BenchPane
from jaxtui.tui.help import EVERYWHERE, PLACES, HelpScreen
from jaxtui.tui.help import sections as help_sections
from jaxtui.tui.widgets.status_line import StatusLine
from tests.tui.driving import app_on, until, until_done, until_ready
from tests.tui.fake_engine import FakeEngine, tpu_devices

NARROW, WIDE = (80, 24), (120, 40)


def shown(app: JaxtuiApp, kind: type) -> str:
    return app.query_one(kind).render().plain  # type: ignore[no-any-return]


@pytest.mark.parametrize("hold", [False, True])
async def test_the_accelerator_is_freed_by_a_key_and_by_idle_time(hold: bool) -> None:
    now = [0.0]
    engine = FakeEngine(tpu_devices())
    app = app_on(engine, hold=hold, clock=lambda: now[0])
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        now[0] = 599.0
        app.release_if_idle()
        await pilot.pause()
        assert app.state.engine == "ready"
        now[0] = 601.0
        app.release_if_idle()
        if hold:
            await pilot.pause()
            assert "release" not in engine.calls
            await pilot.press("x")
        await until(pilot, lambda: app.state.engine == "released")
        assert ("ten minutes" in app.state.message) is not hold
        assert "released" in shown(app, StatusLine)
        assert "HOLDING" not in shown(app, StatusLine)
        # The next run takes it again.
        await pilot.press("enter")
        await until_done(pilot, app)
        assert engine.calls.count("start") == 2
        assert "HOLDING TPU (x frees)" in shown(app, StatusLine)


async def test_after_its_last_death_a_key_brings_the_engine_back() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        for deaths, key in enumerate(("enter", "r", "c", "w", "R"), start=1):
            engine.die(restarts=False)
            await until(pilot, lambda: app.state.engine == "failed")
            runs = engine.calls.count("run")
            await pilot.press(key)
            await until(pilot, lambda: engine.calls.count("start") == 1 + deaths)  # noqa: B023
            await until(pilot, lambda: app.state.engine in ("ready", "running"))
            assert app.state.failed is None
            if key != "R":
                await until(pilot, lambda: engine.calls.count("run") > runs)  # noqa: B023
                await until(pilot, lambda: not app.state.busy)


async def test_every_binding_is_in_palette_and_help() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(120, 60)) as pilot:
        await until_ready(pilot, app)
        offered = {one.help for one in app.get_system_commands(app.screen)}
        meant = {
            tooltip
            for _, binding, _, tooltip in app.screen.active_bindings.values()
            if tooltip and binding.action != "command_palette"
        }
        assert len(meant) > 10
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await until(pilot, lambda: app.screen.query(Static))
        tables = [one.content for one in app.screen.query(Static)]
        text = "\n".join(
            cell
            for table in tables
            if isinstance(table, Table)
            for cell in map(str, table.columns[1].cells)
        )
        for tooltip in meant:
            assert any(tooltip in help_ for help_ in offered), tooltip
            assert tooltip in text, tooltip
        await pilot.press("escape", "ctrl+c")
    assert app.return_code == 130


@pytest.mark.parametrize("place", [JaxtuiApp, *PLACES])
def test_the_keys_of_a_place_are_its_own_and_do_something(place: Any) -> None:
    keys = list(Binding.make_bindings(place.BINDINGS))
    assert len(keys) == len({binding.key for binding in keys})
    for binding in keys:
        owner, _, name = binding.action.partition("(")[0].rpartition(".")
        of = JaxtuiApp if owner == "app" else place
        assert hasattr(of, f"action_{name}"), binding.action
    found = help_sections(place.HELP, JaxtuiApp.BINDINGS)
    assert next(iter(found)) == (place.HELP if place.HELP else EVERYWHERE)


async def test_what_cannot_be_done_themes_a_small_screen_and_ctrl_c() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        app.perform("stop")
        await until(pilot, lambda: app.state.message == "Nothing is running.")
        assert app.check_action("stop", ()) is None

        focused = app.focused
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: isinstance(app.screen, TooSmall))
        assert "60×15" in str(app.screen.query_one(Static).content)
        await pilot.resize_terminal(1, 1)
        await pilot.resize_terminal(*NARROW)
        await until(pilot, lambda: not isinstance(app.screen, TooSmall))
        assert app.focused is focused

        # Themes go round, and the projector toggles.
        seen = [app.theme]
        for _ in range(3):
            await pilot.press("t")
            seen.append(app.theme)
        assert seen == [themes.DARK, themes.LIGHT, themes.PROJECTOR, themes.DARK]
        await pilot.press("p")
        assert app.theme == themes.PROJECTOR

        # Also from an input.
        await pilot.press("2")
        await until(pilot, lambda: app.query("#sizes"))
        app.query_one("#sizes").focus()
        await pilot.press("ctrl+c")
    assert app.return_code == 130


async def test_leaving_while_the_tab_bench_is_being_filled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = app_on(FakeEngine())
    compose = BenchPane.compose

    def leave_first(pane: BenchPane) -> ComposeResult:
        app.exit(return_code=143)
        return compose(pane)

    monkeypatch.setattr(BenchPane, "compose", leave_first)
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: not app.is_running or app.return_code)
    assert (app.return_code, app.crash) == (143, None)
