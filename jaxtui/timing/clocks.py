"""The timed loops. Nothing stands between two clock reads but what they time.

A pair of clock reads costs about 0.1 µs, which is not subtracted. Every loop frees the
previous result before its clock starts: a result that is still alive costs the next
call a fresh allocation (11 times the whole call for a 4 MB elementwise op on CPU), and
freeing inside the window costs up to half of it.

In one process the dispatch of a call of 20 or 200 µs reads within 2 % of a loop by hand
over the same callable, the transfer guard and all else of a turn included. Processes
differ by more, plain scripts among themselves too.
"""

# The loop that scripts show has no annotations.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated"

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple

import jax

from jaxtui.tasks.waiting import Call, Wait, is_ready


class Block(NamedTuple):
    """Consecutive timed calls, seconds, in order."""

    dispatch: list[float]
    """Until the call returned; empty for NumPy."""
    ready: list[float]
    """Until the result was ready."""


def time_calls(f, args, wait, seconds):
    dispatch, ready, end = [], [], perf_counter_ns() + seconds * 1e9
    while not ready or perf_counter_ns() < end:
        result, given = None, (*args,)  # the last result is freed before the clock
        start = perf_counter_ns()
        result = f(*given)
        returned = perf_counter_ns()
        wait(result)
        ready.append((perf_counter_ns() - start) / 1e9)
        dispatch.append((returned - start) / 1e9)
    return dispatch, ready  # seconds until a call returned, until its result was ready


def calls(
    call: Call, args: Sequence[Any], wait: Wait, seconds: float, *, least: int = 1
) -> Block:
    """Call and wait for about ``seconds``, ``least`` times at least.

    The call that is under way at the end is finished.
    """
    dispatch, ready = time_calls(call, args, wait, seconds)
    while len(ready) < least:
        more = time_calls(call, args, wait, 0.0)
        dispatch += more[0]
        ready += more[1]
    return Block(dispatch, ready)


def free(call: Call, args: Sequence[Any], wait: Wait, count: int) -> list[float]:
    """Seconds to give back the result of each of ``count`` calls, without the clock.

    ``time_calls`` does that between two calls, where no clock runs; a loop by hand pays
    for it. A read of the clock is subtracted here: it may cost as much.
    """
    seconds = []
    for _ in range(count):
        result = call(*args)
        wait(result)
        start = perf_counter_ns()
        result = None
        freed = perf_counter_ns()
        seconds.append(max(0, 2 * freed - start - perf_counter_ns()) / 1e9)
    return seconds


def burst(call: Call, args: Sequence[Any], wait: Wait, count: int) -> float:
    """Seconds for ``count`` queued calls, blocked on once at the end.

    A device executes in order, so the last result being ready means that all are.
    """
    result = None
    # Before the clock starts: arguments that calls use up are copied each time.
    copies = [(*args,) for _ in range(count)]
    start = perf_counter_ns()
    for arguments in copies:
        result = call(*arguments)
    wait(result)
    return (perf_counter_ns() - start) / 1e9


def pending_after(call: Call, args: Sequence[Any], count: int) -> int:
    """Count the calls that are unfinished right after the last of ``count`` is
    enqueued.

    A runtime that lets at most ``d`` computations be in flight holds the host back from
    call ``d + 1`` on, so for an op that is slow to compute and quick to enqueue this is
    ``d`` for every ``count > d``. Keeps the results: not for timing.
    """
    copies = [(*args,) for _ in range(count)]
    results = [call(*arguments) for arguments in copies]
    pending = sum(not is_ready(result) for result in results)
    jax.block_until_ready(results[-1])
    return pending


def ready_at_return(call: Call, args: Sequence[Any], count: int) -> float:
    """The share of ``count`` blocked calls whose result was ready on return."""
    finished = 0
    for _ in range(count):
        result = call(*args)
        finished += is_ready(result)
        jax.block_until_ready(result)
    return finished / count
