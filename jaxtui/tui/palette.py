"""What the command palette offers of the app's commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxtui.tui.bindings import COMMANDS
from jaxtui.tui.command import Command

if TYPE_CHECKING:
    from textual.screen import Screen


def offered(screen: Screen[object]) -> Iterator[Command]:
    """The commands that act on a screen, in the order of the table.

    Above the tabs that is all of them: one that belongs to another tab says so. On a
    screen that covers the tabs it is those to which the screen has given a key.
    """
    if not screen.is_modal:
        yield from COMMANDS
        return
    bound = {active.binding.action for active in screen.active_bindings.values()}
    for command in COMMANDS:
        if f"app.{command.action}" in bound:
            yield command
