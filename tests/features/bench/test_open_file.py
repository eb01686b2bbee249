"""Functions of one's own in the app: chosen out of a file, timed, and what can fail."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.model import Inspected, Inspection, Loop, Ready
from jaxtui.features.bench.form import CaseForm, Marks
from jaxtui.features.bench.open_file import OpenFile
from jaxtui.features.bench.values import Values
from jaxtui.features.program.screen import ProgramScreen
from jaxtui.features.timeline.screen import TimelineScreen
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.dialogs import CodeScreen, NotesScreen
from tests.fake_engine import HOST, OPS, FakeEngine, cpu_devices
from tests.ui.app.driving import app_on, plain, until, until_done, until_ready

NARROW = (80, 24)

TRAIN = """
    raise SystemExit("the screen has run it")

    def step(params, x):
        "One step."

    def loss(params, x): ...
    def make_args(size=64): ...
"""
PLAIN = "def scale(x, y): ...\ndef norm(x): ...\ndef norm_numpy(x): ...\n"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(textwrap.dedent(TRAIN))
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bench(app: JaxtuiApp) -> CaseForm:
    return app.screen_stack[0].query_one(CaseForm)


async def opened(pilot: Pilot[None], app: JaxtuiApp, typed: str) -> Values:
    """What the form says after this was typed."""
    await until_ready(pilot, app)
    await pilot.press("2", "f")
    await until(pilot, lambda: isinstance(app.screen, OpenFile))
    app.screen.query_one(Input).value = typed
    await pilot.press("enter")
    await until(pilot, lambda: len(app.screen_stack) == 1)
    return bench(app).values


async def test_what_cannot_be_opened_is_refused_and_what_was_is_offered_again(
    work: Path,
) -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2", "f")
        await until(pilot, lambda: isinstance(app.screen, OpenFile))
        says = app.screen.query_one("#line-says", Static)
        for typed, words in (
            ("trian.py:step", "There is no file trian.py. Did you mean train.py?"),
            ("train.py", "neither an op nor a function of a file"),
            ("sub", "neither an op nor a function of a file"),
        ):
            app.screen.query_one(Input).value = typed
            await pilot.press("enter")
            await until(pilot, lambda words=words: words in str(says.content))  # type: ignore[misc]
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.state.opened == ()

        assert (await opened(pilot, app, "plain.py:scale")).modes == ("jit",)
        bench(app).fill(Values(op="matmul", sizes="64"))
        app.query_one("#op").focus()
        await pilot.press("enter", *"scale", "enter")
        await until(pilot, lambda: bench(app).values.op.endswith("plain.py:scale"))
        bench(app).query_one("#arguments", Input).value = "f32[8,8] f32[]"
        await until(pilot, lambda: bench(app).query_one("#sizes").disabled)


async def test_two_functions_are_run_and_keys_work_or_say_why_not(work: Path) -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        values = await opened(pilot, app, "train.py:step,loss")
        assert values.op == f"{work}/train.py:step,loss"
        assert (values.sizes, values.modes, values.arguments) == ("", ("jit",), "")
        assert not bench(app).query_one("#dtypes").display
        assert bench(app).query_one("#arguments").region.right <= NARROW[0]
        # An engine that comes back does not take them away.
        engine.emit(Ready(host=HOST, devices=cpu_devices(2), ops=OPS))
        devices = bench(app).query_one("#devices", Marks)
        await until(pilot, lambda: {"cpu:0", "cpu:1"} <= {*devices.values})
        assert bench(app).values.op == values.op
        await until(pilot, lambda: "2 cases" in bench(app).meaning.message)
        await pilot.press("r")
        await until_done(pilot, app)
        ops = [f"{work}/train.py:{name}" for name in ("step", "loss")]
        assert [case.op for case in engine.experiments[0].cases] == ops
        await pilot.press("w")
        await until(pilot, lambda: "has no sizes" in app.state.message)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, TimelineScreen))
        await until(pilot, lambda: isinstance(engine.works[-1], Loop))
        assert engine.works[-1].case.op == ops[0]
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen))
        await pilot.press("escape")
        engine.answer_others(lambda _: ())
        await pilot.press("h")
        await until(pilot, lambda: isinstance(app.screen, ProgramScreen))
        await until(pilot, lambda: isinstance(engine.works[-1], Inspection))


# With the real engine.

MINE = """
import jax.numpy as jnp

def doubled(x):
    return {"result": x * 2}

def deep(x, n=30):
    return deep(x, n - 1) if n else x @ x

def make_args(size=64):
    return (jnp.ones((size, size + 1)),)
"""


async def test_from_a_file_to_its_numbers_and_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    engine = EngineClient(EngineOptions(cpu_devices=1))
    app = JaxtuiApp(engine, fps=50)
    try:
        async with app.run_test(size=NARROW) as pilot:
            await opened(pilot, app, "mine.py:doubled,deep")
            bench(app).query_one("#budget", Input).value = "1"
            await pilot.press("r")
            await until_done(pilot, app)
            run = app.session.state.run
            assert run is not None
            doubled, deep = run.cases
            assert doubled.measurement is not None
            assert (doubled.case.size, doubled.case.dtype) == (64, "float32")
            assert deep.failure is not None
            app.query_one("ResultsTable").focus()
            await pilot.press("down")
            notes = app.query_one("#notes-scroll")
            await until(pilot, lambda: "x @ x" in plain(app, "#notes"))
            assert "site-packages" not in plain(app, "#notes")
            await until(pilot, lambda: notes.region.height >= 8)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, NotesScreen))
            body = app.screen.query_one("#page")
            await until(pilot, lambda: body.max_scroll_y > 0)
            await pilot.press("end")
            await until(pilot, lambda: body.scroll_y == body.max_scroll_y)
            await pilot.press("escape", "up", "h")
            await until(pilot, lambda: "inspection" in app.state.jobs)
            await until(pilot, lambda: not app.state.running)
            inspected = app.state.jobs["inspection"].result
            assert isinstance(inspected, Inspected)
            assert inspected.case.size == 64
    finally:
        await engine.close()
