"""Runs a loop of calls and watches when its results become ready."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxtui.model import Loop, RunEvent


def run_loop(loop: Loop, *, stop: Callable[[], bool]) -> Iterator[RunEvent]:
    """Not written yet."""
    raise NotImplementedError
