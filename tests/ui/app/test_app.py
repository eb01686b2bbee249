"""The app on a fake engine: its keys, its endings, its help and its palette."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.table import Table
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.css.stylesheet import Stylesheet
from textual.widgets import Input, Static, TabbedContent

from jaxtui.core.history.store import History
from jaxtui.core.model import Loop, Progress, RunFinished
from jaxtui.core.state import RUNNING
from jaxtui.features.bench.screen import BenchPane
from jaxtui.features.history.report import RANKS
from jaxtui.features.history.screen import HistoryPane, HistoryTable
from jaxtui.features.lessons.step import StepView
from jaxtui.features.timeline.classroom import Classroom
from jaxtui.features.timeline.screen import TimelineScreen
from jaxtui.ui.app import themes
from jaxtui.ui.app.app import JaxtuiApp, Palette, TooSmall
from jaxtui.ui.app.dialogs import Question
from jaxtui.ui.app.help import EVERYWHERE, GLOSSARY, PLACES, SAID, HelpScreen, words
from jaxtui.ui.app.status import MessageLine, StatusLine
from jaxtui.ui.widgets.panel import Panel
from jaxtui.ui.words import text
from tests.core.history.making import DEVICE, HOST, insert, measurement
from tests.fake_engine import FakeEngine, begun, tpu_devices
from tests.records import case
from tests.ui.app.driving import app_on, message, opened, plain, until, until_ready

NARROW = (80, 24)

PALETTE = ("command_palette", "type_command")


@pytest.mark.parametrize("hold", [False, True])
async def test_the_accelerator_is_freed_by_a_key_and_by_idle_time(hold: bool) -> None:
    now = [0.0]
    engine = FakeEngine(begun, devices=tpu_devices())
    app = app_on(engine, hold=hold, clock=lambda: now[0])

    def held() -> bool:
        return "release" not in engine.calls

    async with app.run_test(size=NARROW) as pilot:

        async def idle_at(seconds: float) -> None:
            now[0] = seconds
            app.release_if_idle()
            await pilot.pause()

        await until_ready(pilot, app)
        await idle_at(599.0)
        assert held()
        # A key, a run and its end begin the ten minutes anew.
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        await idle_at(1200.0)
        assert held()
        await pilot.press("s")
        await until(pilot, lambda: not app.state.running)
        await idle_at(1799.0)
        assert held()
        await idle_at(1801.0)
        if hold:
            assert held()
            await pilot.press("x")
        await until(pilot, lambda: app.state.engine == "released")
        assert ("ten minutes" in message(app)) is not hold
        assert "released" in plain(app, StatusLine)
        # The next run takes it again.
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        assert engine.calls.count("start") == 2
        assert "HOLDING TPU (x frees)" in plain(app, StatusLine)


@pytest.mark.parametrize(("key", "asks"), [("q", True), ("ctrl+q", False)])
async def test_one_key_does_not_lose_a_run(key: str, asks: bool) -> None:
    async with opened(FakeEngine(begun)) as (pilot, app):
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        await pilot.press(key)
        if asks:
            await until(pilot, lambda: isinstance(app.screen, Question))
            await pilot.press("q")
            await until(pilot, lambda: not isinstance(app.screen, Question))
            assert app.state.running
            await pilot.press("q", "y")
        await until(pilot, lambda: not app.is_running)
    assert app.return_code == 0


async def test_after_a_death_whatever_needs_an_engine_brings_one_back() -> None:
    engine = FakeEngine()
    async with opened(engine) as (pilot, app):
        for deaths, key in enumerate(("enter", "c"), start=1):
            engine.die()
            await until(pilot, lambda: app.state.engine == "released")
            runs = engine.calls.count("run")
            await pilot.press(key)
            await until(pilot, lambda: engine.calls.count("start") == 1 + deaths)  # noqa: B023
            await until(pilot, lambda: app.state.engine in ("ready", "running"))
            await until(pilot, lambda: engine.calls.count("run") > runs)  # noqa: B023
            await until(pilot, lambda: not app.state.busy)


@pytest.mark.parametrize("place", [JaxtuiApp, *PLACES])
def test_the_keys_of_a_place_are_its_own_and_do_something(place: Any) -> None:
    keys = list(Binding.make_bindings(place.BINDINGS))
    assert len(keys) == len({binding.key for binding in keys})
    for binding in keys:
        owner, _, name = binding.action.partition("(")[0].rpartition(".")
        of = JaxtuiApp if owner == "app" else place
        assert hasattr(of, f"action_{name}"), binding.action


def test_the_words_of_a_place_come_first_and_none_is_missing() -> None:
    assert set(RANKS) <= set(SAID[HistoryPane.HELP])
    for place in (*SAID, "elsewhere"):
        found = words(place)
        assert [word for word, _ in found["Words here"]] == list(SAID.get(place, ()))
        every = [word for rows in found.values() for word, _ in rows]
        assert sorted(every) == sorted(GLOSSARY)


async def test_palette_and_help_have_every_key_those_of_the_place_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    insert(History(), HOST, DEVICE, measurement())
    async with opened(FakeEngine(), size=(60, 15)) as (pilot, app):
        await pilot.press("4")
        await until(pilot, lambda: (at := app.pane(HistoryPane)) and at.past.entry)
        hits = [hit async for hit in Palette(app.screen).discover()]
        assert [hit.text for hit in hits[:3]] == ["To form", "Search", "Mark"]
        meant = {
            tooltip
            for _, binding, enabled, tooltip in app.screen.active_bindings.values()
            if tooltip and enabled and binding.action not in PALETTE
        }
        assert len(meant) > 10
        # What cannot be done now is not offered; labels come before sentences.
        assert not {"Stop", "Retry", "Bench: View"} & {str(hit.text) for hit in hits}
        found = [hit async for hit in Palette(app.screen).search("mark")]
        scores = {str(hit.text): hit.score for hit in found}
        assert scores.pop("Mark") > max(scores.values())
        # All that there is can be gone to by its name, and the keys of other tabs.
        names = {str(hit.text) for hit in hits}
        assert {"Op matmul", "Lesson clock", "Device cpu:0", "Recorded v4-8"} <= names
        assert "Devices: Check" in names

        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await until(pilot, lambda: app.screen.query(Static))
        titles = [panel.border_title for panel in app.screen.query(Panel)]
        assert titles[:3] == [HistoryPane.HELP, "Words here", EVERYWHERE]
        assert app.screen.query_one("VerticalScroll").virtual_size.width <= 60
        rows: dict[str, str] = {}
        for one in app.screen.query(Static):
            if isinstance(one.content, Table):
                keys, told = (map(str, column.cells) for column in one.content.columns)
                rows.update(zip(told, keys, strict=True))
        assert meant <= rows.keys()
        assert rows["Stop the run; keep its numbers."] == "s f6"
        for meaning in meant:
            assert any(meaning in str(hit.help) for hit in hits), meaning


async def test_what_a_key_says_and_a_run_does_first_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = FakeEngine(begun)
    app = app_on(engine)

    async def says(key: str, sentence: str) -> None:
        await pilot.press(key)
        await until(pilot, lambda: sentence in plain(app, MessageLine))

    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await says("s", "Nothing is running.")
        assert app.check_action("stop", ()) is None
        await says("x", "jaxtui holds no accelerator.")
        await says("R", "The engine has not failed.")
        await says("y", "No result yet.")
        await says("at", "@ does nothing here: ? shows the keys.")
        await pilot.press("down")
        await until(pilot, lambda: not app.state.message)
        # However slow the terminal is.
        with monkeypatch.context() as patch:
            patch.setattr(app.pacer, "ready", lambda: False)
            await says("enter", "starting")
            facts = {"elapsed_seconds": 0.1, "remaining_seconds": 5.0}
            engine.emit_run(Progress(doing="compile: a", **facts))  # type: ignore[arg-type]
            await until(pilot, lambda: plain(app, MessageLine) == "compile: a")
        # An answer does not outlive the run that it is about.
        await says("enter", text(RUNNING))
        engine.emit_run(RunFinished(outcome="complete", elapsed_seconds=1.0))
        await until(pilot, lambda: plain(app, MessageLine).startswith("Done in 1.0 s"))


async def test_keys_of_the_tabs_are_answered_over_them() -> None:
    engine = FakeEngine()
    engine.answer_others(lambda work: ())
    async with opened(engine) as (pilot, app):
        for screen in (TimelineScreen, Classroom):
            app.push_screen(screen(Loop(case=case())))
            await until(pilot, lambda screen=screen: isinstance(app.screen, screen))
            for key in ("7", "y", "u"):
                await pilot.press(key)
                await until(
                    pilot,
                    lambda key=key: message(app).startswith(f"{key} "),
                )
                assert isinstance(app.screen, screen)
            await pilot.press("escape")
            await until(pilot, lambda: not app.state.message)


async def test_themes_a_small_screen_and_ctrl_c(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[str] = []
    reparse = Stylesheet.reparse

    def counted(self: Stylesheet) -> None:
        parsed.append(app.theme)
        reparse(self)

    monkeypatch.setattr(Stylesheet, "reparse", counted)
    async with opened(FakeEngine()) as (pilot, app):
        focused = app.focused
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: isinstance(app.screen, TooSmall))
        assert "60×15" in str(app.screen.query_one(Static).content)
        await pilot.resize_terminal(1, 1)
        await pilot.resize_terminal(*NARROW)
        await until(pilot, lambda: not isinstance(app.screen, TooSmall))
        assert app.focused is focused

        # Themes go round; style sheets are parsed once until the theme is another.
        assert (app.theme, parsed) == (themes.DARK, [])
        await pilot.press("t", "t", "t")
        assert app.theme == themes.DARK
        assert parsed == [themes.LIGHT, themes.PROJECTOR, themes.DARK]
        # Also from an input.
        await pilot.press("2")
        await until(pilot, lambda: app.query("#sizes"))
        app.query_one("#sizes").focus()
        await pilot.press("ctrl+c")
    assert app.return_code == 130


async def test_keys_that_come_before_a_prompt_is_open_are_for_it() -> None:
    engine = FakeEngine()
    async with opened(engine) as (pilot, app):
        for key, typed in (("u", "a"), ("f", "train.py:step"), (":", "recorded")):
            for letter in (key, *typed):
                name = "colon" if letter == ":" and key == ":" else letter
                app.post_message(events.Key(name, letter))
            await until(pilot, lambda: app.screen_stack[1:] and app.screen.query(Input))
            field = app.screen.query_one(Input)
            await until(
                pilot,
                lambda field=field, typed=typed: field.value.endswith(typed),
            )
            await pilot.press("escape")
            await until(pilot, lambda: not app.screen_stack[1:])
        assert (engine.works, app.theme) == ([], themes.DARK)


async def test_a_tab_that_is_left_does_not_come_back() -> None:
    app = app_on(FakeEngine())
    shown: list[str] = []
    async with app.run_test(size=(120, 40)) as pilot:
        await until_ready(pilot, app)
        tabs = app.query_one(TabbedContent)
        app.watch(tabs, "active", lambda tab: shown.append(tab), init=False)
        for click in (True, False):
            await pilot.press("3")
            await until(pilot, lambda: app.query(StepView) and app.focused)
            if click:
                await pilot.press("enter")
                question = app.query_one("#step-question")
                await until(pilot, lambda: question.has_focus)  # noqa: B023
                await pilot.click("#--content-tab-history")
            else:
                await pilot.press("4")
            await until(pilot, lambda: app.query(HistoryTable) and app.tab == "history")
            pane = app.query_one(HistoryPane)
            await until(pilot, lambda: pane.has_focus_within)  # noqa: B023
        assert shown == ["learn", "history"] * 2


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


async def test_a_key_right_after_that_of_a_tab_is_for_that_tab() -> None:
    engine = FakeEngine()
    async with opened(engine) as (pilot, app):
        await pilot.press("2", "1")
        await until(pilot, lambda: app.tab == "devices" and app.focused)
        for key in "2r":  # as a slow line delivers them
            app.post_message(events.Key(key, key))
        await until(pilot, lambda: engine.works or app.session.state.message)
        (work,) = engine.works
        asked = app.query_one(BenchPane).form.meaning.experiment
        assert asked
        assert len(work.cases) == len(asked.cases)
