"""The actions of the async view."""

from __future__ import annotations


class LoopActions:
    """A part of the app."""
