"""Runs a snippet: its setup, its parts in order, then turns for what is timed often."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from time import perf_counter

import jax
import jax.numpy as jnp
import msgspec

from jaxtui.measure import devices
from jaxtui.measure.snippets.apart import run_apart
from jaxtui.measure.snippets.code import Namespace
from jaxtui.measure.snippets.queue import Queue
from jaxtui.measure.snippets.troubles import failure, refusal
from jaxtui.measure.snippets.turns import PartError, Ticker, take_turns
from jaxtui.measure.snippets.values import show
from jaxtui.measure.stopping import never
from jaxtui.measure.turns import quiet_collector
from jaxtui.measure.x64 import enable_x64
from jaxtui.model import (
    Progress,
    RunEvent,
    RunFinished,
    Shown,
    Snippet,
    SnippetShown,
    SnippetStarted,
    SnippetTimed,
    Timed,
    WorkFailed,
)

ROUNDS_SHARE = 0.3
"""Share of the budget that the rounds have in any case, however long compiling took."""


def run_snippet(
    snippet: Snippet, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Run a snippet in the calling thread, or in a process of its own if it asks.

    The first event is ``SnippetStarted``, the last ``RunFinished``; ``WorkFailed``
    comes before it where something is wrong as a whole. Nothing happens until the first
    event is asked for, and closing the generator ends the run. The snippet's default
    device, its 64-bit types and the place of its output never hold for whoever
    consumes the events.

    Args:
        snippet: What to run.
        stop: Asked between turns and parts; once true, the run ends as ``cancelled``.
    """
    start = perf_counter()
    yield SnippetStarted(snippet=snippet)
    if snippet.cpu_devices is not None:
        yield from run_apart(snippet, stop)
    else:
        with quiet_collector():
            yield from _Run(snippet, stop).events()
    yield RunFinished(
        outcome="cancelled" if stop() else "complete",
        elapsed_seconds=perf_counter() - start,
    )


class _Run:
    """A snippet in this process and thread."""

    def __init__(self, snippet: Snippet, stop: Callable[[], bool]) -> None:
        self._snippet = snippet
        self._stop = stop
        self._start = perf_counter()
        self._end = self._start + snippet.budget
        self._names = Namespace(snippet.title)
        self._device: jax.Device | None = None

    def events(self) -> Iterator[RunEvent]:
        if problem := self._refusal():
            yield problem
            return
        yield self._progress("setting up")
        try:
            queue = self._set_up()
        except Exception as error:
            yield failure("The setup", error)
            return
        try:
            tickers = yield from self._in_order(queue)
            yield from self._warm_up(tickers)
            yield from self._rounds(tickers)
        except PartError as failed:
            yield failure(repr(failed.name), failed.error)

    def _refusal(self) -> WorkFailed | None:
        if self._snippet.device is not None:
            try:
                self._device = devices.find(self._snippet.device)
            except ValueError as error:
                return WorkFailed(error=str(error), hint="`jaxtui devices` lists them.")
        with self._scope():
            (device,) = jnp.zeros(()).devices()
        return refusal(self._snippet.memory_bytes, device)

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """What holds wherever code of the snippet runs."""
        with ExitStack() as stack:
            wide = "float64" if self._snippet.x64 else "float32"
            stack.enter_context(enable_x64(wide))
            if self._device is not None:
                stack.enter_context(jax.default_device(self._device))
            yield

    def _set_up(self) -> Queue:
        # What the setup prints belongs in the log, not in the engine's own output.
        with self._scope(), redirect_stdout(sys.stderr):
            queue = Queue(self._device)
            self._names.set_up(self._snippet.setup)
            queue.drain()
            return queue

    def _in_order(self, queue: Queue) -> Generator[RunEvent, None, list[Ticker]]:
        """What happens once; returns what is left to take turns."""
        repeated: list[Ticker] = []
        for part in self._snippet.parts:
            if self._stop():
                break
            if isinstance(part, Shown):
                yield self._progress(part.name)
                yield self._shown(part, queue)
                continue
            ticker = self._ticker(part, queue)
            if part.once:
                yield self._progress(part.name)
                ticker.turn(0.0)
                timing = msgspec.structs.replace(ticker.timing(), once=True)
                yield SnippetTimed(timing=timing)
            else:
                repeated.append(ticker)
        return repeated

    def _shown(self, part: Shown, queue: Queue) -> SnippetShown:
        def run() -> object:
            value = self._names.run(part.code, part.name)
            queue.drain(value)
            return value

        with self._scope():
            return SnippetShown(value=show(part.name, run))

    def _ticker(self, part: Timed, queue: Queue) -> Ticker:
        try:
            call = self._names.function(part.code, part.name)
        except SyntaxError as error:
            raise PartError(part.name, error) from error
        return Ticker(part.name, call, queue, self._scope)

    def _warm_up(self, tickers: Sequence[Ticker]) -> Iterator[RunEvent]:
        for ticker in tickers:
            if self._stop():
                return
            yield self._progress(ticker.name)
            ticker.warm_up()

    def _rounds(self, tickers: Sequence[Ticker]) -> Iterator[RunEvent]:
        least = perf_counter() + ROUNDS_SHARE * self._snippet.budget
        self._end = max(self._end, least)
        untold: set[Ticker] = set()
        with contextlib.closing(take_turns(tickers, self._end, self._stop)) as turns:
            for ticker in turns:
                if ticker.may_tell:
                    untold.discard(ticker)
                    yield SnippetTimed(timing=ticker.timing())
                else:
                    untold.add(ticker)
                yield self._progress(ticker.name)
        for ticker in untold:
            yield SnippetTimed(timing=ticker.timing())

    def _progress(self, doing: str) -> Progress:
        now = perf_counter()
        return Progress(
            elapsed_seconds=now - self._start,
            remaining_seconds=max(0.0, self._end - now),
            doing=doing,
        )
