"""Waiting for what the app shows, without sleeping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from textual.pilot import Pilot

from jaxtui.tui.app import JaxtuiApp
from tests.tui.fake_engine import FakeEngine

DEADLINE_SECONDS = 120.0
"""How long a condition may take to come true on a machine that is busy."""


def app_on(engine: FakeEngine, **options: object) -> JaxtuiApp:
    return JaxtuiApp(engine, fps=100, **options)  # type: ignore[arg-type]


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
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
