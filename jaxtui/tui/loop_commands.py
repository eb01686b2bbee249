"""What the keys do in the async view."""

from __future__ import annotations

from jaxtui.tui.command import Command

LOOP_COMMANDS: tuple[Command, ...] = ()
"""What works in the async view only."""

OPEN_LOOP: tuple[Command, ...] = ()
"""What opens it, from every tab."""
