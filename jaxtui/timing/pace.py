"""Steps that processes which run the same program take together.

A collective ends when all have called it, so that all must call as often, in the same
order. Whatever is decided by a clock, by chance or by the user is decided by one of
them, once a turn, and the others read it. What they read are numbers and remarks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Value = TypeVar("_Value")


class Pace:
    """The pace of a process that decides for itself alone."""

    shared = False
    """Others do the same at the same time."""
    decides = True
    """True if this process decides; the others read its decisions."""
    turn_seconds = 0.0
    """The shortest turn that hides what a decision costs."""

    def decide(self, value: Callable[[], _Value], kind: Any) -> _Value:
        """Return the same value in all processes: the first process's.

        Args:
            value: makes it, in the process that decides.
            kind: the type of it, as msgspec decodes it.
        """
        return value()

    def gather(self, value: _Value, kind: Any) -> list[_Value]:
        """The values of all, in the first of them; the others have their own alone."""
        return [value]

    def fail(self, error: BaseException) -> None:
        """Report that this process cannot go on, so that the others don't wait."""


ALONE = Pace()
