"""The expressions of a snippet that are timed repeatedly: all of them take turns."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from time import perf_counter

from jaxtui.measure.snippets.queue import Queue
from jaxtui.measure.turns import ROUNDS_WANTED, TURN_SECONDS
from jaxtui.model import Timing
from jaxtui.stats import median, rounds_interval, summarize

Scope = Callable[[], AbstractContextManager[None]]

TARGET_HALF_WIDTH = 0.03

SPREAD_SECONDS = 2.0
"""How long the rounds last at least, unless the budget is shorter."""

WARM_UP_CALLS = 2
WARM_UP_SECONDS = 0.1
WARM_UP_SECONDS_AT_MOST = 2.0

TELLING_SHARE = 0.1
"""Share of the time that may go into summaries, where there are calls beyond number."""


class PartError(Exception):
    """A timed expression raised, or is none."""

    def __init__(self, name: str, error: Exception) -> None:
        """Keep the part's name and what it raised."""
        super().__init__(name)
        self.name, self.error = name, error


def clock(call: Callable[[], object], queue: Queue) -> float:
    """Seconds until ``call`` returned. What it left to do is waited for afterwards."""
    start = perf_counter()
    value = call()
    seconds = perf_counter() - start
    queue.drain(value)
    return seconds


class Ticker:
    """The turns of one expression."""

    def __init__(
        self, name: str, call: Callable[[], object], queue: Queue, scope: Scope
    ) -> None:
        """Take the expression as a function, and the scope in which it is called."""
        self.name = name
        self.turn_seconds = 0.0
        """How long its last turn took, with everything around the clock."""
        self._call, self._queue, self._scope = call, queue, scope
        self._rounds: list[list[float]] = []
        self._medians: list[float] = []
        self._tell_at = 0.0

    def warm_up(self) -> None:
        """Calls that do not count: two and 0.1 s, fewer where they are long.

        Raises:
            PartError: The expression raised.
        """
        start, calls, spent = perf_counter(), 0, 0.0
        with self._calling():
            while calls < WARM_UP_CALLS or spent < WARM_UP_SECONDS:
                clock(self._call, self._queue)
                calls, spent = calls + 1, perf_counter() - start
                if spent > WARM_UP_SECONDS_AT_MOST:
                    return

    def turn(self, seconds: float) -> None:
        """A round: about ``seconds`` of calls, one at least.

        Raises:
            PartError: The expression raised.
        """
        start = perf_counter()
        taken: list[float] = []
        with self._calling():
            while not taken or perf_counter() - start < seconds:
                taken.append(clock(self._call, self._queue))
        self._rounds.append(taken)
        self._medians.append(median(taken))
        self.turn_seconds = perf_counter() - start

    @property
    def narrow(self) -> bool:
        """Whether there are rounds enough, and their interval is narrow."""
        if len(self._medians) < ROUNDS_WANTED:
            return False
        return rounds_interval(self._medians).half_width <= TARGET_HALF_WIDTH

    @property
    def may_tell(self) -> bool:
        """Whether a summary is due again: of a million calls it takes a while."""
        return perf_counter() >= self._tell_at

    def timing(self) -> Timing:
        """The timing as it stands, after one turn at least."""
        start = perf_counter()
        made = Timing(name=self.name, seconds=summarize(self._rounds))
        end = perf_counter()
        spent = end - start
        at_once = spent <= TELLING_SHARE * self.turn_seconds
        self._tell_at = 0.0 if at_once else end + spent / TELLING_SHARE
        return made

    @contextlib.contextmanager
    def _calling(self) -> Iterator[None]:
        with contextlib.redirect_stdout(io.StringIO()), self._scope():
            try:
                yield
            except Exception as error:
                raise PartError(self.name, error) from error


def take_turns(
    tickers: Sequence[Ticker], end: float, stop: Callable[[], bool]
) -> Generator[Ticker, None, None]:
    """Each ticker after each of its turns, until all are done or stopped.

    Everybody has a turn, even where there is no time for it.

    Args:
        tickers: Warmed up.
        end: On the clock of ``perf_counter``.
        stop: Asked before each turn.

    Raises:
        PartError: An expression raised.
    """
    order, chance = list(tickers), random.Random(0)
    start = perf_counter()
    length = _turn_seconds(end - start, len(order))
    while order and not stop():
        chance.shuffle(order)
        for ticker in order:
            if stop():
                return
            ticker.turn(length * (1 + 0.2 * chance.random()))
            yield ticker
        if _done(order, start, end):
            return


def _turn_seconds(available: float, tickers: int) -> float:
    # Two to spare, for what happens between the turns.
    rounds = ROUNDS_WANTED + 2
    fair = available / (rounds * max(1, tickers))
    return max(0.002, min(TURN_SECONDS, fair))


def _done(tickers: Sequence[Ticker], start: float, end: float) -> bool:
    """Whether all are narrow, or another round would overrun the end."""
    now = perf_counter()
    if now + sum(ticker.turn_seconds for ticker in tickers) > end:
        return True
    return now - start >= SPREAD_SECONDS and all(each.narrow for each in tickers)
