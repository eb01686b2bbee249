"""The async view: what opens it, its keys, its commands and its room."""

from __future__ import annotations

import pytest
from textual.widgets import Label, Static

from jaxtui.model import (
    LOOP_STYLES,
    Loop,
    Note,
    Peak,
)
from jaxtui.tui import bindings, themes
from jaxtui.tui.app import TooSmall
from jaxtui.tui.loop_commands import LOOP_COMMANDS, SHARED
from jaxtui.tui.loop_keys import CALLS
from jaxtui.tui.screens.async_view import AsyncView
from jaxtui.tui.screens.code import CodeScreen
from jaxtui.tui.screens.help import HelpScreen
from tests.tui.driving import app_on, until, until_ready
from tests.tui.fake_engine import FakeEngine, cpu_devices, tpu_devices
from tests.tui.looping import (
    CASE,
    NARROW,
    WIDE,
    answers,
    frame,
    lanes,
    open_view,
    shown,
    until_measured,
)

pytestmark = pytest.mark.usefixtures("long_enough_to_be_held_back")


async def test_the_loop_runs_at_once_and_its_keys_run_it_anew() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        (loop,) = engine.works
        assert isinstance(loop, Loop)
        assert (loop.calls, loop.style, loop.chained) == (40, "never", False)
        assert shown(app, "title") == (
            "40 calls of matmul 1000 float32 jit on cpu:0 · never block · independent"
        )
        headline = shown(app, "headline")
        for words in ("40.0 ms", "200 ms", "5.0×", "32 of 40 results were not ready"):
            assert words in headline
        assert "inferred" in lanes(app).text

        # The styles go round.
        seen = []
        for _ in LOOP_STYLES:
            assert screen.loop is not None
            seen.append(screen.loop.style)
            await pilot.press("b")
        assert tuple(seen) == LOOP_STYLES
        await until_measured(pilot, app)
        assert screen.loop == loop

        # Style, chain and the number of calls each run it anew.
        engine.works.clear()
        for key in ("b", "c", "k", "j"):
            await pilot.press(key)
            await until_measured(pilot, app)
        loops = [work for work in engine.works if isinstance(work, Loop)]
        assert [(one.style, one.chained, one.calls) for one in loops] == [
            ("end", False, 40),
            ("end", True, 40),
            ("end", True, 64),
            ("end", True, 40),
        ]
        assert "block once at the end · chained" in shown(app, "title")

        # There are between 1 and 200 calls.
        for key, first, last in (("up", -2, -1), ("down", 1, 0)):
            screen.run_loop(Loop(case=CASE, calls=CALLS[first]))
            for _ in range(2):
                await until_measured(pilot, app)
                await pilot.press(key)
            await until_measured(pilot, app)
            assert len(app.state.loop.seen) == CALLS[last]
            assert "device" in lanes(app).text


async def test_its_code_and_the_keys_of_the_tabs() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app, "f10")
        await until_measured(pilot, app)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen))
        assert "range(40)" in "\n".join(frame(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, AsyncView))

        # Too small, and back.
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: isinstance(app.screen, TooSmall))
        await pilot.resize_terminal(60, 15)
        await until(pilot, lambda: isinstance(app.screen, AsyncView))
        await until(
            pilot, lambda: lanes(app).size.width == 58 and lanes(app).size.height >= 4
        )
        await until(pilot, lambda: "device" in lanes(app).text)
        assert "esc Back" in frame(app)[-1]

        # The keys of the tabs do nothing here.
        await pilot.press("1", "2", "e", "w", "m", "ctrl+n")
        await pilot.pause()
        assert app.tab == "devices"
        assert not engine.experiments
        await pilot.press("p")
        assert app.theme == themes.PROJECTOR
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, AsyncView))
        await open_view(pilot, app)
        await pilot.press("ctrl+q")
    assert (app.return_code or 0) == 0


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_everything_is_in_view(size: tuple[int, int]) -> None:
    engine = FakeEngine(tpu_devices())
    peak = Peak(flops_per_second=1e12, bytes_per_second=None, source="somewhere")
    answers(engine, peak=peak, held_from=32, notes=NOTES)
    app = app_on(engine)
    async with app.run_test(size=size) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        # The lanes, the queue, the giant numbers.
        for keys in ((), ("d",), ("d", "g", "space")):
            await pilot.press(*keys)
            await pilot.pause()
            await pilot.pause()
            for widget in screen.walk_children(Static):
                if widget.display and widget.size.area:
                    assert screen.region.contains_region(widget.region)
                    lines = widget.visual.get_height(widget.styles, widget.size.width)
                    assert lines <= widget.size.height, widget.id
            assert screen.max_scroll_y == 0
            assert lanes(app).size.height >= 8 or not lanes(app).display
            assert "? Help" in frame(app)[-1]


NOTES = tuple(
    Note(flag=flag, text="Something to know before the figure is quoted. " * 2)
    for flag in ("impossible", "queue-full", "watched", "inferred")
)


def test_letters_have_a_twin_and_no_key_means_two_things_here() -> None:
    keys = [str(binding.key) for binding in AsyncView.BINDINGS]  # type: ignore[union-attr]
    assert len(keys) == len(set(keys))
    for command in LOOP_COMMANDS:
        assert hasattr(AsyncView, f"action_{command.action}"), command.id
        names = command.keys.split(",")
        if any(len(name) == 1 and name.isalpha() for name in names):
            assert any(len(name) > 1 for name in names), command.id
    assert any(command.id == "async" for command in bindings.COMMANDS)


async def test_palette_and_help_are_those_of_the_view() -> None:
    app = app_on(FakeEngine(cpu_devices()))
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot, app)
        assert len([*app.get_system_commands(app.screen)]) == len(bindings.COMMANDS)
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        # Nothing of the palette would act on the tabs below.
        here = {one.title for one in app.get_system_commands(screen)}
        there = [one for one in bindings.COMMANDS if one.id in (*SHARED, "quit")]
        assert here == {f"{one.group}: {one.label}" for one in there}
        assert "Run: Stop" in here
        assert not here & {"Run: Run", "View: Devices", "View: Metric"}
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await until(pilot, lambda: app.screen.query(".place"))
        assert str(app.screen.query(".place").first(Label).content) == "Async view"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen is not screen)
        await pilot.press(*"Giant")
        await until(pilot, lambda: "Async view: Giant" in "\n".join(frame(app)))
