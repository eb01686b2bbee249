"""Runs a snippet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxtui.model import RunEvent, Snippet


def run_snippet(snippet: Snippet, *, stop: Callable[[], bool]) -> Iterator[RunEvent]:
    """Not written yet."""
    raise NotImplementedError
