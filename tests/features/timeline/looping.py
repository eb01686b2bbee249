"""The timeline on a fake engine: what the tests of its screens have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
from textual.pilot import Pilot

from jaxtui.core.model import Case, Loop, RunEvent, RunFinished, RunStarted, Snippet
from jaxtui.features.timeline.lane_view import LaneView
from jaxtui.features.timeline.lanes import Shot
from jaxtui.features.timeline.screen import TimelineScreen
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.sheet import Sheet
from tests.fake_engine import FakeEngine, looped
from tests.ui.app.driving import app_on, until

NARROW, WIDE = (80, 24), (120, 40)
CASE = Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit")


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def view(app: JaxtuiApp) -> TimelineScreen:
    assert isinstance(app.screen, TimelineScreen)
    return app.screen


def lanes(app: JaxtuiApp) -> LaneView:
    return view(app).query_one(LaneView)


def shot(app: JaxtuiApp) -> Shot:
    """What of the loop is drawn."""
    return lanes(app).shot


def shown(app: JaxtuiApp, panel: str) -> str:
    """What is written in a panel, its title first, with single blanks."""
    found = view(app).query_one(f"#{panel}")
    texts = [sheet.text for sheet in found.query(Sheet)]
    lines = "\n".join([str(found.border_title or ""), *texts]).split("\n")
    return "\n".join(" ".join(line.split()) for line in lines)


async def until_shown(
    pilot: Pilot[None], app: JaxtuiApp, panel: str, *texts: str
) -> None:
    """Until a panel has these texts; with a minus before one, until it is gone."""
    for text in texts:
        word, there = text.removeprefix("−"), not text.startswith("−")

        def said(word: str = word, there: bool = there) -> bool:
            return (word in shown(app, panel)) is there

        await until(pilot, said)


async def open_view(pilot: Pilot[None], app: JaxtuiApp) -> TimelineScreen:
    await until(pilot, lambda: app.state.devices)
    await pilot.press("a")
    await until(pilot, lambda: isinstance(app.screen, TimelineScreen))
    await until(pilot, lambda: shown(app, "figures").strip())
    return view(app)


async def until_measured(pilot: Pilot[None], app: JaxtuiApp) -> None:
    """Until the loop that was asked for last is drawn."""
    await until(pilot, lambda: view(app).measured and not app.state.running)
    await until(pilot, lambda: "device" in lanes(app).text)


@asynccontextmanager
async def on_timeline(
    engine: FakeEngine | None = None,
    size: tuple[int, int] = NARROW,
    *,
    measured: bool = True,
    **options: object,
) -> AsyncIterator[tuple[Pilot[None], JaxtuiApp, TimelineScreen]]:
    """The timeline, and with ``measured`` once its first loop is drawn."""
    app = app_on(engine or FakeEngine(), **options)
    async with app.run_test(size=size) as pilot:
        screen = await open_view(pilot, app)
        if measured:
            await until_measured(pilot, app)
        yield pilot, app, screen


def answers(engine: FakeEngine, **changes: object) -> None:
    """Let every loop come out with these changes."""

    def answer(work: Loop | Snippet) -> Sequence[RunEvent]:
        assert isinstance(work, Loop)
        measured = msgspec.structs.replace(looped(work), **changes)
        finished = RunFinished(outcome="complete", elapsed_seconds=1.0)
        return [RunStarted(), measured, finished]

    engine.answer_others(answer)
