"""What the keys do in the tab Learn."""

from __future__ import annotations

from jaxtui.tui.command import Command

LEARN_COMMANDS: tuple[Command, ...] = ()
