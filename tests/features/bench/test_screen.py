"""The tab Bench: what its keys act on, its form, its plot and its results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Button, Input, Label

from jaxtui.core.model import (
    CaseFailed,
    Event,
    Failure,
    Inspection,
    Logged,
    RunFinished,
    Work,
)
from jaxtui.features.bench.choices import view_of
from jaxtui.features.bench.form import CaseForm
from jaxtui.features.bench.results_table import LogPanel, ResultsTable
from jaxtui.features.bench.screen import BenchPane
from jaxtui.features.bench.values import of_case
from jaxtui.ui.app import status
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.dialogs import CodeScreen, NotesScreen, Question
from jaxtui.ui.app.status import StatusLine
from jaxtui.ui.widgets.keys_line import KeysLine
from jaxtui.ui.widgets.plot_view import PlotReader
from tests.fake_engine import FakeEngine, begun, sampled, tpu_devices
from tests.processes import LIMIT_SECONDS
from tests.records import told
from tests.ui.app.driving import (
    app_on,
    border,
    lines,
    plain,
    until,
    until_done,
    until_ready,
)

NARROWEST, NARROW, WIDE = (60, 15), (80, 24), (120, 40)

MANY = "1..1e6x1.3"
"""Sizes: just more, with two modes, than are started without asking."""

App = tuple[JaxtuiApp, "Pilot[None]"]


@asynccontextmanager
async def on_bench(
    engine: FakeEngine | None = None, size: tuple[int, int] = NARROW
) -> AsyncIterator[App]:
    """The app with the tab in view."""
    app = app_on(engine or FakeEngine(devices=tpu_devices()))
    async with app.run_test(size=size) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2")
        await until(pilot, lambda: app.tab == "bench" and app.focused is not None)
        yield app, pilot


@asynccontextmanager
async def ran(
    engine: FakeEngine | None = None, size: tuple[int, int] = NARROW
) -> AsyncIterator[App]:
    """After a run of the form as it comes: 256 to 2048, NumPy and jit."""
    async with on_bench(engine, size) as (app, pilot):
        await pilot.press("r")
        await until_done(pilot, app)
        await until(pilot, lambda: isinstance(app.focused, ResultsTable))
        yield app, pilot


def verdict(app: JaxtuiApp) -> str:
    return plain(app, "#meaning")


def in_sight(app: JaxtuiApp, selector: str) -> bool:
    region = app.query_one(selector).region
    return region.area > 0 and app.screen.region.contains_region(region)


# What the keys act on.


async def test_keys_act_on_the_edited_form_or_else_on_the_selected_row() -> None:
    engine = FakeEngine(devices=tpu_devices())
    async with ran(engine, WIDE) as (app, pilot):
        form_widget = app.query_one(CaseForm)
        finished = RunFinished(outcome="complete", elapsed_seconds=1.0)
        engine.answer_others(lambda work: [finished])
        assert form_widget.folded
        assert "a calls" in border(app, "#results-panel")[1]
        await pilot.press("down", "h")
        await until(pilot, lambda: isinstance(engine.works[-1], Inspection))
        assert engine.works[-1].case.size == app.session.state.case.case.size  # type: ignore[union-attr]
        await until(pilot, lambda: not app.session.state.running)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)

        # What comes from elsewhere, such as a measurement of the history, and what is
        # typed.
        other = msgspec.structs.replace(engine.experiments[0].cases[1], op="selu")
        values = of_case(msgspec.structs.replace(other, size=77))
        app.call_later(app.to_form, values)
        await until(pilot, lambda: not form_widget.folded)
        await until(pilot, lambda: "selu 77 jit: a calls" in border(app, "CaseForm")[1])
        assert "a calls" not in border(app, "#results-panel")[1]
        app.query_one("#sizes", Input).value = "78"
        app.query_one(ResultsTable).focus()
        await until(pilot, lambda: "selu 78 jit" in border(app, "CaseForm")[1])
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen))
        assert "selu 78 float32 jit" in str(app.screen.query_one("#page").border_title)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        # A new run is shown as fits, whatever was looked at.
        app.session.update(view="roofline")
        app.recording = True
        await pilot.press("w")
        await until(pilot, lambda: len(engine.experiments) == 2)
        assert {case.op for case in engine.experiments[1].cases} == {"selu"}
        # The form says what is run, so the keys are the row's again.
        assert not form_widget.edited
        # Other cases were on the screen.
        history = "The tab History has the run before."
        await until(pilot, lambda: history in str(app.state.message))
        await until_done(pilot, app)
        assert view_of(app.state) == "sweep"


async def test_a_run_that_begins_elsewhere_fills_the_form() -> None:
    engine = FakeEngine(devices=tpu_devices())
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("enter")
        await until_done(pilot, app)
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.focused, ResultsTable))
        experiment = engine.experiments[0]
        widget = app.query_one(CaseForm)
        assert widget.values.sizes == str(experiment.cases[0].size)
        assert widget.meaning.experiment is not None
        assert set(experiment.cases) <= set(widget.meaning.experiment.cases)
        assert not widget.edited
        assert verdict(app).startswith("matmul:8192 · f32,bf16 · numpy,jit")


async def test_several_processes_are_one_run_that_leaves_the_form_alone() -> None:
    engine: Any = FakeEngine(devices=tpu_devices())
    asked, go = asyncio.Event(), asyncio.Event()
    run = engine.run

    async def slow(work: Work) -> int | None:
        if engine.works:
            asked.set()
            await go.wait()
        number: int | None = await run(work)
        return number

    engine.run = slow
    async with on_bench(engine) as (app, pilot):
        now = [0.0]
        line = app.query_one(StatusLine)
        line._clock = lambda: now[0]

        def pass_time(event: Event) -> None:
            if isinstance(event, RunFinished):
                now[0] += event.elapsed_seconds

        app.session.observers.append(pass_time)
        app.query_one("#processes", Input).value = "2"
        app.query_one("#run").focus()
        await pilot.press("enter")
        await asyncio.wait_for(asked.wait(), LIMIT_SECONDS)
        # While the next engine starts, the run goes on, and the form may be edited.
        await until(pilot, lambda: "process 2 of 2" in status.message(app.state, ()))
        assert "stop" in str(app.query_one("#run", Button).label)
        assert "0:04, 0:08 left" in line.render().plain
        await pilot.press("e")
        app.query_one("#sizes", Input).value = "77"
        go.set()
        await until(pilot, lambda: not app.session.state.busy)
        assert app.query_one("#sizes", Input).value == "77"
        assert not app.query_one(CaseForm).folded
        assert [work.processes for work in engine.works] == [2, 2]
        found = app.session.state.run.cases[0].measurement  # type: ignore[union-attr]
        assert found is not None
        assert found.processes is not None
        assert found.processes.n == 2


# The form.


async def test_run_is_always_in_sight_and_the_last_that_tab_reaches() -> None:
    engine = FakeEngine()
    async with on_bench(engine, NARROWEST) as (app, pilot):
        widget = app.query_one(CaseForm)
        matmul, selu = app.state.ops
        more = msgspec.structs.replace(matmul, name="a_long_name_of_an_op")
        widget.state = replace(widget.state, ops=(matmul, selu, more))
        values = replace(widget.values, op=more.name, modes=("jit",))
        widget.fill(values)
        await until(pilot, lambda: in_sight(app, "#run"))
        app.query_one("#op").focus()
        reached = []
        while app.focused is not None and app.focused.id != "run":
            reached.append(app.focused.id)
            await pilot.press("tab")
        assert reached[0] == "op"
        assert {"sizes", "dtypes", "modes", "devices", "budget"} <= set(reached)

        # A problem has room for all of its words, on a screen of the usual size.
        def words() -> str:
            return " ".join(lines(app, "#meaning").split())

        widget.fill(replace(values, sizes="12..x"))
        await until(pilot, lambda: words().startswith('"12..x"'))
        assert app.query_one("#meaning").has_class("-problem")
        assert in_sight(app, "#run")
        await pilot.resize_terminal(*NARROW)
        await until(pilot, lambda: words().endswith("(1000,2000)."))
        assert in_sight(app, "#run")

        # Folded it is a line.
        widget.fill(replace(values, op="matmul"))
        app.query_one("#run").focus()
        await pilot.press("enter")
        await until(pilot, lambda: engine.experiments)
        await until_done(pilot, app)
        await until(pilot, lambda: widget.size.height == 1)
        assert in_sight(app, "#run")


async def test_the_keys_of_an_input_and_what_leaving_it_does() -> None:
    engine = FakeEngine()
    async with on_bench(engine) as (app, pilot):
        sizes = app.query_one("#sizes", Input)
        sizes.focus()
        await until(pilot, lambda: plain(app, KeysLine).startswith("⏎ Run esc Leave"))
        await pilot.press("end", "x")
        await until(pilot, lambda: '"256..2048x" is not a size' in verdict(app))
        for action in ("run", "sweep", "timeline", "program", "code"):
            why = app.query_one(BenchPane).why_not(action)
            assert "not a size" in (why or ""), action
        await pilot.press("question_mark")
        assert "?" in sizes.value
        await pilot.press("backspace", "backspace")
        await until(pilot, lambda: "8 cases" in verdict(app))
        assert not app.query_one("#meaning").has_class("-problem")

        # Nothing is started by leaving a field.
        await pilot.press("escape")
        await until(pilot, lambda: not sizes.has_focus)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert not engine.experiments

        # Enter in an input runs it.
        sizes.focus()
        await pilot.press("enter")
        await until(pilot, lambda: len(engine.experiments) == 1)
        await until_done(pilot, app)
        await until(pilot, lambda: isinstance(app.focused, ResultsTable))
        await pilot.click("#edit")
        await until(pilot, lambda: app.focused is not None and app.focused.id == "op")
        assert not app.query_one(CaseForm).folded
        sizes.focus()
        await pilot.press("5", "escape")
        await until(pilot, lambda: isinstance(app.focused, ResultsTable))
        assert app.query_one(CaseForm).folded
        assert verdict(app).endswith("edited")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, NotesScreen))
        assert len(engine.experiments) == 1
        await pilot.press("escape")

        # Another run folds the form, too.
        await pilot.press("e")
        await until(pilot, lambda: not app.query_one(CaseForm).folded)
        await pilot.press("r")
        await until(pilot, lambda: app.query_one(CaseForm).folded)
        await until(pilot, lambda: isinstance(app.focused, ResultsTable))


async def test_a_long_run_is_asked_about_and_a_short_one_is_not() -> None:
    engine = FakeEngine(begun)
    async with on_bench(engine) as (app, pilot):
        app.query_one("#sizes", Input).value = MANY
        said = "52 sizes × 2 modes = 104 cases, about 3.03 min"
        await until(pilot, lambda: verdict(app) == said)
        app.query_one("#sizes").focus()
        # Enter in an input asks too; only y means yes.
        for run, answer in (("f5", "enter"), ("f5", "escape"), ("enter", "y")):
            assert not engine.experiments
            await pilot.press(run)
            await until(pilot, lambda: isinstance(app.screen, Question))
            text = str(app.screen.query(Label).first().content)
            assert text == f"{said}. Start it?"
            await pilot.press(answer)
            await until(pilot, lambda: not isinstance(app.screen, Question))
        await until(pilot, lambda: app.state.running)
        assert len(engine.experiments[0].cases) > 100


# The results; what they show at 80×24 and 120×40 is a picture of the app's tests.


async def test_the_results_fit_the_narrowest_screen_and_panels_are_never_cut() -> None:
    async with ran(size=NARROWEST) as (app, pilot):
        table, side = app.query_one(ResultsTable), app.query_one("#side")
        assert table.row_count == 8
        assert not table.show_horizontal_scrollbar
        assert table.virtual_size.width <= table.size.width
        assert "ready ms" in lines(app, "ResultsTable")
        assert in_sight(app, "#results-panel")
        # The phases take the place of the plot.
        assert not side.display
        await pilot.press("d")
        await until(pilot, lambda: side.display)
        assert not app.query_one("#plot-panel").display
        await pilot.press("d", "d")
        await until(pilot, lambda: app.query_one("#plot-panel").display)
        # The keys of a border are left out where there is no room.
        assert border(app, "#results-panel")[1].endswith("v code")
        assert "…" not in lines(app, "#results-panel").splitlines()[-1]
        # Under an open form of a large screen no panel is cut, either.
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: app.size.width == WIDE[0])
        await pilot.press("d")
        await until(pilot, lambda: side.display and "█" in lines(app, "#spread"))
        await pilot.press("e")
        await until(pilot, lambda: not app.query_one("#spread-panel").display)
        assert "d log" in lines(app, "#phases-panel")
        await pilot.press("d", "d")
        await until(pilot, lambda: not side.display)


async def test_rows_fill_while_cases_take_turns_and_a_failure_is_a_row() -> None:
    engine = FakeEngine(begun)
    async with on_bench(engine, WIDE) as (app, pilot):
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        numpy, jit = engine.experiments[0].cases[:2]
        engine.emit_run(*(sampled(0, numpy, turn) for turn in range(3)))
        remark = told("It needs [40 GiB] and there are 16.", "Choose a smaller size.")
        engine.emit_run(CaseFailed(index=1, failure=Failure(case=jit, remark=remark)))
        await until(pilot, lambda: "not run" in lines(app, "ResultsTable"))
        assert "refused" in lines(app, "ResultsTable")
        app.session.update(picked=(app.session.state.run.number, 1))  # type: ignore[union-attr]
        await until(pilot, lambda: "Choose a smaller" in lines(app, "#notes"))
        assert "stop" in lines(app, "#run")
        await pilot.click("#run")
        await until_done(pilot, app)
        assert app.state.run.outcome == "cancelled"  # type: ignore[union-attr]
        await until(pilot, lambda: "run" in lines(app, "#run"))

        # The log is written only while it is in view.
        engine.emit(Logged(line="from XLA [bracketed]"))
        await until(pilot, lambda: app.state.log)
        log = app.query_one(LogPanel).query_one("RichLog")
        assert not log.lines  # type: ignore[attr-defined]
        await pilot.press("d")
        await until(pilot, lambda: log.lines)  # type: ignore[attr-defined]
        assert "from XLA [bracketed]" in log.lines[0].text  # type: ignore[attr-defined]


# The plot.


def top(app: JaxtuiApp) -> str:
    return app.query_one(PlotReader).text.split("\n")[0].rstrip()


async def test_metrics_go_round_and_keys_and_mouse_read_the_curve_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ran() as (app, pilot):
        curves, others = ("FLOP/s", "%", "×"), ("ready · ", "roofline")
        for words in (*curves, *others, "time per call ·", "time per call over"):
            await pilot.press("g")
            await until(
                pilot,
                lambda words=words: border(app, "#plot-panel")[0].startswith(words),
            )
        plot = app.query_one(PlotReader)
        plot.focus()
        await until(pilot, lambda: plot.place is not None)
        for keys, size in (
            (("home",), 256),
            (("right", "right"), 1024),
            (("end", "right"), 2048),
            (("left", "pageup"), 512),
        ):
            await pilot.press(*keys)
            await until(pilot, lambda size=size: top(app).startswith(f"{size}:"))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, ResultsTable))
        assert plot.place is None
        assert ": " not in top(app)

        # Reading begins at the selected size, and Enter picks another.
        assert app.state.run is not None
        cases = [one.case for one in app.state.run.cases]
        before = next(one for one in cases if one.size == 512 and not one.on_host)
        app.session.update(picked=(app.state.run.number, cases.index(before)))
        await until(pilot, lambda: app.state.case and app.state.case.case == before)
        plot.focus()
        await until(pilot, lambda: top(app).startswith("512:"))
        await pilot.press("end", "enter")
        await until(pilot, lambda: app.state.case and app.state.case.case.size == 2048)
        assert app.state.case is not None
        assert app.state.case.case.mode == before.mode

        # The mouse reads off, and leaves the plot alone behind it.
        app.query_one(ResultsTable).focus()
        right = plot.size.width - 8
        await pilot.hover(PlotReader, offset=(7, 4))
        await until(pilot, lambda: top(app).startswith("256:"))
        await pilot.hover(ResultsTable, offset=(3, 1))
        await until(pilot, lambda: ": " not in top(app))
        # A terminal that is behind is not sent every move.
        with monkeypatch.context() as patch:
            later: list[Callable[[], None]] = []
            calm: list[bool] = []
            patch.setattr(plot, "_calm", lambda: bool(calm))
            patch.setattr(plot, "set_timer", lambda _, then: later.append(then))
            for column in (7, 30, right):
                await pilot.hover(PlotReader, offset=(column, 4))
            assert plot.place is None
            (then,) = later
            then()
            assert plot.place is None
            calm.append(True)
            later[-1]()
            assert top(app).startswith("2048:")
        await pilot.click(PlotReader, offset=(right, 4))
        await until(pilot, lambda: app.focused is plot)
        assert top(app).startswith("2048:")
