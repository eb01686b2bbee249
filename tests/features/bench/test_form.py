"""The form as a widget: what its lists offer."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from jaxtui.features.bench.form import CaseForm
from jaxtui.features.bench.values import Values
from jaxtui.ui.widgets.choice import Choice
from tests.fake_engine import OPS, FakeEngine
from tests.records import op
from tests.ui.app.driving import app_on, until, until_ready


async def test_the_modes_are_those_of_the_op() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ready(pilot, app)
        await until(pilot, lambda: app.query(CaseForm))
        matmul, selu = OPS
        more = msgspec.structs.replace(selu, modes=(*selu.modes, "pallas"))
        widget, modes = app.query_one(CaseForm), app.query_one("#modes", Choice)
        widget.state = replace(widget.state, ops=(matmul, more))
        widget.fill(Values(op="selu", modes=("jit", "pallas")))
        assert modes.options == more.modes
        assert modes.chosen == ("jit", "pallas")
        widget.fill(Values(op="matmul", modes=("jit", "pallas")))
        assert modes.options == matmul.modes
        assert modes.chosen == ("jit",)


async def test_a_collective_takes_all_devices() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ready(pilot, app)
        await until(pilot, lambda: app.query(CaseForm))
        reduce = op("all_reduce", "float32", modes=("jit",), collective=True)
        widget = app.query_one(CaseForm)
        devices = widget.query_one("#devices", Choice)
        widget.state = replace(widget.state, ops=(*OPS, reduce))
        assert devices.options == ("cpu:0", "cpu:1", "cpu:0-1")
        assert not widget.query_one("#mesh").display
        choice = widget.query_one("#op", Choice)
        choice.chosen = ("all_reduce",)
        choice.post_message(Choice.Changed(choice))
        await until(pilot, lambda: devices.chosen == ("cpu:0-1",))
        await until(pilot, lambda: widget.query_one("#mesh").display)
        assert not widget.meaning.problem
