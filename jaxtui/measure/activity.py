"""What a function of a file does beside computing its result.

Its call may compile anew, sleep, write to files, give back an array that it keeps, or
leave work that goes on when the result is ready: then its time is not what it seems to
be. While turns are taken, ``Activity`` reads counters of this process around a block of
calls; ``look`` makes some more calls afterwards, whose results it looks at.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time, sleep
from types import FrameType
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtui.machine.hardware import read_text
from jaxtui.measure import clocks, own, runtime
from jaxtui.measure.coldpath import preserved
from jaxtui.measure.devices import probe
from jaxtui.measure.runtime import Queue
from jaxtui.measure.workload import Workload
from jaxtui.stats import median

PAUSE_SECONDS = 0.005
"""In which threads that were left with work are seen to be busy."""

BUSY_SHARE = 0.25
"""Of a core; threads that use less are at rest, as in ``turns``."""

CALLS = 5
"""That are looked at: what is true by chance is not true of each of them."""

FEW_CALLS = 2
"""Of a function that takes long."""

REST_SECONDS = 1.0
"""Waited at most for threads of calls before; some never rest."""

LEFT_AT_LEAST_SECONDS = 200e-6
"""Of work that a call leaves: to see an idle device idle takes 5 to 134 µs."""

LONG_SECONDS = 0.02

A_SECOND = 1.0
"""What takes longer is called once, and not traced again to see what it catches."""

SCHEDSTAT = Path("/proc/self/schedstat")

_LOOKUPS = (AttributeError, ImportError, KeyError, IndexError, StopIteration)
"""Exceptions that programs catch in the ordinary course of things."""


class _Counters(NamedTuple):
    written: int
    """Bytes that this process has written, to whatever."""
    read: int
    """Bytes that it has read."""


class Activity:
    """Adds up what was done in the blocks of calls of one function."""

    def __init__(self) -> None:
        self.calls = self.compiles = self.traces = 0
        self.written = self.read = 0
        self.idle: list[float] = []
        """The share of each block in which nothing of this process ran or waited for a
        core; what it waited is left out of the whole."""

    def watch(self, block: Callable[[], clocks.Block]) -> clocks.Block:
        """Run a block of calls; counters are read before and after it."""
        compiled = runtime.compilations()
        traces, compiles = compiled.traces, compiled.compiles
        waited, io = _waited(), _io()
        start, used = perf_counter(), process_time()
        done = block()
        seconds, used = perf_counter() - start, process_time() - used
        after_io, after_waited = _io(), _waited()
        self.calls += len(done.ready)
        self.traces += compiled.traces - traces
        self.compiles += compiled.compiles - compiles
        if io is not None and after_io is not None:
            self.written += after_io.written - io.written
            self.read += after_io.read - io.read
        if waited is not None and after_waited is not None:
            idle = max(0.0, seconds - used - (after_waited - waited))
            self.idle.append(idle / max(idle + used, 1e-9))
        return done


def _io() -> _Counters | None:
    """``None`` where there is no ``/proc``, or it does not say."""
    for stream in (sys.stdout, sys.stderr):
        # So that what was printed is counted with the call that did.
        probe(lambda: stream.flush())  # noqa: B023
    lines = read_text(Path("/proc/self/io")).splitlines()
    numbers = dict(line.split(": ", 1) for line in lines)
    if "wchar" not in numbers:
        return None
    return _Counters(int(numbers["wchar"]), int(numbers["rchar"]))


def _waited() -> float | None:
    """Seconds that threads of this process were ready to run and had no core.

    ``None`` where the system does not say.
    """
    if not read_text(SCHEDSTAT):
        return None
    tasks = Path("/proc/self/task").glob("*")
    return sum(_scheduled(task.name)[1] for task in tasks)


def _scheduled(thread: object) -> tuple[float, float]:
    """Seconds that a thread ran, and waited for a core; 0 if it has ended."""
    # proc(5): nanoseconds on a core, nanoseconds waiting for one, time slices.
    words = read_text(Path(f"/proc/self/task/{thread}/schedstat")).split()
    return (int(words[0]) / 1e9, int(words[1]) / 1e9) if words else (0.0, 0.0)


class Behaviour(NamedTuple):
    """What some calls of a function did, after its turns."""

    kept: bool = False
    """Each gave the same array as the one before, or one that the function keeps."""
    returns_arguments: bool = False
    """Nothing came back but the buffers of the arguments."""
    unwaited: str = ""
    """The type of a part of the result that nothing can wait for."""
    left_seconds: float = 0.0
    """The devices worked on for so long when a result was ready."""
    alone_seconds: float = 0.0
    """The shortest call whose predecessor had left nothing."""
    left_threads: int = 0
    """So many threads of Python worked on, or were left over by each call."""
    caught: str = ""
    """An exception that was raised and caught, and the line."""


def look(
    workload: Workload, call_seconds: float, *, holds: bool
) -> tuple[Behaviour, Any]:
    """Call a function of a file once more, or some times if that is quick.

    Within its scope, and after its turns; the last result comes with what was seen.

    Args:
        workload: Of the function.
        call_seconds: About how long a call takes.
        holds: Whether there is memory for more than one result.
    """
    quick = call_seconds < LONG_SECONDS
    count = CALLS if quick else FEW_CALLS if call_seconds < A_SECOND else 1
    queue = None if workload.on_return else Queue(workload.device)
    compiled, busy = runtime.compilations(), _await_threads()
    before, working, unready = {*_threads()}, 0, 0
    alone, left, idle = list[float](), list[float](), list[float]()
    seen, repeated = list[weakref.ref[Any]](), False
    first = result = None
    for number in range(count):
        first, result = (result if holds else None), None
        start = perf_counter()
        result = _call(workload)
        alone.append(perf_counter() - start)
        if (array := _largest(result, workload.args)) is not None:
            # Of what the function lets go nothing is left to be the same.
            repeated |= any(each() is array for each in seen)
            seen.append(weakref.ref(array))
            del array
        if number == 0 and not busy:
            working = _busy_threads()
        if queue is None:
            continue
        unready += not clocks.is_ready(result)
        compiles = compiled.compiles
        for taken in (left, idle):
            start = perf_counter()
            queue.drain()
            taken.append(perf_counter() - start)
        if compiled.compiles > compiles:
            # The function has cleared JAX's caches.
            left[-1] = idle[-1]
    behind = len({*_threads()} - before)
    # The least but one: of a few calls one may have been held up until all was done.
    but_one = sorted(left)[min(1, count - 1)] if left else 0.0
    goes_on = bool(left) and (
        unready == count or but_one > LEFT_AT_LEAST_SECONDS + median(idle)
    )
    kept, returns_arguments = _kept(workload, first, result)
    behaviour = Behaviour(
        kept=kept or (repeated and not returns_arguments and queue is not None),
        returns_arguments=returns_arguments,
        unwaited=_unwaited(result, workload.args),
        left_seconds=but_one - median(idle) if goes_on else 0.0,
        alone_seconds=min(alone),
        left_threads=working or (behind if behind >= count else 0),
        caught=(probe(lambda: _caught(workload)) or "") if count > 1 else "",
    )
    return behaviour, result


def _call(workload: Workload) -> Any:
    result = workload.call(*workload.args)
    workload.wait(result)
    return result


def _threads() -> list[threading.Thread]:
    """Python's other threads, without those of XLA that have run a callback."""
    here = threading.current_thread()
    return [
        thread
        for thread in threading.enumerate()
        if thread is not here and not isinstance(thread, threading._DummyThread)
    ]


