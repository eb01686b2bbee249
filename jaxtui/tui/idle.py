"""When nobody is there, the accelerator is for others."""

from __future__ import annotations

from collections.abc import Callable

IDLE_SECONDS = 600.0
"""Ten minutes."""


class IdleWatch:
    """Tells when a held accelerator has been idle for too long.

    Args:
        hold: never.
        clock: monotonic seconds.
    """

    def __init__(self, *, hold: bool, clock: Callable[[], float]) -> None:
        self._hold = hold
        self._clock = clock
        self._last = clock()

    def touch(self) -> None:
        """Somebody did something."""
        self._last = self._clock()

    def over(self, *, held: bool, busy: bool) -> bool:
        """Whether it is time to release; counts anew from then on.

        Args:
            held: an accelerator is held.
            busy: a run is going on.
        """
        if self._hold or busy or not held:
            return False
        if self._clock() - self._last < IDLE_SECONDS:
            return False
        self.touch()
        return True
