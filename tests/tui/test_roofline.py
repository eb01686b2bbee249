"""The roofline in the tab Bench: asked for, growing, stopped, failing."""

from __future__ import annotations

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import TabbedContent

from jaxtui.engine.client import EngineUnavailableError
from jaxtui.model import (
    Case,
    Expected,
    Failure,
    MissingRoof,
    Progress,
    Roof,
    RoofDtype,
    RoofMeasured,
    Roofs,
    RoofsMeasured,
    RoofsStarted,
    RunFinished,
    Work,
    WorkFailed,
)
from jaxtui.state import CaseState, Job
from jaxtui.tui import roofline as roofline_text
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.bench import BenchPane
from jaxtui.tui.roofline import WHAT_IT_IS, explanation
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.widgets.plot_view import PlotView
from jaxtui.tui.widgets.results_table import ResultsTable
from jaxtui.view.text import plain
from tests.tui.driving import app_on, until, until_done, until_ready
from tests.tui.fake_engine import FakeEngine, cpu_devices, measurement, tpu_devices

NARROW, WIDE = (80, 24), (120, 40)
F32, BF16 = RoofDtype(dtype="float32"), RoofDtype(dtype="bfloat16")

MEMORY = Roof(
    kind="bandwidth",
    of=None,
    per_second=20e9,
    ci_low=19.9e9,
    ci_high=20.1e9,
    what="NumPy's copy, 512 MB",
)
ARITHMETIC = Roof(
    kind="compute",
    of=F32,
    per_second=2e12,
    ci_low=1.9e12,
    ci_high=2.1e12,
    what="matmul 4096 float32 jit",
    published=Expected(value=4e12, kind="peak", source="example.org/chip"),
)
COMPLETE = RunFinished(outcome="complete", elapsed_seconds=9.0)


def quiet_engine(*devices: str) -> FakeEngine:
    """One that plays experiments, and of roofs says only what the test emits."""
    engine = FakeEngine(tpu_devices() if devices else cpu_devices())
    engine.answer = lambda work: ()
    return engine


def asked(engine: FakeEngine) -> Roofs:
    work = engine.works[-1]
    assert isinstance(work, Roofs)
    return work


def measured(engine: FakeEngine, *roofs: Roof, **more: object) -> RoofsMeasured:
    device = asked(engine).device
    return RoofsMeasured(device=device, device_kind="cpu", roofs=roofs, **more)  # type: ignore[arg-type]


def started(engine: FakeEngine) -> RoofsStarted:
    return RoofsStarted(roofs=asked(engine))


def plot(app: JaxtuiApp) -> str:
    return app.query_one("#bench-plot", PlotView).text