def _await_threads() -> int:
    """Let the threads that earlier calls have left end; how many go on for long."""
    end = perf_counter() + REST_SECONDS
    while (busy := _busy_threads()) and perf_counter() < end:
        pass
    return busy


def _busy_threads() -> int:
    """Python's other threads that use a core, or wait for one; 0 where not known.

    Those of libraries are none of them: OpenBLAS spins for a while after each product.
    """
    others = [thread.native_id for thread in _threads()]
    before = [sum(_scheduled(each)) for each in others]
    start = perf_counter()
    if others:
        sleep(PAUSE_SECONDS)
    least = BUSY_SHARE * (perf_counter() - start)
    after = [sum(_scheduled(each)) for each in others]
    return sum(end - begin >= least for begin, end in zip(before, after, strict=True))


def _kept(workload: Workload, first: Any, second: Any) -> tuple[bool, bool]:
    """Whether two results share their buffers, and whether those are the arguments'.

    Both are held, so that neither can have got the memory of the other. A donated
    array has no buffer any more.

    Args:
        workload: Of the function.
        first: ``None`` where there is but one.
        second: What the next call gave.
    """
    if workload.on_return:
        return first is not None and _numpy_keeps(workload, first, second), False
    given, one, other = (
        _pointers(jax.tree.leaves(each)) for each in (workload.args, first, second)
    )
    total = sum(other.values())
    same = sum(size for place, size in other.items() if place in one)
    arguments = bool(other) and {*other} <= {*given}
    return not arguments and 2 * same > total, arguments


