"""The form as a widget: what its lists offer, and how keys and mouse choose."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from msgspec.structs import replace
from textual import events
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from jaxtui.features.bench import form
from jaxtui.features.bench.form import CaseForm, Marks, OpField
from jaxtui.features.bench.open_file import OpenFile
from jaxtui.features.bench.values import Values
from jaxtui.ui.app.app import JaxtuiApp
from tests.fake_engine import OPS, FakeEngine, cpu_devices
from tests.records import op
from tests.ui.app.driving import app_on, plain, until, until_done, until_ready

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
