"""The actions of the tab Learn."""

from __future__ import annotations


class LearnActions:
    """A part of the app."""
