"""When a run is told to end."""

from __future__ import annotations


def never() -> bool:
    """The stop flag of a run that nobody stops."""
    return False
