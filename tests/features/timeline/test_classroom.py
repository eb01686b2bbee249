"""The class view: everything is hidden until it was predicted."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from textual.widgets import Digits

from jaxtui.core.model import (
    Loop,
    LoopClock,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.features.timeline.classroom import Classroom
from jaxtui.features.timeline.loops import SECONDS, SLOW_SECONDS
from jaxtui.features.timeline.screen import TimelineScreen
from jaxtui.ui.app import themes
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.sheet import Sheet
from tests.fake_engine import FakeEngine, begun, looped
from tests.features.timeline.looping import (
    NARROW,
    WIDE,
    Clock,
    on_timeline,
    shown,
    until_measured,
    view,
)
from tests.records import told
from tests.ui.app.driving import app_on, lines, message, until


def far_apart(work: object) -> Sequence[RunEvent]:
    """The stopwatch reads 815 µs, with the fix 541 ms; a traced repeat took 400 ms."""
    assert isinstance(work, Loop)
    plain = LoopClock(
        repeats=7, stopwatch_seconds=815e-6, true_seconds=0.541, factor=(600, 700)
    )
    return [
        RunStarted(),
        msgspec.structs.replace(
            looped(work, each=0.4 / work.calls),
            undisturbed=plain,
        ),
        RunFinished(outcome="complete", elapsed_seconds=1.0),
    ]


def room(app: JaxtuiApp) -> Classroom:
    assert isinstance(app.screen, Classroom)
    return app.screen


def digits(app: JaxtuiApp, clock: str) -> str:
    return room(app).query_one(f"#{clock} Digits", Digits).value


def fits(app: JaxtuiApp) -> bool:
    """There is a large figure, and all of it is in view."""
    hero = room(app).query_one("#hero", Sheet)
    return "█" in hero.text and len(hero.text.split("\n")) <= hero.size.height


def text(app: JaxtuiApp) -> str:
    return lines(app)


async def test_a_class_predicts_sees_the_factor_and_the_fix() -> None:
    engine, clock = FakeEngine(), Clock()
    engine.answer_others(far_apart)
    async with on_timeline(engine, NARROW, clock=clock) as (pilot, app, _):
        theme = app.theme
        await pilot.press("space", "p")
        await until(pilot, lambda: isinstance(app.screen, Classroom))
        assert app.theme == themes.PROJECTOR
        await until(pilot, lambda: room(app)._clocks)
        assert [work.style for work in engine.works] == ["never", "never"]
        assert not digits(app, "stopwatch")

        # What the stopwatch reads, and a bet on the work.
        await pilot.press("enter")
        await until(pilot, lambda: fits(app))
        await pilot.press("right", "right")
        await until(pilot, lambda: "BET 10×" in text(app))
        assert fits(app)
        assert digits(app, "stopwatch") == "0.815"

        # The stopwatch stops, the device works on, in slow motion and in red.
        await pilot.press("pageup", "pagedown", "pagedown")
        await until(pilot, lambda: "both clocks run" in text(app))
        clock.now += SLOW_SECONDS / 2
        room(app).tick()
        await pilot.pause()
        assert digits(app, "work") in ("270", "271")
        clock.now += SLOW_SECONDS
        room(app).tick()
        await pilot.pause()
        assert "done after 541 ms" in text(app)

        # The factor, and the fix: both snap together.
        await pilot.press("space")
        await until(pilot, lambda: "the stopwatch says 0.815 ms" in text(app))
        await pilot.press("space")
        clock.now += SECONDS
        room(app).tick()
        await pilot.pause()
        assert digits(app, "stopwatch") == digits(app, "work") == "541"

        # And from the beginning, or back.
        await pilot.press("space")
        assert not digits(app, "stopwatch")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Classroom))
        assert app.theme == theme
        # The timeline has its own loop again, and what was played is over.
        await until_measured(pilot, app)
        assert view(app).playback is None
        assert "541 ms" in shown(app, "figures")


async def test_a_class_waits_for_the_program_and_is_told_of_a_failure() -> None:
    engine = FakeEngine(begun)
    engine.answer_others(lambda work: [RunStarted()])
    async with on_timeline(engine, WIDE, measured=False) as (pilot, app, _):
        await until(pilot, lambda: app.state.running)
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, Classroom))
        await until(pilot, lambda: "0 of 20 ready" in text(app))
        await pilot.press("space")
        assert room(app).step == "program"
        room(app).perform("next")
        assert app.session.state.message
        failed = WorkFailed(remark=told("It needs 40 GiB.", "Choose a smaller size."))
        finished = RunFinished(outcome="complete", elapsed_seconds=0.1)
        engine.emit_run(failed, finished)
        await until(pilot, lambda: "It needs 40 GiB." in text(app))


async def test_a_product_that_shows_nothing_grows_before_a_class_sees_it() -> None:
    engine = FakeEngine()
    engine.answer_others(
        lambda loop: [
            RunStarted(),
            looped(loop, each=1e-3 if loop.case.size == 1000 else 20e-3, dispatch=1e-4),
            RunFinished(outcome="complete", elapsed_seconds=1.0),
        ]
    )
    async with app_on(engine, classroom=True).run_test(size=WIDE) as pilot:
        app = pilot.app
        assert isinstance(app, JaxtuiApp)
        await until(pilot, lambda: isinstance(app.screen, Classroom))
        await until(pilot, lambda: room(app)._clocks)
        assert room(app).loop.case.size == 1500
        assert [work.case.size for work in engine.works] == [1000, 1500]
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Classroom))


async def test_leaving_the_class_begins_no_loop() -> None:
    engine = FakeEngine()
    engine.answer_others(far_apart)
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: app.session.state.ops)
        await until(pilot, lambda: "p class" in text(app))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, TimelineScreen))
        await until(pilot, lambda: app.screen.measured)  # type: ignore[attr-defined]
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, Classroom))
        await until(pilot, lambda: room(app)._clocks)
        await pilot.press("r")
        await until(pilot, lambda: len(engine.works) > 2 and room(app)._clocks)
        works = len(engine.works)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, TimelineScreen))
        await pilot.pause()
        assert len(engine.works) == works
        assert app.screen.measured  # type: ignore[attr-defined]


async def test_a_recorded_run_stands_in_where_nothing_runs_and_is_marked() -> None:
    engine = FakeEngine(begun)
    engine.answer_others(lambda work: [RunStarted()])
    app = app_on(engine, classroom=True)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Classroom))
        await until(pilot, lambda: app.state.running)
        assert "RECORDED" not in text(app)
        await pilot.press("o")
        await until(pilot, lambda: "RECORDED" in text(app))
        await until(pilot, lambda: "stop" in engine.calls)
        for _ in range(8):
            await pilot.press("space")
            await until(pilot, lambda: "RECORDED" in text(app))
        assert len(engine.works) == 1
        # A program of this machine is none.
        engine.emit_run(RunFinished(outcome="cancelled", elapsed_seconds=0.1))
        await until(pilot, lambda: not app.state.running)
        engine.answer_others(far_apart)
        await pilot.press("r")
        await until(pilot, lambda: "RECORDED" not in text(app))
        await until(pilot, lambda: room(app)._clocks)
        clocks = room(app)._clocks
        assert clocks
        assert clocks.work == 0.541


async def test_without_an_engine_the_class_has_the_recorded_run() -> None:
    engine = FakeEngine(opening=())
    app = app_on(engine, classroom=True)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "start" in engine.calls)
        engine.held()
        await until(pilot, lambda: isinstance(app.screen, Classroom))
        await until(pilot, lambda: "RECORDED" in text(app))
        await pilot.press("space", "space")
        assert room(app).step == "race"
        room(app).perform("again")
        assert "no engine" in message(app)
