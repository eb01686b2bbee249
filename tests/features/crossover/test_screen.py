"""The key that finds the crossing of two curves of the tab Bench."""

from __future__ import annotations

from jaxtui.features.bench.choices import view_of
from jaxtui.features.bench.form import CaseForm
from jaxtui.features.bench.screen import BenchPane
from jaxtui.features.bench.values import Values
from tests.fake_engine import FakeEngine
from tests.features.crossover.test_command import machine
from tests.ui.app.driving import app_on, lines, message, until, until_done, until_ready


async def test_the_crossing_of_the_selected_curve_with_numpys_is_closed_in_on() -> None:
    engine = FakeEngine(machine)
    app = app_on(engine)
    async with app.run_test(size=(100, 30)) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2")
        await until(pilot, lambda: app.tab == "bench" and app.query(CaseForm))
        pane = app.query_one(BenchPane)

        async def run(sizes: str, *modes: str) -> None:
            values = Values(op="matmul", sizes=sizes, modes=modes)
            app.query_one(CaseForm).fill(values)
            await pilot.press("f5")
            await until_done(pilot, app)

        # Without two curves over sizes the key says what is missing.
        await run("256,512", "jit")
        pane.perform("crossover")
        await until(pilot, lambda: "two curves" in message(app))
        assert "crossover" not in app.state.jobs

        await run("256..4096", "numpy", "jit")
        before = len(engine.works)
        pane.perform("crossover")
        await until(pilot, lambda: "numpy: they cross" in message(app))
        assert app.state.run is not None
        # What the sweep has measured is not measured again.
        (work,) = engine.works[before:]
        sizes = [case.size for case in work.cases[::2]]
        assert len(sizes) == 3
        assert all(1024 < size < 2048 for size in sizes)
        assert [case.case for case in app.state.run.cases[10:]] == [*work.cases]
        assert view_of(app.state) == "sweep"
        await until(pilot, lambda: "1218" in lines(app))
        # Once more, it closes in further.
        pane.perform("crossover")
        await until(pilot, lambda: app.state.run and len(app.state.run.cases) == 22)
