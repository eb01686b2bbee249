"""Reading and writing in threads, so that the screen never waits for a disk."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

_T = TypeVar("_T")

Work = Callable[[], Awaitable[None]]
"""The coroutine function that ``run_worker`` takes."""


async def in_thread(question: Callable[[], _T]) -> _T:
    """Answer a question in a thread of its own.

    Unlike a thread of asyncio's pool, it does not hold up the end of the app: a file
    may be locked for seconds, and on a network that is gone for ever.

    Raises:
        BaseException: Whatever the question raised.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_T] = loop.create_future()

    def settle(act: Callable[[Any], None], value: object) -> None:
        if not answer.done():
            act(value)

    def work() -> None:
        outcome: tuple[Callable[[Any], None], object]
        try:
            outcome = answer.set_result, question()
        except BaseException as error:  # it belongs to who asked
            outcome = answer.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, name="disk", daemon=True).start()
    return await answer


class Latest:
    """Asks one question at a time; of those that come meanwhile only the newest.

    So typing fast asks no more than the disk can answer, and an answer to an older
    question is dropped.
    """

    def __init__(self) -> None:
        self._next: tuple[Callable[[], Any], Callable[[Any], None]] | None = None
        self._going = False

    async def ask(
        self, question: Callable[[], _T], answered: Callable[[_T], None]
    ) -> None:
        """Ask it, or leave it to whoever is asking already.

        Args:
            question: Called in a thread; it should not raise.
            answered: Given the answer, unless there is a newer question.
        """
        self._next = question, answered
        if self._going:
            return
        self._going = True
        try:
            while self._next is not None:
                (now, take), self._next = self._next, None
                answer = await in_thread(now)
                if self._next is None:
                    take(answer)
        finally:
            self._going = False
