"""The roofline in the tab Bench: what is known of roofs, asked for, and said."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from textual.pilot import Pilot

from jaxtui.engine.client import EngineUnavailableError
from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    Case,
    Event,
    Expected,
    Failure,
    MissingRoof,
    Mode,
    Progress,
    Ready,
    Roof,
    RoofDtype,
    RoofMeasured,
    Roofs,
    RoofsMeasured,
    RunFinished,
    RunStarted,
    Work,
    WorkFailed,
)
from jaxtui.state import CaseState, Job, begin_run, reduce
from jaxtui.tui import roofline, status
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.bench import BenchPane
from jaxtui.tui.form import CaseForm
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.values import Values
from jaxtui.tui.widgets.plot_view import PlotView
from jaxtui.tui.widgets.results_table import ResultsTable
from jaxtui.view import text
from tests import records
from tests.fake_engine import (
    HOST,
    OPS,
    FakeEngine,
    cpu_devices,
    tpu_devices,
)
from tests.tui.driving import app_on, lines, plain, until, until_done, until_ready

F32, BF16 = RoofDtype(dtype="float32"), RoofDtype(dtype="bfloat16")
COMPLETE = RunFinished(outcome="complete", elapsed_seconds=9.0)
STOPPED = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
CRASHED = RunFinished(outcome="crashed", elapsed_seconds=1.0)
FAILED = WorkFailed(error="It broke.", hint="Mend it.")


def roof(of: RoofDtype | None, per_second: float, **more: object) -> Roof:
    return Roof(
        kind="bandwidth" if of is None else "compute",
        of=of,
        per_second=per_second,
        ci_low=per_second * 0.99,
        ci_high=per_second * 1.01,
        what="a copy" if of is None else "matmul",
        **more,  # type: ignore[arg-type]
    )


MEMORY = roof(None, 20e9)
PUBLISHED = Expected(value=4e12, kind="peak", source="example.org/chip")
ARITHMETIC = roof(F32, 2e12, published=PUBLISHED)


def measured(*roofs: Roof, device: str = "cpu:0", **more: object) -> RoofsMeasured:
    return RoofsMeasured(device=device, device_kind="cpu", roofs=roofs, **more)  # type: ignore[arg-type]


def started(device: str = "cpu:0", *dtypes: RoofDtype) -> Roofs:
    """The measuring of roofs begins."""
    return Roofs(device=device, dtypes=dtypes or (F32,))


# What is known.


def after(*events: Event | Roofs, state: State = EMPTY) -> State:
    for event in events:
        if isinstance(event, Roofs):
            state, event = begin_run(state, 7, "roofs", event), RunStarted()
        state = reduce(state, Envelope(generation=0, run=7, event=event))
    return state


def heights(state: State, device: str = "cpu:0") -> list[float]:
    roofs = roofline.of_device(state, device)
    return [] if roofs is None else [one.per_second for one in roofs.roofs]


WHOLE = (started(), measured(roof(None, 12e9), roof(F32, 95e9)), COMPLETE)


def test_roofs_are_known_as_soon_as_they_are_found() -> None:
    state = after(started(), RoofMeasured(roof=roof(None, 10e9)))
    assert roofline.is_measured(state, "cpu:0")
    assert heights(state) == [10e9]
    better = (RoofMeasured(roof=roof(None, 11e9)), RoofMeasured(roof=roof(F32, 90e9)))
    state = after(*better, state=state)
    assert heights(state) == [11e9, 90e9]
    state = after(*WHOLE[1:], state=state)
    assert heights(state) == [12e9, 95e9]
    assert not roofline.is_measured(state, "cpu:0")


def test_half_a_measuring_does_not_replace_a_whole_one() -> None:
    state = after(*WHOLE, started(), RoofMeasured(roof=roof(None, 5e9)))
    assert heights(state) == [5e9, 95e9]
    state = after(FAILED, COMPLETE, state=state)
    assert heights(state) == [12e9, 95e9]
    partly = (started(), measured(roof(None, 5e9), roof(BF16, 30e9)), STOPPED)
    assert sorted(heights(after(*partly, state=state))) == [12e9, 30e9, 95e9]


def test_dtypes_of_several_runs_stay_together() -> None:
    none = MissingRoof(of=BF16, why="no")
    first = measured(roof(None, 12e9), roof(F32, 95e9), missing=(none,))
    second = measured(roof(None, 13e9), roof(BF16, 30e9))
    state = after(started(), first, COMPLETE, started("cpu:0", BF16), second, COMPLETE)
    assert heights(state) == [13e9, 95e9, 30e9]
    assert roofline.of_device(state, "cpu:0").missing == ()  # type: ignore[union-attr]


def test_cpu_devices_are_one_and_each_accelerator_has_its_own() -> None:
    state = after(*WHOLE)
    assert heights(state, "cpu:3") == [12e9, 95e9]
    for device, height in (("tpu:0", 800e9), ("tpu:1", 700e9)):
        assert heights(state, device) == []
        event = measured(roof(None, height), device=device)
        state = after(started(device), event, COMPLETE, state=state)
    assert heights(state, "tpu:0") == [800e9]
    assert heights(state, "tpu:1") == [700e9]


@pytest.mark.parametrize(
    ("events", "words", "known"),
    [
        (WHOLE, "Roofs of cpu:0: 12.0 GB/s, 95.0 GFLOP/s float32.", [12e9, 95e9]),
        (
            (started(), RoofMeasured(roof=MEMORY), STOPPED),
            "Stopped; the roofs that were found stay. z measures the roofs of cpu:0 "
            "again.",
            [20e9],
        ),
        (
            (started(), STOPPED),
            "Stopped; no roof was found. z measures the roofs of cpu:0 again.",
            [],
        ),
        (
            (started(), FAILED, COMPLETE),
            "The roofs of cpu:0 could not be measured. It broke. Mend it.",
            [],
        ),
        # Another measuring forgets the failure.
        ((started(), FAILED, COMPLETE, started()), "", []),
        # Nothing is known of what an engine measured when it died.
        (
            (started(), RoofMeasured(roof=ARITHMETIC), FAILED, CRASHED),
            "Incomplete: no new roofs of cpu:0. It broke. Mend it.",
            [],
        ),
    ],
)
def test_what_became_of_measuring(
    events: tuple[Event, ...], words: str, known: list[float]
) -> None:
    state = after(*events)
    assert roofline.message(state) == words
    assert heights(state) == known
    assert status.message(state) == (words or "starting")


def test_they_last_as_long_as_the_devices() -> None:
    def ready(state: State, *devices: object) -> State:
        event = Ready(host=HOST, devices=devices, ops=OPS)  # type: ignore[arg-type]
        return reduce(state, Envelope(generation=1, run=None, event=event))

    (cpu,) = cpu_devices()
    state = after(*WHOLE, state=ready(EMPTY, cpu))
    more = msgspec.structs.replace(cpu, memory={"bytes_in_use": 10})
    assert ready(state, more).roofs
    assert ready(state, *cpu_devices(2)).roofs == ()
    assert ready(state, *tpu_devices()).roofs == ()


# What is asked for.


def case(device: str = "cpu:0", dtype: str = "float32") -> Case:
    host = device == "host"
    mode = "numpy" if host else "jit"
    return records.case(mode, op="matmul", device=device, dtype=dtype)  # type: ignore[arg-type]


def run_of(*cases: Case, selected: int = 0, state: State = EMPTY) -> State:
    job = Job(number=1, cases=tuple(map(CaseState, cases)))
    jobs = {**state.jobs, "bench": job}
    return replace(state, jobs=jobs, picked=(1, selected), ops=OPS)


@pytest.mark.parametrize(
    ("devices", "selected", "device"),
    [
        (("tpu:0", "tpu:1"), 1, "tpu:1"),
        (("host", "tpu:1"), 0, "tpu:1"),
        (("host",), 0, "cpu:0"),
    ],
)
def test_the_device_is_that_of_the_selected_case(
    devices: tuple[str, ...], selected: int, device: str
) -> None:
    state = run_of(*map(case, devices), selected=selected)
    assert roofline.device(state) == device


def test_only_what_is_not_known_and_can_be_had_is_asked() -> None:
    cases = [case(), case("host"), case(dtype="bfloat16"), case("tpu:0")]

    def wanted(cases: list[Case], state: State = EMPTY) -> tuple[RoofDtype, ...]:
        return roofline.work_for(run_of(*cases, state=state), "cpu:0").dtypes

    assert wanted(cases) == (F32, BF16)
    assert wanted(cases, after(*WHOLE)) == (BF16,)
    # Where nothing is new, all of it again.
    assert wanted(cases[:2], after(*WHOLE)) == (F32,)
    none = measured(roof(None, 12e9), missing=(MissingRoof(of=F32, why="no"),))
    assert wanted(cases, after(started(), none, COMPLETE)) == (BF16,)


# What a row says.


def row(figures: CaseState, cache: int | None = None) -> dict[str, str]:
    """Of a case under both roofs."""
    roofs = measured(MEMORY, ARITHMETIC, cache_bytes=cache)
    run = Job(number=1, cases=(figures,))
    state = State(jobs={"bench": run}, roofs=(roofs,), view="roofline")
    columns = roofline.columns(state, room=8)
    return {column.key: text.plain(column.cells[0]) for column in columns}


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
    figures = records.measurement(case(), flops=2e6, bytes=12e6, flops_per_second=rate)
    found = row(CaseState(case(), measurement=figures), cache)
    assert (found["letter"], found["limit"]) == ("A", limited)
    assert found["share"] == f"{100 * rate * 6 / 20e9:.0f} %"


@pytest.mark.parametrize(("mode", "role"), [("numpy", "bar-numpy"), ("jit", "bar-jax")])
def test_a_bar_has_the_colour_of_what_ran(mode: Mode, role: str) -> None:
    one = msgspec.structs.replace(case(), mode=mode)
    run = Job(number=1, cases=(CaseState(one, measurement=records.measurement(one)),))
    roofs = measured(MEMORY, ARITHMETIC)
    state = State(jobs={"bench": run}, roofs=(roofs,), view="roofline")
    (bar,) = (one for one in roofline.columns(state, room=8) if one.key == "bar")
    assert [span.role for span in bar.cells[0]] == [role]


def test_a_row_without_figures_says_what_goes_on() -> None:
    failure = Failure(case=case(), error="No memory.", hint="")
    found = row(CaseState(case(), status="failed", failure=failure))
    assert (found["letter"], found["limit"]) == ("", "failed")


def test_what_has_no_place_says_why() -> None:
    rated = {"flops": 2e9, "bytes": 3e6, "flops_per_second": 1e12}
    cases = [
        CaseState(one, measurement=records.measurement(one, **rated))
        for one in (case("tpu:0", "bfloat16"), case("host"))
    ]
    missing = (MissingRoof(of=BF16, why="XLA refused it."),)
    roofs = measured(MEMORY, device="tpu:0", missing=missing)
    for index, words in enumerate(
        ("XLA refused it.", "It ran on the host; these roofs are those of tpu:0.")
    ):
        run = Job(number=1, cases=tuple(cases))
        state = State(jobs={"bench": run}, roofs=(roofs,), picked=(1, index))
        assert words in roofline.sentences(state)[0].text


# On screen.


def quiet_engine() -> FakeEngine:
    """One that plays experiments, and of roofs says only what the test emits."""
    engine = FakeEngine()
    engine.answer_others(lambda work: ())
    return engine


def asked(engine: FakeEngine) -> Roofs:
    work = engine.works[-1]
    assert isinstance(work, Roofs)
    return work


def plot(app: JaxtuiApp) -> str:
    return app.query_one("#bench-plot", PlotView).text


def notes(app: JaxtuiApp) -> str:
    return plain(app, "#notes")


async def run(
    pilot: Pilot[None], app: JaxtuiApp, modes: tuple[str, ...] = ("jit",)
) -> None:
    """A run of a matrix product, in the tab Bench."""
    await until_ready(pilot, app)
    await pilot.press("2")
    await until(pilot, lambda: app.tab == "bench" and app.query(CaseForm))
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
    engine.emit_run(RunStarted())


async def test_the_roofs_grow_and_the_verdict_stands_below() -> None:
    engine = quiet_engine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2", "escape")
        app.query_one(BenchPane).perform("roofs")
        await until(pilot, lambda: "Run something first" in app.state.message)
        await run(pilot, app)
        await ask(pilot, app, engine)
        assert asked(engine) == Roofs(device="cpu:0", dtypes=(F32,))
        app.query_one(BenchPane).perform("roofs")
        await until(pilot, lambda: "A run is in progress" in app.state.message)
        app.session.say("")
        engine.emit_run(
            Progress(
                elapsed_seconds=1.0, remaining_seconds=9.0, doing="copying 512 MB"
            ),
        )
        await until(pilot, lambda: "copying 512 MB" in lines(app))
        assert "being measured" in lines(app)
        engine.emit_run(RoofMeasured(roof=MEMORY))
        await until(pilot, lambda: "20.0 GB/s" in plot(app))
        assert "its roofs are still being measured" in notes(app)
        engine.emit_run(RoofMeasured(roof=ARITHMETIC))
        await until(pilot, lambda: "float32 2.00 TFLOP/s" in plot(app))
        engine.emit_run(measured(MEMORY, ARITHMETIC), COMPLETE)
        await until(pilot, lambda: not app.state.running)
        await pilot.pause()
        assert notes(app).startswith("A: compute bound at 48 % of the roof")
        assert "A: compute bound at 48 % of the roof" in lines(app)
        assert "example.org/chip" in notes(app)
        assert "Roofs of cpu:0: 20.0 GB/s, 2.00 TFLOP/s float32." in lines(app)


async def test_the_selected_case_is_judged_and_the_next_run_too() -> None:
    engine = quiet_engine()
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await run(pilot, app, ("jit", "numpy"))
        await pilot.press("down", "up", "down")
        index = app.session.state.case_index
        assert index > 0
        await ask(pilot, app, engine)
        engine.emit_run(measured(MEMORY, ARITHMETIC), COMPLETE)
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


async def test_a_failure_a_stop_and_a_missing_engine_leave_what_is_known() -> None:
    engine = quiet_engine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await run(pilot, app)
        # A failure is told where the plot would be.
        await ask(pilot, app, engine)
        engine.emit_run(FAILED, COMPLETE)
        await until(pilot, lambda: "It broke. Mend it." in lines(app))
        assert "z measures the roofs of cpu:0" in lines(app)

        # A stop keeps what was found.
        await ask(pilot, app, engine)
        engine.emit_run(RoofMeasured(roof=MEMORY))
        await until(pilot, lambda: "20.0 GB/s" in plot(app))
        await pilot.press("s")
        await until(pilot, lambda: "the roofs that were found stay" in lines(app))
        assert "20.0 GB/s" in plot(app)
        assert "z measures it" in notes(app)

        async def gone(work: Work) -> int:
            raise EngineUnavailableError("The engine could not be started.")

        engine.run = gone  # type: ignore[method-assign]
        await pilot.press("z")
        await until(pilot, lambda: app.state.engine == "failed")
        await until(pilot, lambda: "The engine could not be started." in lines(app))
        assert "20.0 GB/s" in plot(app)
