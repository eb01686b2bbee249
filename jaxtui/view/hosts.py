"""Several hosts: who leads, who follows."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.format import plural
from jaxtui.model import Following, Host

SHOWN = 4
"""Names of hosts in one line."""


def following_text(event: Following) -> str:
    """Whom this process follows, in a line."""
    return (
        f"Process {event.process} of {event.processes} follows process 0 on"
        f" {event.leader}. Ctrl-C leaves."
    )


def hosts_text(hosts: Sequence[Host]) -> str:
    """``4 processes on node-1, node-2``; empty of a process alone."""
    names = tuple(dict.fromkeys(host.hostname for host in hosts))
    if not names:
        return ""
    shown = ", ".join(names) if len(names) <= SHOWN else plural(len(names), "host")
    return f"{plural(len(hosts), 'process')} on {shown}"
