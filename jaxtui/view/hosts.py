"""Several hosts: who leads, who follows."""

from __future__ import annotations

from jaxtui.model import Following


def following_text(event: Following) -> str:
    """Whom this process follows, in a line."""
    return (
        f"Process {event.process} of {event.processes} follows process 0 on"
        f" {event.leader}. Ctrl-C leaves."
    )
