"""Ctrl-C, SIGTERM and SIGHUP: the ways in which a process is asked to end.

The first signal stops what is running in good order: what had arrived is printed,
written and kept; a second one ends it at once. One handler does it from the first line
to the last, because a signal in an import, between two runs or while something is
printed must lose nothing either.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from types import FrameType
from typing import Any, TypeVar

_Result = TypeVar("_Result")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

PATIENCE_SECONDS = 3.0
"""Seconds that an immediate ending may take before it is forced."""

LAST_TURNS = 10
"""Turns of the event loop in which the contents of a pipe reach their store."""

Stop = Callable[[bool], Coroutine[Any, Any, None] | None]
"""Begins to stop the run, at once if ``True``; ``None`` if all is to be ended."""


def signal_name(number: int) -> str:
    """``SIGABRT``; ``signal 40`` where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def exit_within(seconds: float, code: int) -> threading.Timer:
    """End this process after ``seconds`` unless it has ended by then.

    Writing to a terminal that is gone or is not read blocks for ever. The engine
    then misses a goodbye and ends too.
    """
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
    return timer


def _ignore() -> None:
    """Python takes a while to end, when there is nothing left to lose."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


class Interrupt:
    """The first signal that asked this process to end, and what is to follow."""

    def __init__(self) -> None:
        """Start without a signal."""
        self._handles = False
        self._reset()

    def _reset(self) -> None:
        self.number = 0
        """The number of the first signal; 0 before."""
        self.last = 0
        """The number of the newest."""
        self._waits = False
        """True if the running work decides itself when it ends."""
        self._tell: Callable[[bool], object] | None = None
        self._worked = False
        """The work is done: what is left is to print."""
        self._limit: threading.Timer | None = None

    @property
    def happened(self) -> bool:
        """True once a signal has arrived."""
        return self.number != 0

    @property
    def code(self) -> int:
        """The exit code that tells which."""
        return 128 + self.number

    @contextlib.contextmanager
    def handled(self, early: Sequence[int] = ()) -> Iterator[None]:
        """Take note of signals in this block instead of dying of them.

        Whoever started the process may have it survive a hang-up (``nohup``).

        Args:
            early: those that have come before.
        """
        in_main = threading.current_thread() is threading.main_thread()
        if self._handles or not in_main:
            yield
            return
        self._reset()
        self._handles = True
        before = {number: signal.getsignal(number) for number in SIGNALS}
        if before[signal.SIGHUP] is signal.SIG_IGN:
            del before[signal.SIGHUP]
        for number in before:
            signal.signal(number, self._arrived)
        if early:
            signal.alarm(0)
            self.number = self.number or early[0]
            self.last = self.last or early[-1]
        atexit.register(_ignore)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)
            self._handles = False

    def heed(self, number: int) -> None:
        """Take note of one more signal."""
        signal.signal(number, self._arrived)

    def notify(self, callback: Callable[[bool], None]) -> None:
        """Have the running event loop call this for every signal, a past one too.

        Args:
            callback: takes whether the signal is not the first.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        self._tell = lambda again: loop.call_soon_threadsafe(callback, again)
        # One of an earlier block, as in a test before, belongs to no block any more.
        if self._handles and self.happened:
            callback(False)

    def run(
        self,
        work: Coroutine[Any, Any, _Result],
        stop: Stop = lambda _: None,
        *,
        waits: bool = False,
    ) -> _Result | None:
        """Run a coroutine in an event loop and return its result; ``None`` if
        interrupted.

        Args:
            work: is cancelled by a signal, unless ``stop`` has something to do.
            stop: see there.
            waits: a second signal forces no end: ``stop`` sees to that.
        """
        import asyncio

        self._waits = waits

        async def working() -> _Result:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            endings: list[asyncio.Task[None]] = []

            async def break_off() -> None:
                for _ in range(LAST_TURNS):
                    await asyncio.sleep(0)
                if task is not None:
                    task.cancel()

            def note(again: bool) -> None:
                endings.append(loop.create_task(stop(again) or break_off()))

            try:
                self.notify(note)
                if self.happened:
                    raise asyncio.CancelledError
                return await work
            finally:
                self._tell, self._worked, self._waits = None, True, False

        try:
            return asyncio.run(working())
        except asyncio.CancelledError:
            return None
        finally:
            work.close()
            if self._limit is not None:
                self._limit.cancel()
                self._limit = None

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        again = self.happened
        self.number, self.last = self.number or number, number
        if self._tell is not None:
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                self._tell(again)
        if self._waits:
            return
        if self._limit is None and (again or not (self._tell or self._worked)):
            # On a busy machine imports take seconds, and the document comes after them.
            seconds = PATIENCE_SECONDS if again else 3 * PATIENCE_SECONDS
            self._limit = exit_within(seconds, self.code)


interrupt = Interrupt()
"""The signals of this process."""
