"""What the async view loops when it opens."""

from __future__ import annotations

import msgspec

from jaxtui.model import (
    Case,
    Loop,
)
from jaxtui.tui.case_actions import loopable
from tests.tui.driving import app_on, until, until_ready
from tests.tui.fake_engine import FakeEngine
from tests.tui.looping import (
    CASE,
    WIDE,
    open_view,
    shown,
    until_measured,
)


async def test_the_selected_case_of_the_bench_is_looped() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2", "f5")
        await until(pilot, lambda: app.state.run and not app.state.running)
        app.session.update(picked=(app.session.state.run.number, 1))
        await open_view(pilot, app)
        await until_measured(pilot, app)
        loop = engine.works[-1]
        assert isinstance(loop, Loop)
        picked = engine.experiments[0].cases[1]
        assert loop.case == loopable(picked, "cpu:0")
        # So few calls fill no queue.
        assert "20 of 20 results were not ready" in shown(app, "headline")


def test_what_the_host_computes_is_looped_as_jit() -> None:
    numpy = Case(op="matmul", size=64, dtype="float32", device="host", mode="numpy")
    looped_case = loopable(msgspec.structs.replace(numpy, inputs="host"), "cpu:0")
    assert (looped_case.mode, looped_case.device) == ("jit", "cpu:0")
    assert looped_case.inputs == "device"
    eager = msgspec.structs.replace(CASE, mode="eager")
    assert loopable(eager, "cpu:1") is eager
