"""The timed loops. Nothing stands between two clock reads but what they time.

Clocks are read with ``perf_counter_ns``; a pair of reads costs about 0.1 µs, which is
not subtracted. Every loop frees the previous result before its clock starts: a result
that is still alive costs the next call a fresh allocation (11 times the whole call for
a 4 MB elementwise op on CPU), and freeing inside the window costs up to half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple, Protocol

import jax

Call = Callable[..., Any]
"""What is timed: returns one array (a ``jax.Array`` where it is blocked on), or a
pytree of arrays where a loop says so."""

NANOSECOND = 1e-9


class Block(NamedTuple):
    """Consecutive timed calls, seconds, in order."""

    dispatch: list[float]
    """Until the call returned; empty for NumPy."""
    ready: list[float]
    """Until the result was ready."""


def blocked_calls(
    call: Call, args: Sequence[Any], seconds: float, *, least: int = 1, most: int = 2000
) -> Block:
    """Call and block, again and again, for about ``seconds``.

    Args:
        call: Returns one ``jax.Array``.
        args: Its arguments, used as they are every time.
        seconds: How long to go on; the call that is under way is finished.
        least: At least this many calls, however long they take.
        most: At most this many calls, however short they are.
    """
    dispatch: list[int] = []
    ready: list[int] = []
    end = perf_counter_ns() + int(seconds / NANOSECOND)
    result = None
    while True:
        result = None
        start = perf_counter_ns()
        result = call(*args)
        returned = perf_counter_ns()
        result.block_until_ready()
        done = perf_counter_ns()
        dispatch.append(returned - start)
        ready.append(done - start)
        if len(ready) >= most or (done >= end and len(ready) >= least):
            return Block(_seconds(dispatch), _seconds(ready))


def plain_calls(
    call: Call, args: Sequence[Any], seconds: float, *, least: int = 1, most: int = 2000
) -> Block:
    """As ``blocked_calls`` for NumPy: a call that returns is done."""
    ready: list[int] = []
    end = perf_counter_ns() + int(seconds / NANOSECOND)
    result = None
    while True:
        result = None
        start = perf_counter_ns()
        result = call(*args)  # noqa: F841  (kept until the next clock is about to start)
        done = perf_counter_ns()
        ready.append(done - start)
        if len(ready) >= most or (done >= end and len(ready) >= least):
            return Block([], _seconds(ready))


def burst(call: Call, args: Sequence[Any], count: int) -> float:
    """Seconds for ``count`` queued calls, blocked on once at the end.

    A device executes in order, so the last result being ready means that all are.
    """
    result = None
    start = perf_counter_ns()
    for _ in range(count):
        result = call(*args)
    assert result is not None
    result.block_until_ready()
    return (perf_counter_ns() - start) * NANOSECOND


def pending_after(call: Call, args: Sequence[Any], count: int) -> int:
    """How many of ``count`` calls are unfinished right after the last was enqueued.

    A runtime that lets at most ``d`` computations be in flight holds the host back from
    call ``d + 1`` on, so for an op that is slow to compute and quick to enqueue this is
    ``d`` for every ``count > d``. Keeps the results: not for timing.
    """
    results = [call(*args) for _ in range(count)]
    pending = sum(not _is_ready(result) for result in results)
    jax.block_until_ready(results[-1])
    return pending


def ready_at_return(call: Call, args: Sequence[Any], count: int) -> float:
    """The share of ``count`` blocked calls whose result was ready on return."""
    finished = 0
    for _ in range(count):
        result = call(*args)
        finished += result.is_ready()
        result.block_until_ready()
    return finished / count


# The same for results that are pytrees. Loops of their own, so that nothing is decided
# between two clock reads, and so that an array is asked directly.


def blocked_tree_calls(
    call: Call, args: Sequence[Any], seconds: float, *, least: int = 1, most: int = 2000
) -> Block:
    """As ``blocked_calls`` for a pytree: ready when all of its arrays are."""
    dispatch: list[int] = []
    ready: list[int] = []
    block: Callable[[Any], Any] = jax.block_until_ready
    end = perf_counter_ns() + int(seconds / NANOSECOND)
    result = None
    while True:
        result = None
        start = perf_counter_ns()
        result = call(*args)
        returned = perf_counter_ns()
        block(result)
        done = perf_counter_ns()
        dispatch.append(returned - start)
        ready.append(done - start)
        if len(ready) >= most or (done >= end and len(ready) >= least):
            return Block(_seconds(dispatch), _seconds(ready))


def tree_burst(call: Call, args: Sequence[Any], count: int) -> float:
    """As ``burst`` for a pytree."""
    block: Callable[[Any], Any] = jax.block_until_ready
    result = None
    start = perf_counter_ns()
    for _ in range(count):
        result = call(*args)
    block(result)
    return (perf_counter_ns() - start) * NANOSECOND


def tree_ready_at_return(call: Call, args: Sequence[Any], count: int) -> float:
    """As ``ready_at_return`` for a pytree: all of its arrays were ready."""
    finished = 0
    for _ in range(count):
        result = call(*args)
        finished += _is_ready(result)
        jax.block_until_ready(result)
    return finished / count


class _Calls(Protocol):
    def __call__(
        self,
        call: Call,
        args: Sequence[Any],
        seconds: float,
        *,
        least: int = 1,
        most: int = 2000,
    ) -> Block: ...


class Loops(NamedTuple):
    """The loops for one kind of result, chosen before any clock runs."""

    calls: _Calls
    burst: Callable[[Call, Sequence[Any], int], float]
    ready_at_return: Callable[[Call, Sequence[Any], int], float]


ARRAY_LOOPS = Loops(blocked_calls, burst, ready_at_return)
"""For a result that is one ``jax.Array``."""

TREE_LOOPS = Loops(blocked_tree_calls, tree_burst, tree_ready_at_return)
"""For a pytree."""


def loops_for(result: Any) -> Loops:
    """The loops for results like this one."""
    return ARRAY_LOOPS if _is_array(result) else TREE_LOOPS


def _is_ready(result: Any) -> bool:
    """Whether all arrays of a pytree are ready."""
    leaves = jax.tree.leaves(result)
    return all(array.is_ready() for array in leaves if _is_array(array))


def _is_array(value: Any) -> bool:
    """Whether it is an array of JAX that can be asked; a key of jax.random cannot."""
    return isinstance(value, jax.Array) and hasattr(value, "is_ready")


def _seconds(nanoseconds: list[int]) -> list[float]:
    return [value * NANOSECOND for value in nanoseconds]
