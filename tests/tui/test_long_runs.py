"""A form that comes to hundreds of cases: said while typing, asked about by ``r``."""

from __future__ import annotations

from textual.pilot import Pilot
from textual.widgets import Input, Label, Static

from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.screens.question import Question
from tests.tui.driving import app_on, until, until_done, until_ready
from tests.tui.fake_engine import FakeEngine

SIZES = "1..1e6x1.3"
"""Just more, with two modes, than are started without asking."""


async def typed(pilot: Pilot[None], app: JaxtuiApp, sizes: str) -> str:
    """Type sizes; returns what the form says of them."""
    await until_ready(pilot, app)
    await pilot.press("2")
    line = app.query_one("#verdict", Static)
    before = str(line.content)
    app.query_one("#sizes", Input).value = sizes
    await until(pilot, lambda: str(line.content) != before)
    return str(line.content)


async def asked(pilot: Pilot[None], app: JaxtuiApp) -> str:
    """Press ``r``; returns the question."""
    app.query_one("#run").focus()
    await pilot.press("r")
    await until(pilot, lambda: isinstance(app.screen, Question))
    return str(app.screen.query(Label).first().content)


async def test_the_form_counts_as_it_is_typed() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        said = await typed(pilot, app, SIZES)
        assert said == "52 sizes × 2 modes = 104 cases, about 104 s"
        assert not app.query_one("#verdict").has_class("-problem")
        many = ",".join(f"{start}..1e15x1.04" for start in (1, 3, 5, 7, 11, 13, 17))
        line = app.query_one("#verdict", Static)
        app.query_one("#sizes", Input).value = many
        await until(pilot, lambda: "at most 10,000" in str(line.content))
        assert line.has_class("-problem")


async def test_yes_starts_it() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        said = await typed(pilot, app, SIZES)
        question = await asked(pilot, app)
        assert question == f"{said}. Start it?"
        assert not engine.experiments
        await pilot.press("y")
        await until_done(pilot, app)
        assert len(engine.experiments[0].cases) > 100


async def test_enter_and_esc_do_not() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await typed(pilot, app, SIZES)
        for key in ("enter", "escape"):
            await asked(pilot, app)
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(app.screen, Question))
        assert not engine.experiments
        assert not app.state.busy


async def test_enter_in_an_input_asks_too() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await typed(pilot, app, SIZES)
        app.query_one("#sizes").focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, Question))
        assert not engine.experiments


async def test_a_short_run_is_not_asked_about() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await typed(pilot, app, "1..1e6")
        app.query_one("#run").focus()
        await pilot.press("r")
        await until_done(pilot, app)
        assert engine.experiments


async def test_the_notes_of_many_cases_stay_in_view_on_a_small_screen() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await typed(pilot, app, "256..4096")
        app.query_one("#run").focus()
        await pilot.press("r")
        await until_done(pilot, app)
        await pilot.pause()
        notes = app.query_one("NotesPanel").region
        assert notes.height >= 3
        assert notes.bottom <= app.query_one("MessageLine").region.y
