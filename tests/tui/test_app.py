"""The app on a fake engine: keys in, snapshots and screens out."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.table import Table
from textual.app import ComposeResult
from textual.widgets import Input, Static, TabbedContent

from jaxtui.model import CaseFailed, Failure, Logged
from jaxtui.tui import bindings, themes
from jaxtui.tui.actions import TABS
from jaxtui.tui.app import JaxtuiApp, TooSmall
from jaxtui.tui.screens.code import CodeScreen
from jaxtui.tui.screens.help import HelpScreen, on_tab
from jaxtui.tui.screens.help import sections as help_sections
from jaxtui.tui.widgets.bench_pane import BenchPane, LogPanel
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.detail_pane import DetailPane
from jaxtui.tui.widgets.device_table import DeviceTable
from jaxtui.tui.widgets.plot_view import PlotView
from jaxtui.tui.widgets.readout_panel import OfferLine, ReadoutPanel
from jaxtui.tui.widgets.results_table import ResultsTable
from jaxtui.tui.widgets.status_line import MessageLine, StatusLine
from tests.tui.driving import app_on, until, until_done, until_ready
from tests.tui.fake_engine import FakeEngine, cpu_devices, sampled, tpu_devices

NARROW, WIDE = (80, 24), (120, 40)


def shown(app: JaxtuiApp, kind: type) -> str:
    return app.query_one(kind).render().plain  # type: ignore[no-any-return]


async def test_first_frame_does_not_wait_for_jax_nor_for_who_holds_it() -> None:
    engine = FakeEngine(ready=False)
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.pause()
        assert "starting JAX" in shown(app, StatusLine)
        assert "as soon as JAX is ready" in shown(app, OfferLine)

        # Held by another: who it is, and it can be tried again.
        engine.held()
        await until(pilot, lambda: app.state.engine == "failed")
        facts = app.query_one("#facts", Static)
        await until(pilot, lambda: "process 4242" in str(facts.content))
        assert "python train.py" in str(facts.content)
        await pilot.press("enter")
        await pilot.pause()
        assert "run" not in engine.calls
        await pilot.press("R")
        engine.become_ready()
        await until_ready(pilot, app)
        assert "CPU only" in shown(app, StatusLine)
        engine.devices = cpu_devices(4, simulated=True)
        engine.become_ready()
        await until(pilot, lambda: "SIMULATED" in shown(app, StatusLine))


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_the_first_minute(size: tuple[int, int]) -> None:
    app = app_on(FakeEngine(tpu_devices()))
    async with app.run_test(size=size) as pilot:
        await until_ready(pilot, app)
        assert "matmul 8192 bfloat16 jit on tpu:0" in shown(app, OfferLine)
        # Details fill the room until there are results.
        facts = app.query_one("#facts", Static)
        await until(pilot, lambda: "v5litepod-8" in str(facts.content))
        assert "bytes_limit" in str(facts.content)
        offer_is_in_view(app)

        await pilot.press("enter")
        await until_done(pilot, app)
        await pilot.pause()
        offer_is_in_view(app)
        text = shown(app, ReadoutPanel)
        labels = [line[:14].strip() for line in text.splitlines()]
        assert labels == ["stopwatch says", "truth", "first call", "NumPy float32"]
        assert "IMPOSSIBLE, peak 197 TFLOP/s" in text
        assert "JAX pays" in text
        plot = app.query_one("#first-plot", PlotView)
        assert plot.size.height >= 8
        assert "dispatch" in plot.text
        pane = app.query_one(DetailPane)
        if size == WIDE:
            assert pane.display
        else:
            await until(pilot, lambda: not pane.display)
            await pilot.press("d")
            await until(pilot, lambda: pane.display)
            await pilot.press("d")
            await until(pilot, lambda: not pane.display)

        # Table and map move together.
        await pilot.press("down", "down")
        await until(pilot, lambda: app.state.cursor == "tpu:2")
        app.query_one(ChipMap).focus()
        await pilot.press("down")
        await until(pilot, lambda: app.state.cursor == "tpu:6")
        assert app.query_one(DeviceTable).cursor_row == 6
        assert "on tpu:6" in shown(app, OfferLine)

        # The form takes the case.
        await pilot.press("e")
        await until(pilot, lambda: app.query_one(TabbedContent).active == "bench")
        assert app.query_one("#sizes", Input).value == "8192"


def offer_is_in_view(app: JaxtuiApp) -> None:
    region = app.query_one(OfferLine).region
    assert app.screen.region.contains_region(region)
    assert region.height == 1


async def test_bench_fills_rows_metrics_go_round_and_the_log_is_read() -> None:
    engine = FakeEngine(tpu_devices())
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2", "f5")
        await until_done(pilot, app)
        cases = engine.experiments[0].cases
        table = app.query_one(ResultsTable)
        await until(pilot, lambda: table.row_count == len(cases))
        plot = app.query_one("#bench-plot", PlotView)
        assert "over size" in plot.text
        assert str(table.get_cell("1", "× numpy")).strip().endswith("×")

        titles = []
        for metric in ("flops", "bytes", "peak", "numpy", "time"):
            await pilot.press("m")
            await until(pilot, lambda metric=metric: app.state.metric == metric)
            titles.append(plot.text.split()[0])
        assert titles == ["FLOP/s", "bytes/s", "%", "×", "ready"]

        # The log is written only while it is in view.
        engine.emit(Logged(line="from XLA [bracketed]"))
        await until(pilot, lambda: app.state.log)
        log = app.query_one(LogPanel)
        assert not log.lines
        await pilot.press("l")
        await until(pilot, lambda: log.lines)
        assert "from XLA [bracketed]" in log.lines[0].text


async def test_one_run_at_a_time_and_what_had_arrived_stays() -> None:
    engine = FakeEngine(scripted=False)
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        await pilot.pause()
        assert shown(app, OfferLine).startswith("RUNNING matmul 1000")
        await pilot.press("enter")
        await until(pilot, lambda: "stop it first" in app.state.message)
        assert engine.calls.count("run") == 1
        engine.emit_run(sampled(0, engine.experiments[0].cases[0], 0))
        await pilot.press("s")
        await until_done(pilot, app)
        await pilot.pause()
        assert "stop" in engine.calls
        assert app.state.run is not None
        assert app.state.run.outcome == "cancelled"
        assert app.state.run.cases[0].ready.points
        assert shown(app, OfferLine).startswith("ENTER:")

        # The death of the engine is said.
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        engine.emit_run(sampled(0, engine.experiments[1].cases[0], 0))
        engine.die()
        await until(pilot, lambda: "killed" in shown(app, MessageLine))
        assert app.state.run.number == 2
        assert app.state.run.cases[0].ready.points
        engine.become_ready()
        await until(pilot, lambda: app.state.generation == 2)


@pytest.mark.parametrize("hold", [False, True])
async def test_the_accelerator_is_freed_by_a_key_and_by_idle_time(hold: bool) -> None:
    now = [0.0]
    engine = FakeEngine(tpu_devices())
    app = app_on(engine, hold=hold, clock=lambda: now[0])
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        now[0] = 599.0
        app.release_if_idle()
        await pilot.pause()
        assert app.state.engine == "ready"
        now[0] = 601.0
        app.release_if_idle()
        if hold:
            await pilot.pause()
            assert "release" not in engine.calls
            await pilot.press("x")
        await until(pilot, lambda: app.state.engine == "released")
        assert ("ten minutes" in app.state.message) is not hold
        assert "released" in shown(app, StatusLine)
        assert "HOLDING" not in shown(app, StatusLine)
        # The next run takes it again.
        await pilot.press("enter")
        await until_done(pilot, app)
        assert engine.calls.count("start") == 2
        assert "HOLDING TPU (x frees)" in shown(app, StatusLine)


async def test_after_its_last_death_a_key_brings_the_engine_back() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        for deaths, key in enumerate(("enter", "r", "c", "w", "R"), start=1):
            engine.die(restarts=False)
            await until(pilot, lambda: app.state.engine == "failed")
            runs = engine.calls.count("run")
            await pilot.press(key)
            await until(pilot, lambda: engine.calls.count("start") == 1 + deaths)  # noqa: B023
            await until(pilot, lambda: app.state.engine in ("ready", "running"))
            assert app.state.failed is None
            if key != "R":
                await until(pilot, lambda: engine.calls.count("run") > runs)  # noqa: B023
                await until(pilot, lambda: not app.state.busy)


async def test_a_failed_case_is_a_row_with_its_error() -> None:
    engine = FakeEngine(scripted=False)
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2", "r")
        await until(pilot, lambda: app.state.running)
        failure = Failure(
            case=engine.experiments[0].cases[1],
            error="It needs 40 GiB and there are 16.",
            hint="Choose a smaller size.",
        )
        engine.emit_run(CaseFailed(index=1, failure=failure))
        table = app.query_one(ResultsTable)
        await until(
            pilot,
            lambda: table.row_count and "not run" in str(table.get_cell("1", "ready")),
        )
        notes = app.query_one("#notes", Static)
        await until(pilot, lambda: "Choose a smaller" in str(notes.content))


async def test_code_and_results_are_kept_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen))
        await pilot.press("y")
        await until(pilot, lambda: list(tmp_path.iterdir()))
        (written,) = tmp_path.iterdir()
        assert written.read_text().startswith("# ")
        assert str(written) in app.state.message
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, CodeScreen))
        written.unlink()
        await pilot.press("enter")
        await until_done(pilot, app)
        await pilot.press("y")
        await until(pilot, lambda: list(tmp_path.iterdir()))
        (written,) = tmp_path.iterdir()
        assert "matmul 1000 float32 jit on cpu:0" in written.read_text()


async def test_every_binding_is_in_palette_and_help() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(120, 60)) as pilot:
        await until_ready(pilot, app)
        offered = {command.help for command in app.get_system_commands(app.screen)}
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await until(pilot, lambda: app.screen.query(Static))
        tables = [one.content for one in app.screen.query(Static)]
        text = "\n".join(
            cell
            for table in tables
            if isinstance(table, Table)
            for cell in map(str, table.columns[1].cells)
        )
        for command in bindings.COMMANDS:
            assert any(command.description in help_ for help_ in offered), command.id
            assert command.description in text, command.id
        await pilot.press("escape", "ctrl+c")
    assert app.return_code == 130


@pytest.mark.parametrize("tab", TABS)
def test_help_begins_with_the_keys_of_the_tab(tab: str) -> None:
    found = help_sections(on_tab(tab))
    assert next(iter(found)) == on_tab(tab)
    assert all(tab in command.tabs for command in found[on_tab(tab)])
    shown = {command.id for commands in found.values() for command in commands}
    assert shown == {command.id for command in bindings.ALL}


@pytest.mark.parametrize("tab", TABS)
def test_no_key_means_two_things_on_one_tab(tab: str) -> None:
    here = [one for one in bindings.COMMANDS if not one.tabs or tab in one.tabs]
    keys = [key for command in here for key in command.keys.split(",")]
    assert len(keys) == len(set(keys))


def test_letters_and_digits_have_a_twin() -> None:
    for command in bindings.COMMANDS:
        names = command.keys.split(",")
        if any(len(name) == 1 for name in names):
            assert any(len(name) > 1 for name in names), command.id


def test_every_command_has_an_action() -> None:
    for command in bindings.COMMANDS:
        name = command.action.partition("(")[0]
        assert hasattr(JaxtuiApp, f"action_{name}"), command.id


async def test_what_cannot_be_done_themes_a_small_screen_and_ctrl_c() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        app.perform("stop")
        await until(pilot, lambda: app.state.message == "Nothing is running.")
        assert app.check_action("stop", ()) is None
        assert app.check_action("metric", ()) is False

        focused = app.focused
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: isinstance(app.screen, TooSmall))
        assert "60×15" in str(app.screen.query_one(Static).content)
        await pilot.resize_terminal(1, 1)
        await pilot.resize_terminal(*NARROW)
        await until(pilot, lambda: not isinstance(app.screen, TooSmall))
        assert app.focused is focused

        # Themes go round, and the projector toggles.
        seen = [app.theme]
        for _ in range(3):
            await pilot.press("t")
            seen.append(app.theme)
        assert seen == [themes.DARK, themes.LIGHT, themes.PROJECTOR, themes.DARK]
        await pilot.press("p")
        assert app.theme == themes.PROJECTOR

        # Phases are toggled where there is no room.
        await pilot.press("2")
        panel = app.query_one("PhasePanel")
        assert not panel.display
        await pilot.press("b")
        await until(pilot, lambda: panel.display)

        # Also from an input.
        app.query_one("#sizes").focus()
        await pilot.press("ctrl+c")
    assert app.return_code == 130


async def test_sweep_times_the_case_over_sizes() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("w")
        await until_done(pilot, app)
        sizes = {case.size for case in engine.experiments[0].cases}
        assert sizes == {125, 250, 500, 1000}
        await pilot.press("q")
    assert (app.return_code or 0) == 0


async def test_leaving_while_the_tab_bench_is_being_filled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = app_on(FakeEngine())
    compose = BenchPane.compose

    def leave_first(pane: BenchPane) -> ComposeResult:
        app.exit(return_code=143)
        return compose(pane)

    monkeypatch.setattr(BenchPane, "compose", leave_first)
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: not app.is_running or app.return_code)
    assert (app.return_code, app.crash) == (143, None)
