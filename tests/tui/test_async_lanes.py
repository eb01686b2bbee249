"""The lanes of the async view: played, walked through, drawn."""

from __future__ import annotations

import msgspec
import pytest
from textual.color import Color

from jaxtui.model import (
    Loop,
    LoopKernel,
)
from jaxtui.tui import themes
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.playback import SECONDS, SLOW_SECONDS
from jaxtui.tui.widgets.lane_view import LaneView
from jaxtui.tui.widgets.plot_view import PlotView
from tests.tui.driving import app_on, until
from tests.tui.fake_engine import FakeEngine, looped
from tests.tui.looping import (
    CASE,
    NARROW,
    WIDE,
    Clock,
    answers,
    frame,
    lanes,
    open_view,
    shown,
    until_measured,
)

pytestmark = pytest.mark.usefixtures("long_enough_to_be_held_back")


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_the_kernels_of_the_selected_call_are_named(
    size: tuple[int, int],
) -> None:
    engine = FakeEngine()
    loop = looped(Loop(case=CASE, calls=3))
    kernels = [
        LoopKernel(name=f"wrapped_convert_fusion.{index}", count=1, seconds=1e-3)
        for index in range(9)
    ]
    calls = [
        msgspec.structs.replace(
            call, device_start=call.ready - 1e-3, device_end=call.ready, kernels=kernels
        )
        for call in loop.calls
    ]
    answers(engine, calls=tuple(calls), device_lane="measured", traced=loop.watched)
    app = app_on(engine)
    async with app.run_test(size=size) as pilot:
        await open_view(pilot, app)
        await until_measured(pilot, app)
        await pilot.press("right")
        assert "measured" in lanes(app).text
        assert "inferred" not in "\n".join(frame(app))
        words = "9 kernels." if size == NARROW else "more."
        # All that is said fits into the lines that are there.
        await until(pilot, lambda: words in "\n".join(frame(app)))
        assert ("Kernels: " in shown(app, "call")) == (size == WIDE)
        assert "a watcher and a trace" in shown(app, "sentences")


async def test_it_plays_in_slow_motion_and_step_by_step() -> None:
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

        # A step stops the playback and shows one call more.
        clock.now += SLOW_SECONDS
        screen.tick()
        for count in (1, 2, 3):
            await pilot.press("full_stop")
            assert lanes(app).count == count
        assert shown(app, "call").startswith("call 3: entered at")
        assert "calls 1 to 3" in shown(app, "legend")
        await until(pilot, lambda: "4" not in device_lane(app))
        await pilot.press("comma")
        assert lanes(app).count == 2
        await pilot.press("l", "enter")
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


async def test_zoom_selection_and_click() -> None:
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
        # And a click selects a call.
        await until(pilot, lambda: "█13" in device_lane(app))
        lines = lanes(app).text.splitlines()
        row = next(i for i, line in enumerate(lines) if "█13" in line)
        await pilot.click(LaneView, offset=(lines[row].index("█13"), row))
        await until(pilot, lambda: lanes(app).selected == 12)


async def test_a_large_screen_its_colours_and_what_a_frame_sends() -> None:
    clock = Clock()
    engine = FakeEngine()
    answers(engine, held_from=32)
    app = app_on(engine, clock=clock)
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_view(pilot, app)
        await until_measured(pilot, app)
        # The queue has room of its own.
        plot = screen.query_one("#loop-plot", PlotView)
        await until(pilot, lambda: "held back at 32" in plot.text)
        assert lanes(app).display
        assert "from call 33 on" in shown(app, "depth")

        # Another theme colours the lanes anew.
        screen.action_last()
        await until(pilot, lambda: "work" in lanes(app).text)
        for theme in (themes.LIGHT, themes.PROJECTOR):
            await pilot.press("t")
            assert app.theme == theme
            await until(pilot, lambda: lane_color(app) == plot_color(app, "plot-1"))

        # A frame sends what changed: a cursor moves over a lane of 200 calls.
        screen.run_loop(Loop(case=CASE, calls=200))
        await until_measured(pilot, app)
        clock.now += SECONDS / 2
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
