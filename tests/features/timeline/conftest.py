from __future__ import annotations

import pytest

from jaxtui.features.timeline import loops


@pytest.fixture
def long_enough_to_be_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up runtime holds the host of a loop back from call 33 on."""
    monkeypatch.setattr(loops, "FIRST_CALLS", 40)
