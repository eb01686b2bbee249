"""What every test of a screen needs."""

from __future__ import annotations

import pytest

from jaxtui.tui import loop_actions


@pytest.fixture(autouse=True)
def _same_terminal_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours, pace and animations must not depend on who runs the tests."""
    for name in ("NO_COLOR", "SSH_CONNECTION", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


@pytest.fixture
def long_enough_to_be_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up runtime holds the host of a loop back from call 33 on."""
    monkeypatch.setattr(loop_actions, "FIRST_CALLS", 40)
