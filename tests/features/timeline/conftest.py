"""Screens as the tests of the tabs have them."""

import pytest

from jaxtui.features.timeline import loops
from tests.measure.conftest import planted
from tests.tui.conftest import (
    _idle_is_when_nothing_is_left_to_do,
    _same_terminal_everywhere,
)

__all__ = [
    "_idle_is_when_nothing_is_left_to_do",
    "_same_terminal_everywhere",
    "planted",
]


@pytest.fixture
def long_enough_to_be_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up runtime holds the host of a loop back from call 33 on."""
    monkeypatch.setattr(loops, "FIRST_CALLS", 40)
