"""A repeat of a loop as a program would write it: left alone, or watched.

Both do the same between their first and last clock read; the watched one also reads the
clock around each call and hands its result to a thread that waits for it.

``Body`` is the loop, with what its style does to each result; ``Body.run`` gives the
``Totals`` of a repeat that is left alone, and ``Body.watch`` fills a ``Stamps``, out of
which come the calls that are drawn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import methodcaller
from queue import SimpleQueue
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from jaxtui.core import stats
from jaxtui.core.model import Loop, LoopCall
from jaxtui.core.model.own import short_name
from jaxtui.core.stats import median
from jaxtui.features.bench.measure.notes import INLINE_SHARE
from jaxtui.tasks.errors import RefusedError
from jaxtui.tasks.waiting import Wait, wait_for_array
from jaxtui.tasks.workload import Workload
from jaxtui.timing import clocks
from jaxtui.timing.turns import PROBE_CALLS, SLOW_CALL_SECONDS

WARM_UP_SECONDS = 0.05
"""Seconds of single calls before the loop itself is warmed up."""

block = methodcaller("block_until_ready")


@dataclass(frozen=True)
class Results:
    """The treatment of results of one kind. The defaults are those of an array."""

    ready: Wait = block
    """Until the result is ready, and nothing else."""
    first: bool = False
    """True if the next call of a chain takes the first of several results."""


ARRAY = Results()
"""The treatment of one array, which fits where a chain needs it."""


def results_of(loop: Loop, workload: Workload, result: Any) -> Results:
    """Return the treatment of a function's results: trees of arrays.

    Raises:
        RefusedError: Its calls cannot be chained.
    """
    single = workload.wait is wait_for_array
    return Results(
        ready=block if single else jax.block_until_ready,
        first=loop.chained and _takes_first(loop, (*workload.args,), result),
    )


def _takes_first(loop: Loop, args: tuple[Any, ...], result: Any) -> bool:
    """Return whether the next call takes the first of several results."""
    argument, returned = (_kind(args[0]) if args else None), _kind(result)
    if returned == argument:
        return False
    whole = argument is not None and returned[0] == argument[0]
    several = isinstance(result, (tuple, list)) and result and not whole
    if several and _kind(result[0]) == argument:
        return True
    name = short_name(loop.case.op)
    raise RefusedError.of("cannot-chain", function=name)


def _kind(tree: Any) -> tuple[Any, list[tuple[tuple[int, ...], Any]]]:
    """Return the structure, shapes and dtypes that a compiled function insists on."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, [
        (np.shape(x), x.dtype if hasattr(x, "dtype") else jnp.result_type(x))
        for x in leaves
    ]


class Watcher:
    """Blocks on each result in the order in which it got them.

    Handing a result over costs the loop about 0.1 µs while the watcher waits for an
    earlier one, which is nearly always. A thread that waits for a result holds no
    lock of Python's, so the loop runs meanwhile. A result is let go once it was seen:
    kept, it would cost each later call a fresh allocation.
    """

    def __init__(self, wait: Callable[[Any], object] = block) -> None:
        self.ready: list[float] = []
        """The ``perf_counter`` times at which the results were ready."""
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self.watch = self._queue.put
        """Takes the next result of the loop."""
        self._wait = wait
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Wait until every result was ready.

        Raises:
            Exception: What the first result raised that has no value, unless the loop
                itself has failed.
        """
        self._queue.put(None)
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def _run(self) -> None:
        take, wait, record = self._queue.get, self._wait, self.ready.append
        try:
            while (result := take()) is not None:
                wait(result)
                record(perf_counter())
                result = None
        except Exception as error:  # whatever the runtime raises belongs to the loop
            self._error = error


class Totals(NamedTuple):
    """The totals of a repeat, in seconds since its first call was entered."""

    stopwatch: float
    """The loop's own code was through."""
    true: float
    """Every result was ready, too."""
    calls: int
    """Fewer than asked for if the loop was stopped."""


@dataclass
class Stamps:
    """The times at which the calls of a watched repeat were entered, returned and were
    ready.

    Grows while the repeat runs, so that another thread may look at what is complete.
    All times by ``perf_counter``.
    """

    waits: bool
    """The host waits in every call."""
    watcher: Watcher
    entered: list[float] = field(default_factory=list)
    returned: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    last_waited: float | None = None
    """The host was through with waiting for the last result, after the loop."""
    through: float = 0.0
    """The loop's own code was through."""

    @property
    def complete(self) -> int:
        """Return the number of complete calls, from the first on."""
        ready = len(self.watcher.ready)
        return min(ready, len(self.waited)) if self.waits else ready

    @property
    def totals(self) -> Totals:
        """Once the repeat is over."""
        if not self.entered:
            return Totals(0.0, 0.0, 0)
        start, ready = self.entered[0], self.watcher.ready
        true = max(self.through, ready[-1]) - start
        return Totals(self.through - start, true, len(ready))

    def calls(self, first: int = 0) -> tuple[LoopCall, ...]:
        """The complete calls from one on, as they are reported."""
        start = self.entered[0] if self.entered else 0.0
        calls: list[LoopCall] = []
        for index in range(first, self.complete):
            waited = self.waited[index] if self.waits else None
            if self.last_waited is not None and index == len(self.entered) - 1:
                waited = self.last_waited
            calls.append(
                LoopCall(
                    entered=self.entered[index] - start,
                    returned=self.returned[index] - start,
                    ready=self.watcher.ready[index] - start,
                    waited=None if waited is None else waited - start,
                )
            )
        return tuple(calls)


