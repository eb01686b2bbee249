"""The key that finds the crossing of two curves of the tab Bench."""

from __future__ import annotations

from textual.pilot import Pilot

from jaxtui.features.bench.choices import view_of
from jaxtui.features.bench.form import CaseForm
from jaxtui.features.bench.screen import BenchPane
from jaxtui.features.bench.values import Values
from jaxtui.ui.app.app import JaxtuiApp
from tests.fake_engine import FakeEngine
from tests.features.crossover.test_command import machine
from tests.ui.app.driving import app_on, lines, until, until_done, until_ready


async def run(
    pilot: Pilot[None], app: JaxtuiApp, sizes: str, modes: tuple[str, ...]
) -> None:
    await until_ready(pilot, app)
    app.query_one(CaseForm).fill(Values(op="matmul", sizes=sizes, modes=modes))
    await pilot.press("f5")
    await until_done(pilot, app)


async def test_the_crossing_of_the_selected_curve_with_numpys_is_closed_in_on() -> None:
    engine = FakeEngine(machine)
    app = app_on(engine)
    async with app.run_test(size=(100, 30)) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2")
        await until(pilot, lambda: app.tab == "bench" and app.query(CaseForm))
        pane = app.query_one(BenchPane)
        await run(pilot, app, "256..4096", ("numpy", "jit"))
        before = len(engine.works)
        pane.perform("crossover")
        await until(pilot, lambda: "numpy: they cross" in app.state.message)
        assert app.state.run is not None
        # What the sweep has measured is not measured again.
        (work,) = engine.works[before:]
        sizes = [case.size for case in work.cases[::2]]
        assert len(sizes) == 3
        assert all(1024 < size < 2048 for size in sizes)
        cases = [case.case for case in app.state.run.cases]
        assert cases[10:] == [*work.cases]
        assert view_of(app.state) == "sweep"
        await until(pilot, lambda: "1218" in lines(app))
        # Once more, it closes in further.
        pane.perform("crossover")
        await until(pilot, lambda: len(app.state.run.cases) == 22)


async def test_without_two_curves_over_sizes_a_key_says_what_is_missing() -> None:
    engine = FakeEngine(machine)
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2")
        await until(pilot, lambda: app.tab == "bench" and app.query(CaseForm))
        pane = app.query_one(BenchPane)
        for sizes, modes in (("256", ("numpy", "jit")), ("256,512", ("jit",))):
            await run(pilot, app, sizes, modes)
            pane.perform("crossover")
            await until(pilot, lambda: "two curves" in app.state.message)
            assert "crossover" not in app.state.jobs
