"""The async view while a loop runs, fails, or is stopped."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual.widgets import Static

from jaxtui.model import (
    Loop,
    LoopSeen,
    LoopStarted,
    Peak,
    RunEvent,
    RunFinished,
    WorkFailed,
)
from tests.tui.driving import app_on, until, until_ready
from tests.tui.fake_engine import FakeEngine, looped, tpu_devices
from tests.tui.looping import (
    NARROW,
    WIDE,
    answers,
    lanes,
    open_view,
    shown,
    until_measured,
    view,
)

pytestmark = pytest.mark.usefixtures("long_enough_to_be_held_back")


async def test_a_claim_above_the_peak_and_work_that_is_inline() -> None:
    engine = FakeEngine(tpu_devices())
    peak = Peak(flops_per_second=1e12, bytes_per_second=None, source="somewhere")
    answers(engine, peak=peak)
    app = app_on(engine)
    async with app.run_test(size=WIDE) as pilot:
        await open_view(pilot, app)
        await until_measured(pilot, app)
        headline = view(app).query_one("#loop-headline", Static).content
        assert "faster than the chip's peak: this timed the dispatch" in str(headline)
        assert "IMPOSSIBLE" in str(headline)
        styles = [str(span.style) for span in headline.spans]  # type: ignore[union-attr]
        assert any("error" in style for style in styles)

        # What runs inline is never called asynchronous.
        answers(engine, inline=True)
        await pilot.press("r")
        await until(
            pilot, lambda: "Nothing here is asynchronous" in shown(app, "headline")
        )
        await until_measured(pilot, app)
        assert "inferred" not in lanes(app).text
        assert "inside the call" in shown(app, "call")
        assert "Nothing is ever in flight" in shown(app, "depth")


def begins(work: object) -> Sequence[RunEvent]:
    """A loop that does not end by itself."""
    assert isinstance(work, Loop)
    return [LoopStarted(loop=work)]


async def test_a_loop_grows_and_is_stopped_by_a_key_and_by_another_loop() -> None:
    engine = FakeEngine(scripted=False)
    engine.answer = begins
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

        await pilot.press("s")
        await until(pilot, lambda: "stop" in engine.calls and not app.state.running)
        await until(pilot, lambda: "Stopped before" in shown(app, "headline"))

        # Another style stops the loop that goes on.
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        answers(engine)
        await pilot.press("b")
        await until_measured(pilot, app)
        styles = [work.style for work in engine.works if isinstance(work, Loop)]
        assert styles == ["never", "never", "end"]
        assert engine.calls.count("stop") == 2


async def test_failure_and_death_are_said_and_r_runs_again() -> None:
    engine = FakeEngine()

    def fails(work: object) -> Sequence[RunEvent]:
        return [
            *begins(work),
            WorkFailed(error="It needs 40 GiB.", hint="Choose a smaller size."),
            RunFinished(outcome="complete", elapsed_seconds=0.1),
        ]

    engine.answer = fails
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_view(pilot, app)
        await until(pilot, lambda: "40 GiB" in shown(app, "headline"))
        assert "Choose a smaller size." in shown(app, "headline")
        engine.answer = begins
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        assert "40 GiB" not in shown(app, "headline")
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