@dataclass(frozen=True)
class Body:
    loop: Loop
    workload: Workload
    turns: Callable[[], Iterable[object]]
    """A source with one item per call."""
    results: Results = ARRAY
    """The treatment of the calls' results."""

    def shortened(self, calls: int) -> Body:
        loop = msgspec.structs.replace(self.loop, calls=calls)
        return replace(self, loop=loop, turns=lambda: range(calls))

    def run(self) -> Totals:
        """Run a repeat without a watcher."""
        style, chained, first = self.loop.style, self.loop.chained, self.results.first
        call, args = self.workload.call, (*self.workload.args,)
        rest, ready = args[1:], self.results.ready
        wait = ready if style == "each" else None
        calls, result = 0, None
        with self.workload.scope():
            turns = self.turns()
            start = perf_counter()
            for _ in turns:
                result = call(*args)
                if chained:
                    args = (result[0] if first else result, *rest)
                if wait is not None:
                    wait(result)
                calls += 1
            if style == "end" and result is not None:
                ready(result)
            through = perf_counter()
            if result is not None:
                # A device computes in order: when the last is ready, all are.
                ready(result)
            return Totals(through - start, perf_counter() - start, calls)

    def stamps(self) -> Stamps:
        """Return stamps for ``watch`` to fill while another thread reads them."""
        waits = self.loop.style == "each"
        return Stamps(waits=waits, watcher=Watcher(self.results.ready))

    def watch(self, stamps: Stamps) -> None:
        """Run a repeat and stamp every call."""
        style, chained, first = self.loop.style, self.loop.chained, self.results.first
        call, args = self.workload.call, (*self.workload.args,)
        rest, ready = args[1:], self.results.ready
        wait, watch = ready if style == "each" else None, stamps.watcher.watch
        entered, returned = stamps.entered.append, stamps.returned.append
        waited = stamps.waited.append
        result = None
        with self.workload.scope(), stamps.watcher:
            for _ in self.turns():
                entered(perf_counter())
                result = call(*args)
                returned(perf_counter())
                watch(result)
                if chained:
                    args = (result[0] if first else result, *rest)
                if wait is not None:
                    wait(result)
                    waited(perf_counter())
            if style == "end" and result is not None:
                ready(result)
                stamps.last_waited = perf_counter()
            stamps.through = perf_counter()


class WarmUp(NamedTuple):
    inline: bool
    """Results are ready when their calls return."""
    repeat_seconds: float
    """About how long one repeat of the loop takes."""


def warm_up(body: Body) -> WarmUp:
    """Single calls first, then the loop itself, half a second of it at most."""
    workload = body.workload
    with workload.scope():
        block = clocks.calls(
            workload.call, workload.args, workload.wait, WARM_UP_SECONDS
        )
        call_seconds = median(block.ready[len(block.ready) // 2 :])
        inline = _runs_inline(workload, quick=call_seconds < SLOW_CALL_SECONDS)
    totals = body.shortened(1).run()
    calls = min(body.loop.calls, int(0.5 / max(call_seconds, 1e-9)))
    if calls > 1:
        totals = body.shortened(calls).run()
    return WarmUp(inline, totals.true * body.loop.calls / totals.calls)


def _runs_inline(workload: Workload, *, quick: bool) -> bool:
    """Return whether results are ready when their calls return.

    On a busy machine a host may be stopped until a result is ready that it did not
    compute itself; with a second call right behind the first, that shows.
    """
    call, args, pairs = workload.call, workload.args, PROBE_CALLS if quick else 1
    if clocks.ready_at_return(call, args, pairs) <= INLINE_SHARE:
        return False
    return not any(clocks.pending_after(call, args, 2) for _ in range(pairs))


# What the stamps of a repeat show.


def held_from(calls: Sequence[LoopCall], depth: int) -> int | None:
    """Index of the first call that the runtime held back, or ``None``.

    Args:
        calls: all of a repeat.
        depth: as many as the runtime is known to let be in flight.
    """
    entered, ready = [call.entered for call in calls], [call.ready for call in calls]
    held = stats.held_back(entered, [call.returned for call in calls], ready, depth)
    full = min(max(stats.in_flight(entered, ready)), depth)
    if not held or full <= 4 or full < depth / 2:  # no queue to speak of
        return None
    # Three held calls show that a queue is shorter than the known depth.
    certain = full >= depth - 1 or len(held) >= 3
    return held[0] if certain else None
