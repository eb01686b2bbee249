"""The timeline: its runs, its keys, what it shows and what it hides."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from textual.color import Color
from textual.widgets import Static

from jaxtui.core.experiments import loopable
from jaxtui.core.model import (
    LOOP_STYLES,
    Case,
    Loop,
    LoopClock,
    LoopSeen,
    Peak,
    Plan,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.features.timeline.lane_view import LaneView
from jaxtui.features.timeline.loops import SECONDS, SLOW_SECONDS
from jaxtui.features.timeline.report import CALLS
from jaxtui.features.timeline.screen import TimelineScreen
from jaxtui.ui.app import themes
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.dialogs import CodeScreen
from jaxtui.ui.sheet import Figure, Sheet
from jaxtui.ui.widgets.keys_line import KeysLine
from tests.fake_engine import FakeEngine, begun, looped, tpu_devices
from tests.features.timeline.looping import (
    CASE,
    NARROW,
    WIDE,
    Clock,
    answers,
    lanes,
    on_timeline,
    open_view,
    shot,
    until_measured,
    until_shown,
)
from tests.records import told
from tests.ui.app.driving import app_on, lines, message, until, until_ready

pytestmark = pytest.mark.usefixtures("long_enough_to_be_held_back")


def begins(work: object) -> Sequence[RunEvent]:
    """A loop that does not end by itself."""
    assert isinstance(work, Loop)
    return [RunStarted()]


def ended(outcome: Any = "complete") -> RunFinished:
    return RunFinished(outcome=outcome, elapsed_seconds=0.1)


NO_ROOM = WorkFailed(remark=told("It needs 40 GiB.", "Choose a smaller size."))


# What is looped.


def test_what_the_host_computes_is_looped_as_jit() -> None:
    numpy = Case(op="matmul", size=64, dtype="float32", device="host", mode="numpy")
    case = loopable(replace(numpy, inputs="host"), "cpu:0")
    assert (case.mode, case.device, case.inputs) == ("jit", "cpu:0", "device")
    eager = replace(CASE, mode="eager")
    assert loopable(eager, "cpu:1") is eager


async def test_the_loop_runs_at_once_and_its_keys_run_it_anew() -> None:
    engine = FakeEngine()
    async with on_timeline(engine) as (pilot, app, screen):
        (loop,) = engine.works
        assert isinstance(loop, Loop)
        assert (loop.calls, loop.style, loop.chained) == (40, "never", False)
        said = "matmul 1000 float32 jit on cpu:0", "40.0 ms", "200 ms", "at 20 % of"
        await until_shown(pilot, app, "figures", *said)
        # Nothing was played: the figures are there at once.
        assert screen.playback is None
        assert screen.query_one(Figure).value == "5.0x"

        # The styles go round; only the one that was asked for last is run.
        engine.works.clear()
        for _ in LOOP_STYLES:
            await pilot.press("j")
        await until_measured(pilot, app)
        assert screen.loop == loop
        assert engine.works[-1] == loop

        # Style, chain and the number of calls each run it anew.
        engine.works.clear()
        for key in ("j", "k", "plus", "minus"):
            await pilot.press(key)
            await until_measured(pilot, app)
        loops = [work for work in engine.works if isinstance(work, Loop)]
        assert [(one.style, one.chained, one.calls) for one in loops] == [
            ("end", False, 40),
            ("end", True, 40),
            ("end", True, 64),
            ("end", True, 40),
        ]
        assert "block at the end · k chained · + − 40 calls" in lines(app)

        # There are between 1 and 200 calls.
        for key, first, last in (("plus", -2, -1), ("minus", 1, 0)):
            screen.run_loop(Loop(case=CASE, calls=CALLS[first]))
            for _ in range(2):
                await until_measured(pilot, app)
                await pilot.press(key)
            await until_measured(pilot, app)
            assert len(screen.job.seen) == CALLS[last]  # type: ignore[union-attr]


async def test_taps_stop_a_running_loop_once_and_only_the_last_loop_runs() -> None:
    engine = FakeEngine(begun)
    engine.answer_others(begins)
    async with on_timeline(engine, measured=False) as (pilot, app, screen):
        await until(pilot, lambda: app.state.running)
        stop, ends = engine.stop, []

        async def slow_stop() -> None:
            # The engine ends the loop some time after it was asked to.
            engine.calls.append("stop")
            ends.append(stop)

        engine.stop = slow_stop  # type: ignore[method-assign]
        await pilot.press(*["minus"] * 7)
        assert engine.calls.count("stop") == 1
        assert len(engine.works) == 1
        assert screen.loop is not None
        assert screen.loop.calls == 1
        engine.stop = stop  # type: ignore[method-assign]
        answers(engine)
        await ends[0]()
        await until_measured(pilot, app)
        assert [work.calls for work in engine.works] == [40, 1]
        assert engine.generation == 1


async def test_a_run_of_the_bench_is_not_disturbed() -> None:
    engine = FakeEngine(begun)
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        await open_view(pilot, app)
        await until_shown(pilot, app, "figures", "another run is in progress")
        assert engine.calls.count("run") == 1
        await pilot.press("s")
        await until_measured(pilot, app)
        assert engine.calls.count("run") == 2


async def test_the_first_repeat_is_shown_while_the_loop_is_refined() -> None:
    engine = FakeEngine(begun)
    engine.answer_others(begins)
    async with on_timeline(engine, measured=False) as (pilot, app, screen):
        await until(pilot, lambda: app.state.running)
        assert screen.loop is not None
        measured = looped(screen.loop)
        # A long loop grows before that.
        for first, last in ((0, 3), (3, 9)):
            calls = measured.calls[first:last]
            engine.emit_run(LoopSeen(first=first, calls=calls))
            await until(pilot, lambda: shot(app).line.calls == last)  # noqa: B023
        await until_shown(pilot, app, "figures", "9 of 40 ")
        assert "stopwatch" not in lanes(app).text
        engine.emit_run(LoopSeen(first=9, calls=measured.calls[9:]))
        await until_shown(pilot, app, "figures", "200 ms", "−true")
        await until_shown(pilot, app, "lanes", "first repeat, refining")
        assert app.state.running
        # One watched repeat has no factor.
        assert not screen.query_one(Figure).display
        clock = LoopClock(
            repeats=7, stopwatch_seconds=2e-3, true_seconds=0.24, factor=(110, 130)
        )
        slower = tuple(replace(one, ready=2.4 * one.ready) for one in measured.calls)
        changes: dict[str, Any] = {
            "calls": slower,
            "undisturbed": clock,
            "traced": clock,
        }
        engine.emit_run(replace(measured, **changes), ended())
        # The figures are the plain repeats', the lanes say what they are.
        await until_shown(pilot, app, "figures", "240 ms", "−480", "110–130×")
        await until_shown(pilot, app, "lanes", "−refining", "one traced repeat")
        assert screen.query_one(Figure).value == "120x"
        await pilot.resize_terminal(*WIDE)
        await until_shown(pilot, app, "figures", "true 333 GFLOP/s")


async def test_stop_failure_and_death_are_said_and_r_runs_again() -> None:
    engine = FakeEngine()
    engine.answer_others(lambda work: [*begins(work), NO_ROOM, ended()])
    async with on_timeline(engine, measured=False) as (pilot, app, _):
        await until_shown(pilot, app, "figures", "40 GiB", "Choose a smaller size.")
        engine.answer_others(begins)
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        await until_shown(pilot, app, "figures", "−40 GiB")
        await pilot.press("s")
        await until(pilot, lambda: "stop" in engine.calls)
        engine.emit_run(ended("cancelled"))
        await until_shown(pilot, app, "figures", "stopped too early")
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        killed = WorkFailed(remark=told("The engine was killed (signal 9)."))
        engine.emit_run(killed, ended("crashed"))
        engine.die()
        await until_shown(pilot, app, "figures", "signal 9")
        answers(engine)
        await pilot.press("r")
        await until_measured(pilot, app)


# What is shown.


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_everything_is_in_view(size: tuple[int, int]) -> None:
    engine = FakeEngine(devices=tpu_devices())
    peak = Peak(flops_per_second=1e12, bytes_per_second=None, source="somewhere")
    notes = tuple(
        Remark(flag, text="Something to know before the figure is quoted. ")
        for flag in ("few-repeats", "watched")
    )
    inline = size == WIDE
    answers(engine, peak=peak, held_from=32, notes=notes, inline=inline)
    async with on_timeline(engine, size) as (pilot, app, screen):
        sign = "−" * (not inline)
        await until_shown(pilot, app, "lanes", f"{sign}device inline")
        for panel in ("call", "figures"):
            await until_shown(pilot, app, panel, f"{sign}inside the call")
        for widget in (*screen.query(Static), *screen.query(Sheet)):
            if widget.display and widget.size.area:
                assert screen.region.contains_region(widget.region)
        assert screen.max_scroll_y == 0
        assert lanes(app).size.height >= 6
        assert "? Help" in lines(app).split("\n")[-1]


async def test_colours_follow_the_theme_and_a_frame_sends_what_changed() -> None:
    clock = Clock()
    async with on_timeline(size=WIDE, clock=clock) as (pilot, app, screen):
        await pilot.press("right")
        for theme in (themes.DARK, themes.LIGHT, themes.PROJECTOR):
            assert app.theme == theme
            await until(pilot, lambda: color_of(app, "plot-1") in lane_colors(app))
            # What is selected has the colour of no mode.
            assert color_of(app, "foreground") in lane_colors(app)
            assert color_of(app, "numpy") not in lane_colors(app)
            await pilot.press("t")

        # A cursor moves over a lane of 200 calls.
        screen.run_loop(Loop(case=CASE, calls=200))
        await until_measured(pilot, app)
        await pilot.press("space")
        clock.now += SECONDS / 2
        screen.tick()
        await until(pilot, lambda: shot(app).until)
        await pilot.pause()
        regions: list[int] = []
        refresh = lanes(app).refresh

        def counted(*changed: Any, **options: Any) -> object:
            regions.extend(one.area for one in changed)
            return refresh(*changed, **options)

        lanes(app).refresh = counted  # type: ignore[method-assign, assignment]
        clock.now += 0.25
        screen.tick()
        await until(pilot, lambda: regions)
        assert sum(regions) < lanes(app).size.area / 3


def color_of(app: JaxtuiApp, name: str) -> tuple[int, int, int]:
    return Color.parse(app.theme_variables[name]).rgb


def lane_colors(app: JaxtuiApp) -> set[tuple[int, int, int]]:
    return {
        (*(segment.style.color.triplet or (0, 0, 0)),)
        for strip in lanes(app)._strips
        for segment in strip
        if segment.style and segment.style.color
    }


# Playing.


async def test_it_plays_and_reveals_its_figures_at_the_end() -> None:
    clock = Clock()
    async with on_timeline(clock=clock) as (pilot, app, screen):
        total = shot(app).line.total

        async def later(seconds: float, part: float, *said: str) -> None:
            clock.now += seconds
            screen.tick()
            assert shot(app).until == pytest.approx(part * total)
            await until_shown(pilot, app, "figures", *said)

        await pilot.press("space")
        await later(SECONDS / 10, 0.1, "−40.0 ms")
        # The stopwatch has stopped, and the device works on.
        await later(0.4 * SECONDS, 0.5, "40.0 ms", "−200 ms", "−true")
        await until_shown(pilot, app, "lanes", "playing")
        assert not screen.query_one(Figure).display
        assert 15 <= shot(app).selected <= 25
        await pilot.press("full_stop")
        await later(SLOW_SECONDS / 4, 0.75)
        await until_shown(pilot, app, "lanes", "slow motion")
        await pilot.press("space")
        await later(100.0, 0.75)
        await pilot.press("space")
        clock.now += SLOW_SECONDS
        screen.tick()
        assert (screen.playback, shot(app).until) == (None, None)
        await until_shown(pilot, app, "figures", "200 ms")
        assert screen.query_one(Figure).display


async def test_keys_and_a_click_select_a_call() -> None:
    async with on_timeline() as (pilot, app, _):
        await pilot.press("right", "right", "right", "left")
        assert shot(app).selected == 2
        await until_shown(pilot, app, "call", "call 3 of 40")
        await until(pilot, lambda: "21" in lanes(app).text)
        lines = lanes(app).text.splitlines()
        row = next(i for i, line in enumerate(lines) if "21" in line)
        await pilot.click(LaneView, offset=(lines[row].index("21"), row))
        await until(pilot, lambda: shot(app).selected in (20, 21))


# The rest of the app.


async def test_code_is_shown_and_takes_no_accelerator_again() -> None:
    engine = FakeEngine(devices=tpu_devices())
    async with on_timeline(engine) as (pilot, app, screen):
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen))
        assert "range(40)" in lines(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, TimelineScreen))
        await pilot.press("x")
        await until(pilot, lambda: app.state.engine == "released")
        before = list(engine.calls)
        await pilot.press("v")
        await pilot.pause()
        assert app.screen is screen
        assert engine.calls == before
        assert app.state.accelerator is None
        screen.perform("code")
        assert "needs JAX" in message(app)
        # What needs it is greyed out.
        line = {one.label: one.enabled for one in screen.query_one(KeysLine).keys}
        assert line["Play"]
        assert not line.get("Code", False)


async def test_code_that_comes_late_stays_away_from_other_screens() -> None:
    free = asyncio.Event()

    class Busy(FakeEngine):
        async def plan(self, *asked: Any, **options: Any) -> Plan:
            await free.wait()
            self.calls.append("planned")
            return await super().plan(*asked, **options)

    engine = Busy()
    async with on_timeline(engine) as (pilot, app, _):
        await pilot.press("v", "escape")
        await until(pilot, lambda: not isinstance(app.screen, TimelineScreen))
        free.set()
        await until(pilot, lambda: "planned" in engine.calls)
        await pilot.pause()
        assert not isinstance(app.screen, CodeScreen)
