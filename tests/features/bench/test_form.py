"""The form as a widget, keys and mouse in it, and functions of a file in it."""

from __future__ import annotations

import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from textual import events
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input, Static

from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.model import Inspected, Inspection, Loop, Ready
from jaxtui.features.bench import form
from jaxtui.features.bench.form import CaseForm, Marks, OpField
from jaxtui.features.bench.open_file import OpenFile
from jaxtui.features.bench.values import Values
from jaxtui.features.program.screen import ProgramScreen
from jaxtui.features.timeline.screen import TimelineScreen
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.dialogs import CodeScreen, NotesScreen
from tests.fake_engine import HOST, OPS, FakeEngine, cpu_devices
from tests.records import op
from tests.ui.app.driving import app_on, message, plain, until, until_done, until_ready

App = tuple[JaxtuiApp, "Pilot[None]", CaseForm, FakeEngine]


@asynccontextmanager
async def on_form() -> AsyncIterator[App]:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.focused, OpField))
        yield app, pilot, app.query_one(CaseForm), engine


async def test_what_an_op_or_a_machine_lacks_is_not_marked() -> None:
    async with on_form() as (app, pilot, widget, _):
        matmul, selu = OPS
        more = msgspec.structs.replace(selu, modes=(*selu.modes, "pallas"))
        reduce = op("all_reduce", "float32", modes=("jit",), collective=True)
        modes = app.query_one("#modes", Marks)
        widget.state = replace(widget.state, ops=(matmul, more, reduce))
        for one, chosen in ((more, ("jit", "pallas")), (matmul, ("jit",))):
            widget.fill(
                Values(op=one.name, modes=("jit", "pallas"), precisions=("high",))
            )
            assert modes.chosen == chosen
            greyed = {str(option.prompt) for option in modes.options if option.disabled}
            assert greyed == {*modes.values} - {*one.modes}
        assert widget.values.precisions == ("high",)
        widget.fill(Values(op="selu", precisions=("high",)))
        assert widget.values.precisions == ("default",)

        # A collective takes all devices.
        devices = widget.query_one("#devices", Marks)
        assert devices.values == ("cpu:0", "cpu:1", "cpu:0-1")
        assert not app.query_one("#mesh").display
        await pilot.press("enter", *"all_red", "enter")
        await until(pilot, lambda: devices.chosen == ("cpu:0-1",))
        await until(pilot, lambda: app.query_one("#mesh").display)
        assert app.query_one("#mesh").region.right <= 80
        assert not widget.meaning.problem
        app.query_one("#mesh", Input).value = "1x2@y"
        await until(pilot, lambda: "--mesh 1x2@y" in plain(app, "#command"))
        # What is hidden says nothing.
        widget.fill(replace(widget.values, op="matmul"))
        assert widget.values.mesh == ""

        widget.state = replace(widget.state, devices=cpu_devices(4))
        for asked, place in (("cpu:0-1", "cpu:7"), "cpu:0-1"), (("tpu:0",), "cpu:0"):
            widget.fill(replace(widget.values, devices=asked))
            assert widget.values.devices == (place,)


async def test_letters_find_an_op_also_when_they_come_at_once() -> None:
    async with on_form() as (app, pilot, widget, engine):
        for key in ("enter", "s", "e", "l", "enter"):
            character = key if len(key) == 1 else None
            app.post_message(events.Key(key, character))
        await until(pilot, lambda: widget.values.op == "selu")
        # It brings its own sizes.
        assert widget.values.sizes == form.VECTORS
        assert "selu:1e4,1e5,1e6" in plain(app, "#command")
        # Esc leaves all as it was, and so does a click beside.
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.click("#op")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert widget.values.op == "selu"
        assert not engine.experiments
        # The last entry opens a file.
        await pilot.press("enter", *"open", "enter")
        await until(pilot, lambda: isinstance(app.screen, OpenFile))


async def test_what_is_typed_after_tab_is_for_the_next_field() -> None:
    async with on_form() as (app, pilot, widget, engine):
        widget.fill(replace(widget.values, sizes=""))
        for key in ("tab", "5", "1", "2", "tab", "home", "space", "r"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until_done(pilot, app)
        assert {case.size for case in engine.experiments[0].cases} == {512}
        assert widget.values.dtypes == ("float64", "float32")


async def test_several_are_marked_by_keys_and_mouse() -> None:
    async with on_form() as (app, pilot, widget, engine):
        # Space and Enter mark and unmark; arrows go up, down and to the next list.
        app.query_one("#dtypes").focus()
        await pilot.press("home", "down", "down", "down", "space")
        await until(pilot, lambda: widget.values.dtypes == ("float32", "bfloat16"))
        await pilot.press("right", "home", "enter")
        await until(pilot, lambda: widget.values.modes == ("jit",))
        await pilot.click("CaseForm #devices", offset=(2, 2))
        await until(pilot, lambda: widget.values.devices == ("cpu:0", "cpu:1"))
        assert "--dtype f32,bf16 --mode jit --device cpu:0,cpu:1" in " ".join(
            plain(app, "#command").split()
        )
        # Without any mark there is nothing to run, and that is said.
        app.query_one("#modes").focus()
        await pilot.press("home", "down", "down", "space")
        await until(pilot, lambda: "at least one mode" in plain(app, "#meaning"))
        assert not app.query_one("#command").display
        await pilot.press("r", "space")
        await until(pilot, lambda: widget.values.modes == ("jit",))
        assert not engine.experiments
        await pilot.press("r")
        await until_done(pilot, app)
        cases = engine.experiments[0].cases
        assert {case.dtype for case in cases} == {"float32", "bfloat16"}
        assert {case.device for case in cases} == {"cpu:0", "cpu:1"}


async def test_y_copies_the_command_of_the_open_form_or_else_the_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: list[str] = []
    monkeypatch.setattr(JaxtuiApp, "copy_to_clipboard", lambda _, t: copied.append(t))
    async with on_form() as (app, pilot, widget, _):
        await pilot.press("y")
        assert copied[-1] == widget.values.command
        await pilot.press("r")
        await until_done(pilot, app)
        await until(pilot, lambda: widget.folded)
        await pilot.press("y")
        assert "ready" in copied[-1]
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.focused, OpField))
        await pilot.press("y")
        assert copied[-1] == widget.values.command
        widget.fill(replace(widget.values, sizes="12..x"))
        await pilot.press("y")
        assert len(copied) == 3


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
            await until(pilot, lambda words=words: words in str(says.content))
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
        await until(pilot, lambda: "has no sizes" in message(app))
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
