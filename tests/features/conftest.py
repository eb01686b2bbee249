"""Screens of features are tested as those of the app are."""

from tests.tui.conftest import (
    _idle_is_when_nothing_is_left_to_do,
    _same_terminal_everywhere,
)

__all__ = ["_idle_is_when_nothing_is_left_to_do", "_same_terminal_everywhere"]