def whole(app: JaxtuiApp) -> str:
    """All that is on screen, line by line."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in line) for line in lines)


def notes(app: JaxtuiApp) -> str:
    content = app.query_one("#notes").render()
    return getattr(content, "plain", str(content))


async def run(
    pilot: Pilot[None], app: JaxtuiApp, modes: tuple[str, ...] = ("jit",)
) -> None:
    """A run of a matrix product, in the tab Bench."""
    from jaxtui.tui.form import CaseForm, Values

    await until_ready(pilot, app)
    await pilot.press("2")
    await until(pilot, lambda: app.query_one(TabbedContent).active == "bench")
    await until(pilot, lambda: bool(app.query(CaseForm)))
    app.query_one(CaseForm).fill(Values(op="matmul", sizes="1000", modes=modes))
    await pilot.press("f5")
    await until_done(pilot, app)
    app.query_one(ResultsTable).focus()
    await pilot.pause()


async def ask(pilot: Pilot[None], app: JaxtuiApp, engine: FakeEngine) -> None:
    """Press the key, and wait until the engine has been asked."""
    before = len(engine.works)
    await pilot.press("z")
    await until(pilot, lambda: len(engine.works) > before and app.state.running)


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_the_roofs_grow_and_the_verdict_stands_below(
    size: tuple[int, int],
) -> None:
    engine = quiet_engine()
    app = app_on(engine)
    async with app.run_test(size=size) as pilot:
        await run(pilot, app)
        await ask(pilot, app, engine)
        assert asked(engine) == Roofs(device="cpu:0", dtypes=(F32,))
        engine.emit_run(
            started(engine),
            Progress(
                elapsed_seconds=1.0, remaining_seconds=9.0, doing="copying 512 MB"
            ),
        )
        await until(pilot, lambda: "copying 512 MB" in whole(app))
        assert "being measured" in whole(app)
        engine.emit_run(RoofMeasured(roof=MEMORY))
        await until(pilot, lambda: "20.0 GB/s" in plot(app))
        assert "its roofs are still being measured" in notes(app)
        engine.emit_run(RoofMeasured(roof=ARITHMETIC))
        await until(pilot, lambda: "float32 2.00 TFLOP/s" in plot(app))
        engine.emit_run(measured(engine, MEMORY, ARITHMETIC), COMPLETE)
        await until(pilot, lambda: not app.state.running)
        await pilot.pause()
        assert notes(app).startswith("A: compute bound at 48 % of the roof")
        assert "A: compute bound at 48 % of the roof" in whole(app)
        assert "example.org/chip" in notes(app)
        assert "Roofs of cpu:0: 20.0 GB/s, 2.00 TFLOP/s float32." in whole(app)


async def test_the_selected_case_is_judged_and_the_next_run_too() -> None:
    engine = quiet_engine()
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await run(pilot, app, ("jit", "numpy"))
        await pilot.press("down", "up", "down")
        index = app.session.state.case_index
        assert index > 0
        await ask(pilot, app, engine)
        engine.emit_run(started(engine), measured(engine, MEMORY, ARITHMETIC), COMPLETE)
        await until(pilot, lambda: "of the compute roof" in notes(app))
        await pilot.pause()
        assert app.session.state.case_index == index
        assert notes(app).startswith("B: 10 % of the compute roof")
        await pilot.press("up")
        await until(pilot, lambda: notes(app).startswith("A: compute bound at 48 %"))

        # A run that ends has its points under the known roofs.
        await run(pilot, app, ("jit", "numpy"))
        assert len(engine.works) == 3
        await until(pilot, lambda: app.state.run.number == 3 and not app.state.running)
        await until(pilot, lambda: notes(app).startswith("A: compute bound"))
        assert app.state.view == "roofline"
        table = app.query_one(ResultsTable)
        letters = [str(table.get_cell_at((row, 0))).strip() for row in (0, 1)]
        assert letters == ["A", "B"]


async def test_what_has_no_place_says_why() -> None:
    engine = quiet_engine("tpu")
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await run(pilot, app, ("jit", "numpy"))
        await ask(pilot, app, engine)
        assert asked(engine).device == "tpu:0"
        missing = (MissingRoof(of=BF16, why="XLA refused it."),)
        other = measured(engine, MEMORY, missing=missing)
        engine.emit_run(started(engine), other, COMPLETE)
        await until(pilot, lambda: "XLA refused it." in notes(app))
        await pilot.press("end", "down")
        await until(pilot, lambda: "It ran on the host" in notes(app))
        assert "these roofs are those of tpu:0" in notes(app)


async def test_why_not_a_failure_a_death_and_a_stop() -> None:
    engine = quiet_engine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2", "escape")
        app.query_one(BenchPane).perform("roofs")
        await until(pilot, lambda: "Run something first" in app.state.message)
        await run(pilot, app)
        await ask(pilot, app, engine)
        app.query_one(BenchPane).perform("roofs")
        await until(pilot, lambda: "A run is in progress" in app.state.message)

        # A failure is told where the plot would be.
        failed = WorkFailed(error="There is no memory left.", hint="Close something.")
        engine.emit_run(started(engine), failed, COMPLETE)
        await until(pilot, lambda: not app.state.running)
        await until(pilot, lambda: "There is no memory left." in whole(app))
        assert "z measures the roofs of cpu:0" in whole(app)
        assert app.state.engine == "ready"

        # An engine that dies leaves the figures of the run.
        await ask(pilot, app, engine)
        engine.emit_run(
            started(engine),
            WorkFailed(error="The engine was killed (signal 9).", hint=""),
            RunFinished(outcome="crashed", elapsed_seconds=1.0),
        )
        engine.die()
        engine.become_ready()
        await until(pilot, lambda: app.state.engine == "ready")
        await until(pilot, lambda: "killed (signal 9)" in whole(app))
        assert "matmul" in whole(app)
        await until(pilot, lambda: "z measures the roofs of cpu:0" in whole(app))

        # A stop keeps what was found.
        await ask(pilot, app, engine)
        engine.emit_run(started(engine), RoofMeasured(roof=MEMORY))
        await until(pilot, lambda: "20.0 GB/s" in plot(app))
        await pilot.press("s")
        await until(pilot, lambda: engine.calls[-1] == "stop")
        engine.emit_run(RunFinished(outcome="cancelled", elapsed_seconds=1.0))
        await until(pilot, lambda: "the roofs that were found stay" in whole(app))
        assert "20.0 GB/s" in plot(app)
        assert "z measures it" in notes(app)


async def test_an_engine_that_is_not_there_measures_nothing() -> None:
    engine = quiet_engine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await run(pilot, app)

        async def gone(work: Work) -> int:
            raise EngineUnavailableError("The engine could not be started.")

        engine.run = gone  # type: ignore[method-assign]
        await pilot.press("z")
        await until(pilot, lambda: app.state.engine == "failed")
        await until(pilot, lambda: not app.state.running)
        await until(pilot, lambda: "z measures the roofs of cpu:0" in whole(app))
        assert "The engine could not be started." in whole(app)


@pytest.mark.parametrize(
    ("rate", "cache", "limited"),
    [
        (0.9 * 20e9 / 6, None, "memory"),
        (0.9 * 20e9 / 6, 2**30, "something else"),
        (0.1 * 20e9 / 6, None, "something else"),
        (2.0 * 20e9 / 6, 2**30, "cache"),
        (2.0 * 20e9 / 6, None, "over the roof"),
    ],
)
def test_a_row_says_what_the_verdict_says(
    rate: float, cache: int | None, limited: str
) -> None:
    case = Case(op="add", size=1000, dtype="float32", device="cpu:0", mode="jit")
    figures = msgspec.structs.replace(
        measurement(case), flops=2e6, bytes=12e6, flops_per_second=rate
    )
    row = row_of(state_of(CaseState(case, measurement=figures), cache))
    assert (row["letter"], row["limit"]) == ("A", limited)
    assert row["share"] == f"{100 * rate * 6 / 20e9:.0f} %"


def test_a_row_without_figures_says_what_goes_on() -> None:
    case = Case(op="add", size=1000, dtype="float32", device="cpu:0", mode="jit")
    failure = Failure(case=case, error="No memory.", hint="")
    failed = CaseState(case, status="failed", failure=failure)
    row = row_of(state_of(failed))
    assert (row["letter"], row["limit"]) == ("", "failed")


def row_of(state: State) -> dict[str, str]:
    columns = roofline_text.columns(state, room=8)
    return {column.key: plain(column.cells[0]) for column in columns}


def state_of(case: CaseState, cache: int | None = None) -> State:
    """A case under both roofs."""
    roofs = RoofsMeasured(
        device="cpu:0", device_kind="cpu", roofs=(MEMORY, ARITHMETIC), cache_bytes=cache
    )
    run = Job(number=1, cases=(case,))
    return State(jobs={"bench": run}, roofs=(roofs,), view="roofline")


def test_without_a_run_it_is_explained() -> None:
    assert explanation(EMPTY) == WHAT_IT_IS
