"""What the keys of the health check do."""

from __future__ import annotations

from jaxtui.tui.command import Command

CHECK_COMMANDS: tuple[Command, ...] = (
    Command(
        "check",
        "c,ctrl+k",
        "check('quick')",
        "Check",
        "Check this machine (quick): is everything there, right and fast?",
        "Check",
        footer=True,
        tab="devices",
    ),
    Command(
        "full-check",
        "C,ctrl+e",
        "check('full')",
        "Full check",
        "Check this machine thoroughly (full): it takes some minutes.",
        "Check",
        tab="devices",
    ),
    Command(
        "check-panel",
        "escape",
        "check_panel",
        "Hide",
        "Stop the check that is going on; hide the last one, or show it again.",
        "Check",
        tab="devices",
    ),
)


def is_of_a_check(action: str) -> bool:
    """Whether an action means something only once there is a check."""
    return action == "check_panel"