def _largest(result: Any, args: Any) -> jax.Array | None:
    """The largest array of a result that is no argument."""
    given = {id(leaf) for leaf in jax.tree.leaves(args)}
    leaves = filter(_has_bytes, jax.tree.leaves(result))
    arrays = [leaf for leaf in leaves if id(leaf) not in given]
    return max(arrays, key=lambda array: array.nbytes, default=None)


def _has_bytes(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and not own.is_key(leaf) and leaf.nbytes > 0


def _pointers(leaves: list[Any]) -> dict[int, int]:
    """The bytes of arrays by the address of their buffer, of sharded ones the first."""
    found: dict[int, int] = {}
    for leaf in filter(_has_bytes, leaves):
        place = probe(lambda: leaf.addressable_data(0).unsafe_buffer_pointer())  # noqa: B023
        if place is not None:
            found[place] = leaf.nbytes
    return found


def _numpy_keeps(workload: Workload, first: Any, second: Any) -> bool:
    """Whether NumPy's side gives back an array that it does not compute anew.

    One that is written to in every call would not keep what is put into it here.
    """
    arrays = [leaf for leaf in jax.tree.leaves(second) if isinstance(leaf, np.ndarray)]
    olds = [leaf for leaf in jax.tree.leaves(first) if isinstance(leaf, np.ndarray)]
    largest = max(arrays, key=lambda array: array.nbytes, default=None)
    if largest is None or not any(largest is old for old in olds):
        return False
    arguments = jax.tree.leaves(workload.args)
    if not largest.size or not largest.flags.writeable:
        return not largest.flags.writeable
    if any(np.may_share_memory(largest, each) for each in arguments):
        return False
    content = largest.copy()
    largest[...] = np.roll(content, 1)
    if np.array_equal(largest, content):
        largest[...] = content + np.ones((), content.dtype)
    planted = largest.copy()
    _call(workload)
    kept = np.array_equal(largest, planted)
    if kept:
        largest[...] = content
    return kept


def _unwaited(result: Any, args: Sequence[Any]) -> str:
    """The type of a leaf that is no array, number or text; empty if there is none.

    What a module holds beside its arrays, such as an activation, was given to it.
    """
    known = (jax.Array, np.ndarray, *own.NUMBERS, str, bytes)
    given = {id(leaf) for leaf in jax.tree.leaves([*args])}
    for leaf in jax.tree.leaves(result):
        if not isinstance(leaf, known) and id(leaf) not in given:
            return type(leaf).__name__
    return ""


def _caught(workload: Workload) -> str:
    """What the function's own file catches in one call, or while it is traced."""
    source = own.source(workload.case.op)
    if source is None:
        return ""
    seen: list[str] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        return inside if frame.f_code.co_filename == source.file else None

    def inside(frame: FrameType, event: str, argument: Any) -> Any:
        kind = argument[0] if event == "exception" else None
        if kind and issubclass(kind, Exception) and not issubclass(kind, _LOOKUPS):
            seen.append(f"{kind.__name__} (line {frame.f_lineno})")
        return inside

    before, trace_seconds = sys.gettrace(), workload.phases.trace
    sys.settrace(trace)
    try:
        if trace_seconds is None:
            _call(workload)
        elif trace_seconds < A_SECOND:
            # Compiled modes run its Python only while they trace.
            with preserved(workload):
                workload.jitted().trace(*workload.resident())
    finally:
        sys.settrace(before)
    return seen[0] if seen else ""
