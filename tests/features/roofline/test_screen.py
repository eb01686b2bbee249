"""The roofline in the tab Bench: its key, its table, its plot and its sentences."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.model import Progress, Remark, Roofs, RunStarted, Work
from jaxtui.features.bench.form import CaseForm
from jaxtui.features.bench.results_table import ResultsTable
from jaxtui.features.bench.screen import BenchPane
from jaxtui.features.bench.values import Values
from jaxtui.ui import words
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.status import MessageLine
from jaxtui.ui.widgets.plot_view import PlotView
from tests.core.figures import FLOAT32, roofs
from tests.fake_engine import FakeEngine
from tests.features.roofline.test_judge import ARITHMETIC, COMPLETE, FAILED, MEMORY
from tests.ui.app.driving import (
    app_on,
    lines,
    message,
    plain,
    until,
    until_done,
    until_ready,
)

App = tuple[JaxtuiApp, "Pilot[None]", FakeEngine]


@asynccontextmanager
async def on_bench(size: tuple[int, int] = (80, 24)) -> AsyncIterator[App]:
    """The engine plays experiments, and of roofs says only what the test emits."""
    engine = FakeEngine()
    engine.answer_others(lambda work: ())
    app = app_on(engine)
    async with app.run_test(size=size) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2")
        await until(pilot, lambda: app.tab == "bench" and app.query(CaseForm))
        yield app, pilot, engine


def plot(app: JaxtuiApp) -> str:
    return app.query_one("#bench-plot", PlotView).text


def notes(app: JaxtuiApp) -> str:
    return plain(app, "#notes")


async def run(pilot: Pilot[None], app: JaxtuiApp, *modes: str) -> None:
    """A run of a matrix product."""
    values = Values(op="matmul", sizes="1000", modes=modes or ("jit",))
    app.query_one(CaseForm).fill(values)
    await pilot.press("f5")
    await until_done(pilot, app)
    app.query_one(ResultsTable).focus()
    await until(pilot, lambda: app.query_one(ResultsTable).has_focus)


async def ask(pilot: Pilot[None], app: JaxtuiApp, engine: FakeEngine) -> None:
    """Press the key, and wait until the engine has been asked."""
    before = len(engine.works)
    await pilot.press("z")
    await until(pilot, lambda: len(engine.works) > before and app.state.running)
    engine.emit_run(RunStarted())


async def until_tabs_say(
    pilot: Pilot[None], app: JaxtuiApp, said: str, tabs: tuple[str, ...]
) -> None:
    """The message line of these tabs has this text; it is empty on the others."""
    for key, tab in zip("1342", ("devices", "learn", "history", "bench"), strict=True):
        await pilot.press(key)
        await until(pilot, lambda tab=tab: app.tab == tab)
        wanted = said if tab in tabs else ""
        await until(
            pilot,
            lambda wanted=wanted: (
                (line := plain(app, MessageLine)) == wanted
                or (wanted and wanted in line)
            ),
        )


async def test_the_roofs_grow_and_the_verdict_stands_below() -> None:
    async with on_bench() as (app, pilot, engine):
        await pilot.press("escape")
        app.query_one(BenchPane).perform("roofline")
        await until(pilot, lambda: "Run something first" in message(app))
        await run(pilot, app)
        await until_tabs_say(pilot, app, "Done in", ("bench", "devices"))
        await ask(pilot, app, engine)
        assert engine.works[-1] == Roofs(device="cpu:0", dtypes=(FLOAT32,))
        app.query_one(BenchPane).perform("roofline")
        await until(pilot, lambda: "A run is in progress" in message(app))
        app.session.say("")
        doing = "copying 512 MB"
        engine.emit_run(
            Progress(elapsed_seconds=1.0, remaining_seconds=9.0, doing=doing)
        )
        await until(pilot, lambda: "copying 512 MB" in lines(app))
        assert "measuring the roofs" in lines(app)
        engine.emit_run(roofs(MEMORY))
        await until(pilot, lambda: "20.0 GB/s" in plot(app))
        assert notes(app).startswith("no roof yet  ")
        engine.emit_run(roofs(MEMORY, ARITHMETIC), COMPLETE)
        await until(pilot, lambda: "float32 2.00 TFLOP/s" in plot(app))
        await until(pilot, lambda: "48 %" in notes(app) and "48 %" in lines(app))
        assert "example.org/chip" in notes(app)
        await until_tabs_say(pilot, app, "2.00 TFLOP/s", ("bench",))


async def test_the_selected_case_is_judged_and_the_next_run_too() -> None:
    async with on_bench((120, 40)) as (app, pilot, engine):
        await run(pilot, app, "jit", "numpy")
        await pilot.press("down", "up", "down")
        index = app.session.state.case_index
        assert index > 0
        await ask(pilot, app, engine)
        engine.emit_run(roofs(MEMORY, ARITHMETIC), COMPLETE)
        await until(pilot, lambda: "48 %" in notes(app))
        assert app.session.state.case_index == index
        await pilot.press("up")
        await until(pilot, lambda: notes(app).startswith("below the roof"))

        # A new run is shown as a run; its points are under the known roofs.
        await run(pilot, app, "jit", "numpy")
        assert len(engine.works) == 3
        await until(
            pilot,
            lambda: (
                app.state.run and app.state.run.number == 3 and not app.state.running
            ),
        )
        assert app.state.view is None
        app.session.update(view="roofline")
        await until(pilot, lambda: notes(app).startswith("compute bound"))
        rows = lines(app, "ResultsTable").splitlines()[1:3]
        assert [row.split()[0] for row in rows] == ["A", "B"]


async def test_a_failure_a_stop_and_a_missing_engine_leave_what_is_known() -> None:
    async with on_bench() as (app, pilot, engine):
        await run(pilot, app)
        # A failure is told where the plot would be.
        await ask(pilot, app, engine)
        engine.emit_run(FAILED, COMPLETE)
        await until(pilot, lambda: "It broke. Mend it." in lines(app))

        # A stop keeps what was found.
        await ask(pilot, app, engine)
        engine.emit_run(roofs(MEMORY))
        await until(pilot, lambda: "20.0 GB/s" in plot(app))
        await pilot.press("s")
        await until(pilot, lambda: not app.state.running)
        await until(pilot, lambda: notes(app).startswith("no roof  "))

        async def gone(work: Work) -> int:
            raise EngineUnavailableError(Remark("engine-gone"))

        engine.run = gone  # type: ignore[method-assign]
        await pilot.press("z")
        closed = words.sentence(Remark("engine-gone"))
        await until(
            pilot, lambda: app.state.engine == "failed" and closed in lines(app)
        )
        assert "20.0 GB/s" in plot(app)
