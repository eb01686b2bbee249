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


async def test_a_long_run_is_asked_about_and_a_short_one_is_not() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        # A short one, whose notes stay in view.
        await typed(pilot, app, "256..4096")
        app.query_one("#run").focus()
        await pilot.press("r")
        await until_done(pilot, app)
        await pilot.pause()
        assert len(engine.experiments) == 1
        notes = app.query_one("NotesPanel").region
        assert notes.height >= 3
        assert notes.bottom <= app.query_one("MessageLine").region.y

        said = await typed(pilot, app, SIZES)
        for key in ("enter", "escape"):
            assert await asked(pilot, app) == f"{said}. Start it?"
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(app.screen, Question))
        # Enter in an input asks too.
        app.query_one("#sizes").focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, Question))
        assert len(engine.experiments) == 1
        assert not app.state.busy

        await asked(pilot, app)
        await pilot.press("y")
        await until(pilot, lambda: len(engine.experiments) == 2)
        await until_done(pilot, app)
        assert len(engine.experiments[1].cases) > 100
