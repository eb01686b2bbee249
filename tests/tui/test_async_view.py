"""The async view on a fake engine: keys in, lanes and sentences out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from textual.color import Color
from textual.pilot import Pilot
from textual.widgets import Static

from jaxtui.model import (
    LOOP_STYLES,
    Case,
    Loop,
    LoopSeen,
    LoopStarted,
    Note,
    Peak,
    RunEvent,
    RunFinished,
    Snippet,
    WorkFailed,
)
from jaxtui.tui import bindings, loop_actions, loop_words, themes
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.lanes import queue, timeline
from jaxtui.tui.loop_actions import loopable
from jaxtui.tui.loop_commands import LOOP_COMMANDS
from jaxtui.tui.playback import SECONDS, SLOW_SECONDS
from jaxtui.tui.screens.async_view import CALLS, AsyncView
from jaxtui.tui.screens.code import CodeScreen
from jaxtui.tui.screens.too_small import TooSmall
from jaxtui.tui.widgets.giant import Giant
from jaxtui.tui.widgets.lane_view import LaneView
from jaxtui.tui.widgets.plot_view import PlotView
from tests.tui.driving import app_on, until, until_ready
from tests.tui.fake_engine import FakeEngine, cpu_devices, looped, tpu_devices

NARROW, WIDE = (80, 24), (120, 40)
CASE = Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit")


@pytest.fixture(autouse=True)
def _long_enough_to_be_held_back(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The made-up runtime holds the host back from call 33 on."""
    if "first_look" not in request.node.name:
        monkeypatch.setattr(loop_actions, "FIRST_CALLS", 40)


async def test_the_first_look_fills_no_queue() -> None:
    engine = FakeEngine(cpu_devices())
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until_measured(pilot, app)
        assert "20 of 20 results were not ready" in shown(app, "headline")


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def view(app: JaxtuiApp) -> AsyncView:
    assert isinstance(app.screen, AsyncView)
    return app.screen


def lanes(app: JaxtuiApp) -> LaneView:
    return view(app).query_one(LaneView)


def shown(app: JaxtuiApp, name: str) -> str:
    return str(view(app).query_one(f"#loop-{name}", Static).content)


