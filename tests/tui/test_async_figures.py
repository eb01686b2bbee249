"""The figures of the async view: giant numbers, and the queue."""

from __future__ import annotations

import msgspec
import pytest

from jaxtui.model import (
    Loop,
    LoopStarted,
    Note,
    RunFinished,
    WorkFailed,
)
from jaxtui.tui import loop_words
from jaxtui.tui.lanes import queue, timeline
from jaxtui.tui.widgets.giant import Giant
from jaxtui.tui.widgets.plot_view import PlotView
from tests.tui.driving import app_on, until
from tests.tui.fake_engine import FakeEngine, looped
from tests.tui.looping import (
    CASE,
    NARROW,
    answers,
    frame,
    lanes,
    open_view,
    shown,
    until_measured,
)

pytestmark = pytest.mark.usefixtures("long_enough_to_be_held_back")


async def test_giant_numbers_hide_the_truth_until_space() -> None:
    engine = FakeEngine()
    engine.answer = lambda work: [LoopStarted(loop=work)]  # type: ignore[arg-type]
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        giant = screen.query_one(Giant)
        # Why there are none.
        await pilot.press("g", "space")
        await until(pilot, lambda: "0 of 40 are ready" in "\n".join(frame(app)))
        assert not giant.revealed
        failed = WorkFailed(error="It needs 40 GiB.", hint="Choose a smaller size.")
        finished = RunFinished(outcome="complete", elapsed_seconds=0.1)
        engine.emit_run(failed, finished)
        await until(pilot, lambda: "It needs 40 GiB." in "\n".join(frame(app)))
        await pilot.press("g")
        assert not giant.display

        answers(engine)
        await pilot.press("r")
        await until_measured(pilot, app)
        await pilot.press("g")
        await until(pilot, lambda: giant.display and giant.size.height)
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


async def test_the_queue_is_drawn_and_its_depth_is_said() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        screen = await open_view(pilot, app)
        await pilot.press("k")
        await until_measured(pilot, app)
        assert queue(timeline(app.state.loop.seen)).held == 32
        await pilot.press("d")
        plot = screen.query_one("#loop-plot", PlotView)
        await until(pilot, lambda: plot.text.strip())
        assert "in flight at most 32" in shown(app, "depth")
        assert not lanes(app).display
        await pilot.press("d")
        await until(pilot, lambda: lanes(app).display)


def test_a_loop_too_short_to_fill_the_queue_says_so() -> None:
    measured = looped(Loop(case=CASE, calls=20))
    line = timeline(measured.calls)
    assert "longer loop" in loop_words.depth(line, queue(line), measured)
    measured = msgspec.structs.replace(measured, queue_depth=0)
    assert "64 calls" in loop_words.depth(line, queue(line), measured)


def test_what_is_said_of_a_function_comes_behind_what_is_said_of_the_loop() -> None:
    said = (Note(flag="own", text="Counted by XLA."), Note(flag="few", text="One."))
    measured = msgspec.structs.replace(looped(Loop(case=CASE, calls=20)), notes=said)
    notes = loop_words.notes(measured, all_of_them=False)
    assert [note.flag for note in notes] == ["few", "watched", "own"]
