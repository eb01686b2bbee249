"""The pace of redraws: limited by the bytes that the terminal is sent.

A slow link shows what is sent to it seconds later, and then every key press seems
lost; so redraws without a key press wait until the link could have carried the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.driver import Driver

BYTES_PER_SECOND = 16_000
"""Below the promise of 20 KB/s, which key presses and the clock share."""


class Pacer:
    """A budget of bytes that fills with time and is spent by every write."""

    def __init__(
        self,
        bytes_per_second: float = BYTES_PER_SECOND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = bytes_per_second
        self._clock = clock
        self._balance = 0.0
        self._filled = clock()
        self.written = 0

    def spend(self, count: int) -> None:
        self.written += count
        # A first paint of 80 KB must not silence the plot for five seconds.
        self._balance = max(self._balance - count, -2 * self._rate)

    def ready(self) -> bool:
        """Return whether a redraw may be sent now."""
        now = self._clock()
        self._balance += (now - self._filled) * self._rate
        self._balance = min(self._balance, 0.0)
        self._filled = now
        return self._balance >= 0


def counted(driver: type[Driver], spend: Callable[[int], None]) -> type[Driver]:
    """Return the driver class with a ``spend`` call for the bytes of each write."""

    class Counted(driver):  # type: ignore[valid-type, misc]
        def write(self, data: str) -> None:
            spend(len(data.encode("utf-8", "replace")))
            super().write(data)

        def _sigcont_application(self, *arguments: object) -> None:
            # A shell that hangs up continues its jobs, also those that run: starting
            # again without having stopped would leave two threads writing.
            if self._must_signal_resume:
                super()._sigcont_application(*arguments)

    return Counted


def backlog(driver: Driver | None) -> int:
    """Writes that the terminal has not taken yet.

    Textual has no public name for this; where its writer thread is absent (tests,
    other platforms) nothing is queued.
    """
    writer = getattr(driver, "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return 0 if queue is None else int(queue.qsize())
