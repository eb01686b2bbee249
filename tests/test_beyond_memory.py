"""Sizes that no memory holds, in the middle of a sweep: named, and the rest runs."""

from __future__ import annotations

import json

import pytest
from textual.pilot import Pilot

from jaxtui import cli
from jaxtui.engine.client import EngineClient, EngineOptions
from jaxtui.state import Job
from jaxtui.tui import form
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.bench import BenchPane
from tests.tui.driving import app_on, until, until_done, until_ready

SIZES = "1000,1e13,1e4,1e12,1e5"


def test_the_command_names_them_and_runs_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = cli.main(
        [
            *("bench", "triad", "--size", SIZES, "--mode", "jit,numpy"),
            *("--budget", "2", "--cpu-devices", "1", "--json"),
        ]
    )
    assert code == 1
    found = json.loads(capsys.readouterr().out)
    measured = {
        (one["case"]["size"], one["case"]["mode"]) for one in found["measurements"]
    }
    assert measured == {
        (size, mode) for size in (1000, 10_000, 100_000) for mode in ("jit", "numpy")
    }
    said = {
        (one["case"]["size"], one["case"]["mode"]): one["error"]
        for one in found["failures"]
    }
    assert len(said) == 4
    assert said[10**12, "jit"].startswith(
        "triad 1000000000000 float32 needs 25.5 TiB on"
    )
    assert said[10**13, "numpy"].startswith(
        "triad 10000000000000 float32 needs 327 TiB"
    )
    assert all("are free" in error for error in said.values())


async def run_to_its_end(pilot: Pilot[None], app: JaxtuiApp) -> Job:
    """What the form says; that it runs may be over by the first look."""
    before = app.state.run and app.state.run.number
    await until(pilot, lambda: app.query_one(BenchPane).why_not("run") is None)
    await pilot.press("f5")
    await until(pilot, lambda: app.state.run and app.state.run.number != before)
    await until_done(pilot, app)
    assert app.state.run is not None
    return app.state.run


async def test_the_app_does_the_same_and_goes_on() -> None:
    engine = EngineClient(EngineOptions(cpu_devices=1))
    app = app_on(engine)  # type: ignore[arg-type]
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            await until_ready(pilot, app)
            await pilot.press("2")
            await until(pilot, lambda: app.pane(BenchPane) and app.focused)
            app.query_one(BenchPane).to_form(
                form.Values(
                    op="triad",
                    sizes=SIZES,
                    devices=("cpu:0",),
                    modes=("jit",),
                    budget="1.5",
                )
            )
            await pilot.pause()
            for _ in range(2):
                run = await run_to_its_end(pilot, app)
                by_size = {one.case.size: one for one in run.cases}
                for size in (1000, 10_000, 100_000):
                    assert by_size[size].measurement
                for size in (10**12, 10**13):
                    failure = by_size[size].failure
                    assert failure is not None
                    assert "are free" in failure.error
    finally:
        await engine.close()
