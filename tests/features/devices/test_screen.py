"""The tab Devices: what there is, the first minute, and what its keys act on."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from textual.widgets import Input

from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    Event,
    Experiment,
    Failure,
    Noticed,
    Progress,
    RunFinished,
)
from jaxtui.core.state import RUNNING
from jaxtui.features.devices.screen import DevicesPane, FirstMinute
from jaxtui.machine import topologies
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.state import EMPTY
from jaxtui.ui.app.status import MessageLine, StatusLine
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.chip_map import ChipMap
from jaxtui.ui.widgets.device_table import DeviceTable
from jaxtui.ui.words import text
from tests import records
from tests.core.figures import crowded
from tests.fake_engine import (
    FakeEngine,
    began,
    begun,
    cpu_devices,
    sampled,
    tpu_devices,
    up,
)
from tests.records import summary, told
from tests.ui.app.driving import (
    app_on,
    border,
    opened,
    plain,
    until,
    until_done,
    until_ready,
)
from tests.ui.commands.fakes import complete

NARROW, WIDE, SMALL = (80, 24), (120, 40), (60, 15)


def words(app: JaxtuiApp) -> str:
    return app.query_one(FirstMinute).text


def facts(app: JaxtuiApp) -> str:
    return app.query_one("#facts", Sheet).text


async def test_first_frame_does_not_wait_for_jax_nor_for_who_holds_it() -> None:
    engine = FakeEngine(opening=up()[:1], devices=cpu_devices())
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.pause()
        # Details without a device would be an empty panel.
        await pilot.resize_terminal(*WIDE)
        await pilot.pause()
        assert not app.query_one("#details-panel").display
        await pilot.resize_terminal(*NARROW)
        app.query_one(DevicesPane).perform("check('quick')")
        assert app.session.state.message
        assert engine.works == []
        finding = told("The disk is full.", severity="warning")
        engine.emit(Noticed(findings=(finding,)))
        await until(pilot, lambda: "disk is full" in words(app))
        # The details say it first, and the panel beside them not once more.
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: "disk is full" not in words(app))
        assert "disk is full" in facts(app)
        await pilot.resize_terminal(*NARROW)
        await until(pilot, lambda: "disk is full" in words(app))

        # Held by another: who it is, and it can be tried again.
        engine.held()
        await until(pilot, lambda: app.state.engine == "failed")
        await until(pilot, lambda: "process 4242" in words(app))
        assert "python train.py" in words(app)
        await pilot.press("enter")
        await pilot.pause()
        assert "run" not in engine.calls
        await pilot.press("R")
        engine.become_ready()
        await until_ready(pilot, app)
        # One device without a place: what machine it is stands below it.
        machine = app.query_one("#machine", Sheet)
        await until(pilot, lambda: "AMD EPYC 7B12" in machine.text)
        assert not app.query_one("#map-panel").display
        engine.devices = cpu_devices(4, simulated=True)
        engine.become_ready()
        await until(pilot, lambda: "SIMULATED" in plain(app, StatusLine))
        await until(pilot, lambda: "SIMULATED" in app.query_one(ChipMap).text)


async def test_the_first_minute_in_a_small_terminal() -> None:
    async with opened(FakeEngine(devices=tpu_devices()), size=SMALL) as (pilot, app):
        table = app.query_one(DeviceTable)
        await pilot.press("enter")
        await until(pilot, lambda: "IMPOSSIBLE" in words(app))
        names = [line.split()[0] for line in words(app).splitlines()]
        assert names == ["stopwatch", "truth", "NumPy", "first"]
        assert not app.query_one("#first-factor").display
        assert not app.query_one("#first-plot").display
        assert table.virtual_size.width <= table.size.width
        assert table.size.height >= 2
        assert app.screen.region.contains_region(app.query_one(FirstMinute).region)


async def test_details_and_another_device() -> None:
    async with opened(FakeEngine(devices=tpu_devices()), size=WIDE) as (pilot, app):
        await pilot.press("enter")
        await until_done(pilot, app)
        await until(pilot, lambda: "dispatch" in app.query_one("#first-plot").text)  # type: ignore[attr-defined]
        details = app.query_one("#details-panel")
        assert details.display
        for _ in range(2):
            before = details.display
            await pilot.press("d")
            await until(pilot, lambda before=before: details.display != before)

        # Table and map move together; there are no figures of another device.
        await pilot.press("down", "down")
        await until(pilot, lambda: app.state.cursor == "tpu:2")
        app.query_one(ChipMap).focus()
        await pilot.press("down")
        await until(pilot, lambda: app.state.cursor == "tpu:6")
        assert app.query_one(DeviceTable).cursor_row == 6
        await until(pilot, lambda: "jit on tpu:6" in words(app))

        # The form takes the case that the panel names.
        await pilot.press("e")
        await until(pilot, lambda: app.tab == "bench" and app.query("#sizes"))
        assert app.query_one("#sizes", Input).value == "8192"


@pytest.mark.parametrize("size", [NARROW, SMALL])
async def test_a_busy_machine_stands_below_its_figures(size: tuple[int, int]) -> None:
    def busy(experiment: Experiment) -> Sequence[Event]:
        return complete(experiment, notes=(crowded(),))

    async with opened(FakeEngine(busy), size=size) as (pilot, app):
        await pilot.press("enter")
        await until_done(pilot, app)
        note = "busy machine  other programs took 1.5 of 2 cores"
        await until(pilot, lambda: (note in words(app)) is (size != SMALL))


async def test_a_first_minute_that_shows_nothing_is_run_with_a_larger_product() -> None:
    sizes = []

    def small(experiment: Experiment) -> Sequence[Event]:
        sizes.append(experiment.cases[0].size)
        quick = 1e-3 if len(sizes) == 1 else 10e-3
        measured = [
            CaseMeasured(
                index=index,
                measurement=records.measurement(
                    case, quick, dispatch=None if case.on_host else summary(1e-4)
                ),
            )
            for index, case in enumerate(experiment.cases)
        ]
        ended = RunFinished(outcome="complete", elapsed_seconds=1.0)
        return [began(experiment), *measured, ended]

    async with opened(FakeEngine(small)) as (pilot, app):
        await pilot.press("enter")
        await until(pilot, lambda: "matmul 1500" in border(app, "#first-minute")[0])
        await until_done(pilot, app)
        assert sizes == [1000, 1500]


def test_a_key_that_means_nothing_yet_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DevicesPane, "session", SimpleNamespace(state=EMPTY))
    actions = (
        *("run", "check", "sweep", "program", "edit", "timeline", "code", "export"),
        *("back", "copy", "details", "recorded"),
    )
    refused = {action for action in actions if DevicesPane().why_not(action)}
    assert refused == {*actions} - {"details", "recorded"}


async def test_one_run_at_a_time_and_what_had_arrived_stays() -> None:
    engine = FakeEngine(begun)
    async with opened(engine) as (pilot, app):
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        await pilot.press("enter")
        await until(pilot, lambda: app.state.message == text(RUNNING))
        assert engine.calls.count("run") == 1
        case = engine.experiments[0].cases[0]
        engine.emit_run(sampled(0, case, 0))
        await pilot.press("s")
        await until_done(pilot, app)
        assert "stop" in engine.calls
        assert app.state.run is not None
        assert app.state.run.outcome == "cancelled"
        assert app.state.run.cases[0].ready.points

        # An error has room, whole.
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        lines = "\n".join(f"line {n}" for n in range(9))
        remark = told("It needs 40 GiB [sic].", "Choose a smaller size.", lines)
        failure = Failure(case=case, remark=remark)
        engine.emit_run(CaseFailed(index=0, failure=failure))
        await until(pilot, lambda: "line 8" in words(app))
        assert words(app).startswith("It needs 40 GiB [sic].\nChoose")


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_many_devices_and_processes_fit(size: tuple[int, int]) -> None:
    engine = FakeEngine(devices=topologies.devices("v3-32"))
    async with opened(engine, size=size) as (pilot, app):
        await pilot.pause()
        table, first = app.query_one(DeviceTable), app.query_one(FirstMinute)
        assert table.row_count == 32
        assert table.virtual_size.width <= table.size.width
        assert first.size.height >= 3
        chips = app.query_one(ChipMap)
        if size == SMALL:
            assert not app.query_one("#map-panel").display
            return
        assert chips.virtual_size.width <= chips.size.width
        assert border(app, "#map-panel")[0] == "map · by process"
        chips.focus()
        await pilot.press("right", "right", "down")
        await until(pilot, lambda: app.state.cursor not in (None, "tpu:2"))


async def test_what_goes_on_past_its_budget_never_looks_done() -> None:
    now = [0.0]
    engine = FakeEngine(begun)
    app = app_on(engine, clock=lambda: now[0])

    def shown() -> str:
        return f"{plain(app, StatusLine)}\n{words(app)}"

    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        assert "left" not in plain(app, StatusLine)
        facts = {"elapsed_seconds": 9.6, "doing": "compile: matmul 8192"}
        engine.emit_run(Progress(remaining_seconds=0.4, **facts))  # type: ignore[arg-type]
        now[0] = 9.6
        await until(pilot, lambda: shown().count("0:01 left") == 2)
        engine.emit_run(Progress(remaining_seconds=0.0, **facts))  # type: ignore[arg-type]
        await until(pilot, lambda: shown().count("overdue") == 2)
        assert "█" not in words(app).split("running")[1].splitlines()[0]
        assert plain(app, MessageLine) == "compile: matmul 8192"
