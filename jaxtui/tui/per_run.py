"""What is worked out once for each snapshot of a run, however often it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jaxtui.tui.run_state import RunState

_T = TypeVar("_T")


def once_per_run(work_out: Callable[[RunState], _T]) -> Callable[[RunState], _T]:
    """A function that remembers its answer for the snapshot that it was last asked of.

    Every case of a run asks about all of its cases: without this, a redraw of a
    thousand cases looks at a million.
    """
    last: tuple[RunState, _T] | None = None

    def answer(run: RunState) -> _T:
        nonlocal last
        if last is None or last[0] is not run:
            last = run, work_out(run)
        return last[1]

    return answer
