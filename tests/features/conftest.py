"""Screens and commands of features are tested as those of the app are."""

from tests.ui.conftest import (
    _idle_is_when_nothing_is_left_to_do,
    _same_terminal_everywhere,
    _style_sheets_are_parsed_once,
    data,
    run,
)

__all__ = [
    "_idle_is_when_nothing_is_left_to_do",
    "_same_terminal_everywhere",
    "_style_sheets_are_parsed_once",
    "data",
    "run",
]
