"""Screens that look the same everywhere, and commands as they are typed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.screen import Screen

from jaxtui import cli
from jaxtui.features.devices.load_panel import LoadPanel
from jaxtui.features.timeline import loops

TICK_SECONDS = 0.01
"""Between two redraws of the apps that are tested."""


@pytest.fixture(autouse=True)
def _same_terminal_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours, pace and animations must not depend on who runs the tests."""
    for name in ("NO_COLOR", "SSH_CONNECTION", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr(loops, "SETTLE_SECONDS", 0.001)
    # The load of the machine that runs the tests.
    monkeypatch.setattr(LoadPanel, "read", lambda _: None)


@pytest.fixture(autouse=True)
def _idle_is_when_nothing_is_left_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's own pilot takes a process for idle that gets no processor, and asks
    each of some hundred widgets whether it is through.
    """

    async def at_rest(*_: object) -> bool:
        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        quiet = turns = 0
        # An engine that never rests is waited for by conditions.
        while quiet < 3 and turns < 1000:
            await asyncio.sleep(0)
            turns += 1
            quiet = 0 if ready else quiet + 1
        return True

    undrawn: set[Screen[object]] = set()
    draw = Screen._compositor_refresh

    def drawn_later(screen: Screen[object]) -> None:
        if screen.app.is_headless and screen is screen.app.screen:
            undrawn.add(screen)
            screen._dirty_widgets.clear()
            screen.app._update_mouse_over(screen)
        else:
            draw(screen)

    async def settled(*_: object) -> None:
        await asyncio.sleep(TICK_SECONDS)
        await at_rest()

    async def settled_and_drawn(*_: object) -> None:
        await settled()
        # One frame of all that came since the last one; nobody looks at those between.
        while undrawn:
            screen = undrawn.pop()
            if screen.is_running and screen.is_current:
                screen.call_next(draw, screen)
                await at_rest()

    monkeypatch.setattr(Screen, "_compositor_refresh", drawn_later)

    monkeypatch.setattr("textual.app.wait_for_idle", settled)
    monkeypatch.setattr("textual.pilot.wait_for_idle", settled_and_drawn)
    monkeypatch.setattr("textual.pilot.Pilot._wait_for_screen", at_rest)
    monkeypatch.setattr("textual.screen.UPDATE_PERIOD", TICK_SECONDS / 2)


_parsed: dict[frozenset[tuple[str, str]], dict[object, object]] = {}


@pytest.fixture(autouse=True)
def _style_sheets_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All apps of a process have the same ones, a few hundred in each theme."""
    change = Stylesheet.set_variables

    def set_variables(sheet: Any, variables: dict[str, str]) -> None:
        sheet._parse_cache = {}
        change(sheet, variables)
        sheet._parse_cache = _parsed.setdefault(frozenset(variables.items()), {})

    monkeypatch.setattr(Stylesheet, "set_variables", set_variables)


@pytest.fixture(autouse=True)
def data(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Where history, baselines and progress are kept."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("JAXTUI_DATA", str(folder))
    return folder


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command; gives its exit code, stdout and stderr."""

    def run(*words: object) -> tuple[int, str, str]:
        code = cli.main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return run