def frame(app: JaxtuiApp) -> list[str]:
    """Every line of the screen."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


async def open_view(pilot: Pilot[None], app: JaxtuiApp, key: str = "a") -> AsyncView:
    await until(pilot, lambda: app.state.devices)
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.screen, AsyncView))
    await until(pilot, lambda: view(app).loop is not None)
    return view(app)


async def until_measured(pilot: Pilot[None], app: JaxtuiApp) -> None:
    """Until the loop that was asked for last is drawn."""
    await until(pilot, lambda: app.state.loop.loop == view(app).loop)
    await until(pilot, lambda: not app.state.running and lanes(app).complete)
    await until(pilot, lambda: "device" in lanes(app).text)


def answers(engine: FakeEngine, **changes: object) -> None:
    """Let every loop come out with these changes."""

    def answer(work: Loop | Snippet) -> Sequence[RunEvent]:
        assert isinstance(work, Loop)
        measured = msgspec.structs.replace(looped(work), **changes)
        finished = RunFinished(outcome="complete", elapsed_seconds=1.0)
        return [LoopStarted(loop=work), measured, finished]

    engine.answer = answer


@pytest.mark.parametrize("key", ["a", "f10"])
async def test_the_key_opens_it_and_runs_the_loop_at_once(key: str) -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app, key)
        await until_measured(pilot, app)
        (loop,) = engine.works
        assert isinstance(loop, Loop)
        assert (loop.calls, loop.style, loop.chained) == (40, "never", False)
        assert shown(app, "title") == (
            "40 calls of matmul 1000 float32 jit on cpu:0 · never block · independent"
        )
        headline = shown(app, "headline")
        assert "40.0 ms" in headline
        assert "200 ms" in headline
        assert "5.0×" in headline
        assert "32 of 40 results were not ready" in headline
        assert "inferred" in lanes(app).text
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, AsyncView))


async def test_the_selected_case_of_the_bench_is_looped() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2", "f5")
        await until(pilot, lambda: app.state.run and not app.state.running)
        app.session.update(picked=1)
        await open_view(pilot, app)
        await until_measured(pilot, app)
        loop = engine.works[-1]
        assert isinstance(loop, Loop)
        picked = engine.experiments[0].cases[1]
        assert loop.case == loopable(picked, "cpu:0")


def test_what_the_host_computes_is_looped_as_jit() -> None:
    numpy = Case(op="matmul", size=64, dtype="float32", device="host", mode="numpy")
    looped_case = loopable(msgspec.structs.replace(numpy, inputs="host"), "cpu:0")
    assert (looped_case.mode, looped_case.device) == ("jit", "cpu:0")
    assert looped_case.inputs == "device"
    eager = msgspec.structs.replace(CASE, mode="eager")
    assert loopable(eager, "cpu:1") is eager


async def test_styles_chain_and_calls_each_run_anew() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        for key in ("b", "c", "k", "j"):
            await until_measured(pilot, app)
            await pilot.press(key)
        await until_measured(pilot, app)
        loops = [work for work in engine.works if isinstance(work, Loop)]
        assert [(one.style, one.chained, one.calls) for one in loops] == [
            ("never", False, 40),
            ("end", False, 40),
            ("end", True, 40),
            ("end", True, 64),
            ("end", True, 40),
        ]
        assert "block once at the end · chained" in shown(app, "title")


async def test_the_styles_go_round() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        seen = []
        for _ in LOOP_STYLES:
            assert screen.loop is not None
            seen.append(screen.loop.style)
            await pilot.press("b")
        assert tuple(seen) == LOOP_STYLES
        assert screen.loop is not None
        assert screen.loop.style == "never"
        await until_measured(pilot, app)


@pytest.mark.parametrize(("key", "first", "last"), [("up", -2, -1), ("down", 1, 0)])
async def test_the_number_of_calls_ends_at_1_and_200(
    key: str, first: int, last: int
) -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        screen.run_loop(Loop(case=CASE, calls=CALLS[first]))
        for _ in range(2):
            await until_measured(pilot, app)
            await pilot.press(key)
        await until_measured(pilot, app)
        assert len(app.state.loop.seen) == CALLS[last]
        assert "device" in lanes(app).text


async def test_a_claim_above_the_peak_is_red_and_named() -> None:
    engine = FakeEngine(tpu_devices())
    peak = Peak(flops_per_second=1e12, bytes_per_second=None, source="somewhere")
    answers(engine, peak=peak)
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until_measured(pilot, app)
        headline = view(app).query_one("#loop-headline", Static).content
        assert "faster than the chip's peak: this timed the dispatch" in str(headline)
        assert "IMPOSSIBLE" in str(headline)
        styles = [str(span.style) for span in headline.spans]  # type: ignore[union-attr]
        assert any("error" in style for style in styles)


async def test_inline_work_is_never_called_asynchronous() -> None:
    engine = FakeEngine()
    answers(engine, inline=True)
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await open_view(pilot, app)
        await until_measured(pilot, app)
        assert "Nothing here is asynchronous" in shown(app, "headline")
        assert "inferred" not in lanes(app).text
        assert "inside the call" in shown(app, "call")
        assert "Nothing is ever in flight" in shown(app, "depth")


async def test_the_lanes_grow_while_the_calls_run() -> None:
    engine = FakeEngine()
    engine.answer = lambda work: [LoopStarted(loop=work)]  # type: ignore[arg-type]
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await until(pilot, lambda: app.state.running)
        assert screen.loop is not None
        calls = looped(screen.loop).calls
        engine.emit_run(LoopSeen(first=0, calls=calls[:3]))
        await until(pilot, lambda: lanes(app).line.calls == 3)
        engine.emit_run(LoopSeen(first=3, calls=calls[3:9]))
        await until(pilot, lambda: lanes(app).line.calls == 9)
        await until(pilot, lambda: "9 of 40" in shown(app, "headline"))
        # Nothing is known yet of the whole.
        assert "work" not in lanes(app).text


async def test_it_plays_and_slow_motion_takes_longer() -> None:
    clock = Clock()
    app = app_on(FakeEngine(), clock=clock)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        assert screen.playback is not None
        clock.now = SECONDS / 2
        screen.tick()
        assert lanes(app).until == pytest.approx(lanes(app).line.total / 2)
        assert "playing" in shown(app, "legend")
        middle = lanes(app).selected
        assert 15 <= middle <= 25
        await pilot.press("l")
        clock.now += SLOW_SECONDS / 4
        screen.tick()
        assert lanes(app).until == pytest.approx(0.75 * lanes(app).line.total)
        assert "slow motion" in shown(app, "legend")
        await pilot.press("space")
        clock.now += 100.0
        screen.tick()
        assert lanes(app).until == pytest.approx(0.75 * lanes(app).line.total)
        await pilot.press("space")
        clock.now += SLOW_SECONDS
        screen.tick()
        assert screen.playback is None
        assert lanes(app).until is None
        await pilot.press("enter")
        assert screen.playback is not None
        assert lanes(app).until == 0.0


async def test_a_step_stops_the_playback_and_shows_one_call_more() -> None:
    clock = Clock()
    app = app_on(FakeEngine(), clock=clock)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        clock.now = SECONDS
        screen.tick()
        for count in (1, 2, 3):
            await pilot.press("full_stop")
            assert lanes(app).count == count
        assert shown(app, "call").startswith("call 3: entered at")
        assert "calls 1 to 3" in shown(app, "legend")
        await until(pilot, lambda: "4" not in device_lane(app))
        await pilot.press("comma")
        assert lanes(app).count == 2
        await pilot.press("enter")
        clock.now += SECONDS / 2
        screen.tick()
        ready = lanes(app).line.computing_at(lanes(app).line.total / 2)
        await pilot.press("full_stop")
        assert screen.playback is None
        assert lanes(app).count == ready + 1


def device_lane(app: JaxtuiApp) -> str:
    lines = lanes(app).text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("device"))
    return "\n".join(lines[start : start + 3])


async def test_zoom_and_selection_scroll() -> None:
    clock = Clock()
    app = app_on(FakeEngine(), clock=clock)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        clock.now = SECONDS
        screen.tick()
        line = lanes(app).line
        for _ in range(4):
            await pilot.press("plus")
        window = lanes(app).in_view
        assert window.span == pytest.approx(line.total / 16)
        await pilot.press("end")
        assert lanes(app).selected == 39
        assert lanes(app).in_view.shows(line.device[39])
        assert lanes(app).in_view.span == pytest.approx(window.span)
        await pilot.press("left", "left", "left", "left")
        assert lanes(app).selected == 35
        assert lanes(app).in_view.shows(line.device[35])
        await until(pilot, lambda: "call 36" in shown(app, "call"))
        await pilot.press("home", "minus")
        assert lanes(app).selected == 0
        await pilot.press("0")
        assert lanes(app).window is None


async def test_a_click_selects_a_call() -> None:
    clock = Clock()
    app = app_on(FakeEngine(), clock=clock)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        clock.now = SECONDS
        screen.tick()
        await until(pilot, lambda: "█13" in device_lane(app))
        lines = lanes(app).text.splitlines()
        row = next(i for i, line in enumerate(lines) if "█13" in line)
        await pilot.click(LaneView, offset=(lines[row].index("█13"), row))
        await until(pilot, lambda: lanes(app).selected == 12)


async def test_giant_numbers_hide_the_truth_until_space() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        await pilot.press("g")
        await until(pilot, lambda: screen.query_one(Giant).display)
        giant = screen.query_one(Giant)
        await until(pilot, lambda: giant.size.height)
        assert not giant.revealed
        hidden = "\n".join(frame(app))
        assert "press space" in hidden
        assert "200 ms" not in hidden
        assert "GFLOP/s" not in hidden
        await pilot.press("space")
        await until(pilot, lambda: "5.0× the stopwatch" in "\n".join(frame(app)))
        assert giant.revealed
        # Another loop has to be predicted, too.
        await pilot.press("b")
        await until_measured(pilot, app)
        assert not giant.revealed
        await pilot.press("g")
        assert not giant.display


async def test_giant_numbers_say_why_there_are_none() -> None:
    engine = FakeEngine()
    engine.answer = lambda work: [LoopStarted(loop=work)]  # type: ignore[arg-type]
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await pilot.press("g", "space")
        await until(pilot, lambda: "0 of 40 are ready" in "\n".join(frame(app)))
        assert not screen.query_one(Giant).revealed
        failed = WorkFailed(error="It needs 40 GiB.", hint="Choose a smaller size.")
        engine.emit_run(failed)
        await until(pilot, lambda: "It needs 40 GiB." in "\n".join(frame(app)))


async def test_another_theme_colours_the_lanes_anew() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        screen.action_last()
        await until(pilot, lambda: "work" in lanes(app).text)
        for theme in (themes.LIGHT, themes.PROJECTOR):
            await pilot.press("t")
            assert app.theme == theme
            await until(pilot, lambda: lane_color(app) == plot_color(app, "plot-1"))


def lane_color(app: JaxtuiApp) -> tuple[int, int, int]:
    """Of the line below the lane of the device."""
    shaded = [
        segment.style.color
        for strip in lanes(app)._strips
        for segment in strip
        if segment.text.startswith("├") and segment.style and segment.style.color
    ]
    return tuple(shaded[-1].triplet or (0, 0, 0))  # type: ignore[return-value]


def plot_color(app: JaxtuiApp, name: str) -> tuple[int, int, int]:
    return Color.parse(app.theme_variables[name]).rgb


async def test_the_queue_is_drawn_and_its_depth_is_said() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await pilot.press("k")
        await until_measured(pilot, app)
        answers_held = queue(timeline(app.state.loop.seen)).held
        assert answers_held == 32
        await pilot.press("d")
        plot = screen.query_one("#loop-plot", PlotView)
        await until(pilot, lambda: plot.text.strip())
        assert "in flight at most 32" in shown(app, "depth")
        assert not lanes(app).display
        await pilot.press("d")
        await until(pilot, lambda: lanes(app).display)


async def test_the_queue_has_room_of_its_own_on_a_large_screen() -> None:
    engine = FakeEngine()
    answers(engine, held_from=32)
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        plot = screen.query_one("#loop-plot", PlotView)
        await until(pilot, lambda: "held back at 32" in plot.text)
        assert lanes(app).display
        assert "from call 33 on" in shown(app, "depth")


def test_a_loop_too_short_to_fill_the_queue_says_so() -> None:
    measured = looped(Loop(case=CASE, calls=20))
    line = timeline(measured.calls)
    assert "longer loop" in loop_words.depth(line, queue(line), measured)
    measured = msgspec.structs.replace(measured, queue_depth=0)
    assert "64 calls" in loop_words.depth(line, queue(line), measured)


async def test_code_is_that_of_this_loop() -> None:
    pytest.importorskip("jaxtui.scripts.loops")
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until_measured(pilot, app)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen))
        assert "range(40)" in "\n".join(frame(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, AsyncView))


async def test_a_failure_is_said_with_its_hint() -> None:
    engine = FakeEngine()

    def answer(work: Loop | Snippet) -> Sequence[RunEvent]:
        assert isinstance(work, Loop)
        return [
            LoopStarted(loop=work),
            WorkFailed(error="It needs 40 GiB.", hint="Choose a smaller size."),
            RunFinished(outcome="complete", elapsed_seconds=0.1),
        ]

    engine.answer = answer
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until(pilot, lambda: "40 GiB" in shown(app, "headline"))
        assert "Choose a smaller size." in shown(app, "headline")
        answers(engine)
        await pilot.press("r")
        await until_measured(pilot, app)
        assert "40 GiB" not in shown(app, "headline")


async def test_the_death_of_the_engine_is_said_and_r_runs_again() -> None:
    engine = FakeEngine()
    engine.answer = lambda work: [LoopStarted(loop=work)]  # type: ignore[arg-type]
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until(pilot, lambda: app.state.running)
        engine.emit_run(
            WorkFailed(error="The engine was killed (signal 9).", hint=""),
            RunFinished(outcome="crashed", elapsed_seconds=0.1),
        )
        engine.die()
        await until(pilot, lambda: "signal 9" in shown(app, "headline"))
        answers(engine)
        await pilot.press("r")
        await until(pilot, lambda: "JAX is starting" in shown(app, "headline"))
        engine.become_ready()
        await until_measured(pilot, app)


async def test_stop_ends_the_loop_and_says_so() -> None:
    engine = FakeEngine(scripted=False)
    engine.answer = lambda work: [LoopStarted(loop=work)]  # type: ignore[arg-type]
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until(pilot, lambda: app.state.running)
        await pilot.press("s")
        await until(pilot, lambda: "stop" in engine.calls and not app.state.running)
        await until(pilot, lambda: "Stopped before" in shown(app, "headline"))


async def test_another_style_stops_the_loop_that_goes_on() -> None:
    engine = FakeEngine(scripted=False)
    engine.answer = lambda work: [LoopStarted(loop=work)]  # type: ignore[arg-type]
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until(pilot, lambda: app.state.running)
        answers(engine)
        await pilot.press("b")
        await until_measured(pilot, app)
        styles = [work.style for work in engine.works if isinstance(work, Loop)]
        assert styles == ["never", "end"]


async def test_a_run_of_the_bench_is_not_disturbed() -> None:
    engine = FakeEngine(scripted=False)
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        await open_view(pilot, app)
        await until(pilot, lambda: "Another run is going on" in shown(app, "headline"))
        assert engine.calls.count("run") == 1
        await pilot.press("s")
        await until_measured(pilot, app)
        assert engine.calls.count("run") == 2


async def test_the_keys_of_the_tabs_do_nothing_here() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until_measured(pilot, app)
        for key in ("1", "2", "e", "w", "m", "ctrl+n"):
            await pilot.press(key)
        await pilot.pause()
        assert app.tab == "devices"
        assert not engine.experiments
        await pilot.press("p")
        assert app.theme == themes.PROJECTOR
        await pilot.press("ctrl+q")
    assert (app.return_code or 0) == 0


@pytest.mark.parametrize("size", [NARROW, WIDE])
@pytest.mark.parametrize("keys", [(), ("d",), ("g", "space")])
async def test_everything_is_in_view(
    size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    engine = FakeEngine(tpu_devices())
    peak = Peak(flops_per_second=1e12, bytes_per_second=None, source="somewhere")
    answers(engine, peak=peak, held_from=32, notes=NOTES)
    app = app_on(engine)
    async with app.run_test(size=size) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await pilot.pause()
        for widget in screen.walk_children(Static):
            if widget.display and widget.size.area:
                assert screen.region.contains_region(widget.region)
                lines = widget.visual.get_height(widget.styles, widget.size.width)
                assert lines <= widget.size.height, widget.id
        assert screen.max_scroll_y == 0
        assert lanes(app).size.height >= 8 or not lanes(app).display
        assert "? Help" in frame(app)[-1]


NOTES = tuple(
    Note(flag=flag, text="Something to know before the figure is quoted. " * 2)
    for flag in ("impossible", "queue-full", "watched", "inferred")
)


async def test_too_small_says_so_and_comes_back() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until_measured(pilot, app)
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: isinstance(app.screen, TooSmall))
        await pilot.resize_terminal(60, 15)
        await until(pilot, lambda: isinstance(app.screen, AsyncView))
        await until(
            pilot, lambda: lanes(app).size.width == 58 and lanes(app).size.height >= 4
        )
        await until(pilot, lambda: "device" in lanes(app).text)
        footer = frame(app)[-1]
        assert "esc Back" in footer


async def test_200_calls_are_drawn_cell_by_cell() -> None:
    """A frame sends what changed: a cursor moves over a lane of 200 calls."""
    clock = Clock()
    app = app_on(FakeEngine(), clock=clock)
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_view(pilot, app)
        screen.run_loop(Loop(case=CASE, calls=200))
        await until_measured(pilot, app)
        clock.now = SECONDS / 2
        screen.tick()
        await until(pilot, lambda: lanes(app).until)
        await pilot.pause()
        regions: list[int] = []
        refresh = lanes(app).refresh

        def counted(*changed: object, **options: object) -> object:
            regions.extend(one.area for one in changed)  # type: ignore[attr-defined]
            return refresh(*changed, **options)  # type: ignore[arg-type]

        lanes(app).refresh = counted  # type: ignore[method-assign, assignment]
        clock.now += 0.25
        screen.tick()
        await until(pilot, lambda: regions)
        assert sum(regions) < lanes(app).size.area / 4


def test_letters_have_a_twin_and_no_key_means_two_things_here() -> None:
    keys = [str(binding.key) for binding in AsyncView.BINDINGS]  # type: ignore[union-attr]
    assert len(keys) == len(set(keys))
    for command in LOOP_COMMANDS:
        assert hasattr(AsyncView, f"action_{command.action}"), command.id
        names = command.keys.split(",")
        if any(len(name) == 1 and name.isalpha() for name in names):
            assert any(len(name) > 1 for name in names), command.id
    assert any(command.id == "async" for command in bindings.COMMANDS)


async def test_the_palette_has_the_commands_of_the_view() -> None:
    app = app_on(FakeEngine(cpu_devices()))
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen is not screen)
        await pilot.press(*"Giant")
        await until(pilot, lambda: "Async view: Giant" in "\n".join(frame(app)))
