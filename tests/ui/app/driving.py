"""Waiting for what the app shows, without sleeping, and reading it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.content import Content
from textual.pilot import Pilot
from textual.widget import Widget

from jaxtui.ui import words
from jaxtui.ui.app.app import JaxtuiApp
from tests.fake_engine import FakeEngine

DEADLINE_SECONDS = 60.0
"""How long a condition may take to come true on a machine that is busy."""


def app_on(engine: FakeEngine, **options: object) -> JaxtuiApp:
    return JaxtuiApp(engine, fps=30, **options)  # type: ignore[arg-type]


@asynccontextmanager
async def opened(
    engine: FakeEngine, size: tuple[int, int] = (80, 24), **options: object
) -> AsyncIterator[tuple[Pilot[None], JaxtuiApp]]:
    """The app, once the devices are known."""
    app = app_on(engine, **options)
    async with app.run_test(size=size) as pilot:
        await until_ready(pilot, app)
        yield pilot, app


async def until(pilot: Pilot[None], condition: Callable[..., object]) -> None:
    """Let the app work until the condition holds."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < end, "the condition never came true"
        await pilot.pause()
        await asyncio.sleep(0)


async def until_ready(pilot: Pilot[None], app: JaxtuiApp) -> None:
    await until(pilot, lambda: app.state.engine == "ready" and app.state.devices)


async def until_done(pilot: Pilot[None], app: JaxtuiApp) -> None:
    await until(pilot, lambda: app.state.run is not None and not app.state.running)


# What is on screen.


def message(app: JaxtuiApp) -> str:
    """What the line of messages says."""
    said = app.session.state.message
    return said if isinstance(said, str) else words.text(said)


def lines(app: JaxtuiApp, selector: str | None = None) -> str:
    """All of it, or what stands in the place of a widget."""
    region = app.screen.region if selector is None else app.query_one(selector).region
    found = app.screen._compositor.render_strips()
    return "\n".join(
        "".join(part.text for part in line)[region.x : region.right]
        for line in found[region.y : region.bottom]
    )


def plain(app: JaxtuiApp, selector: str | type[Widget]) -> str:
    """What a widget writes, without its colours."""
    content = app.screen.query_one(selector).render()
    return getattr(content, "plain", str(content))


def border(app: JaxtuiApp, panel: str) -> tuple[str, str]:
    """Its title, and the keys below."""
    found = app.query_one(panel)
    keys = Content.from_markup(found.border_subtitle or "").plain
    return Content.from_markup(found.border_title or "").plain, keys
