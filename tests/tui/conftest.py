"""What every test of a screen needs."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _same_terminal_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours, pace and animations must not depend on who runs the tests."""
    for name in ("NO_COLOR", "SSH_CONNECTION", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
