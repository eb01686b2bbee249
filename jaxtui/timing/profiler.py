"""The runtime's own trace of a piece of work: when its programs ran, by its own clock.

``jax.profiler`` writes what the runtime saw into a file, ``traces`` reads that, and
``kernels`` finds what the devices ran.

Tracing costs: what is traced here is not what a stopwatch should read.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from math import inf
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter_ns, sleep
from typing import Any, NamedTuple

import jax
import jax._src.profiler
import msgspec

from jaxtui.core.model import Fact, LoopCall, Remark
from jaxtui.tasks.errors import RefusedError
from jaxtui.xla import kernels, traces
from jaxtui.xla.kernels import HOST, PROGRAMS, start_of

MOST_EVENTS = 100_000
"""Reading one takes some 5 µs."""

MOST_BYTES = 64 * 2**20

MARK = "jaxtui mark"
MARKS = 5
"""The first takes longest; the shortest tells the time."""

LINGER_SECONDS = 0.005
"""The runtime says that a result is ready before it writes when its kernel ended, 10 to
30 µs later if nobody takes its core; what is traced goes on for so long."""

LEVEL_ONE_SINCE = (0, 8, 3)
"""The version of JAX since which level 1 of the host's tracer, the smallest, records
kernels of the CPU. 0.7.2 and 0.6.2 need level 2; nothing between was run."""


class Mark(NamedTuple):
    """The host's clock before and after an event of the trace, nanoseconds."""

    before: int
    after: int


class Run(NamedTuple):
    """An execution of a compiled program; ``perf_counter`` seconds."""

    program: str
    """Module and its number, the same in every trace of this process."""
    start: float
    end: float


class Trace(NamedTuple):
    runs: tuple[Run, ...]
    """The runs in the order of their starts, at least one. The host's are right to a
    microsecond or two; the runtime puts those of other devices on the host's clock,
    with an error that it does not report."""
    events: int
    """All that were recorded, kernels or not."""


class MissingTraceError(RefusedError):
    """An error: there is no trace, or it does not fit its calls."""


def record(work: Callable[[], object]) -> Trace:
    """Do a piece of work under the runtime's trace; see ``recorded``."""
    marks: list[Mark] = []

    def marked() -> None:
        for _ in range(MARKS):
            before = perf_counter_ns()
            with jax.profiler.TraceAnnotation(MARK):
                pass
            marks.append(Mark(before, perf_counter_ns()))
        work()

    return read(recorded(marked)[0], marks)


def recorded(work: Callable[[], object]) -> tuple[traces.Space, int]:
    """Do a piece of work under the profiler; what it raises is passed on.

    What is still computed when the work ends is cut off. The trace goes through a file,
    which is removed: every JAX can do that, and what newer ones give in memory is not
    the trace itself.

    Returns:
        What was recorded, and its bytes.

    Raises:
        MissingTraceError: The profiler does not start, or what it wrote is of no use.
    """
    profiler: Any = jax.profiler
    with TemporaryDirectory(prefix="jaxtui-trace-") as folder:
        try:
            profiler.start_trace(folder, profiler_options=options())
        except Exception as error:  # of the profiler, which is optional
            raise MissingTraceError(failed(error)) from error
        try:
            work()
            sleep(LINGER_SECONDS)
        except BaseException:
            with suppress(Exception):  # what was raised before counts
                profiler.stop_trace()
            raise
        try:
            profiler.stop_trace()
            files = traces.files(Path(folder))
            size = sum(file.stat().st_size for file in files)
            if not files or size > MOST_BYTES:
                raise OSError(f"{len(files)} files, {size} bytes")
            return traces.load(files[0]), size
        except Exception as error:  # of the profiler
            raise MissingTraceError(failed(error)) from error


def before_start(notice: Callable[[], None]) -> Callable[[], None]:
    """Be told before anybody starts the profiler, of which a process has one.

    Returns:
        What ends that.
    """
    inner: Any = jax._src.profiler
    session = getattr(inner, "ProfileSession", None)  # from 0.12 on all begin there
    places = (session,) if session else (inner, jax.profiler)
    name = "start" if session else "start_trace"
    start = getattr(places[0], name)

    @functools.wraps(start)
    def started(*args: Any, **options: Any) -> Any:
        notice()
        return start(*args, **options)

    def leave() -> None:
        for place in places:
            setattr(place, name, start)

    for place in places:
        setattr(place, name, started)
    return leave


def options() -> Any:
    """Return the profiler's options: the least that records kernels."""
    profiler: Any = jax.profiler
    chosen = profiler.ProfileOptions()
    chosen.python_tracer_level = 0
    # At 0 there are never kernels of the CPU.
    chosen.host_tracer_level = 1 if jax.__version_info__ >= LEVEL_ONE_SINCE else 2
    return chosen


def failed(error: Exception) -> Remark:
    return Remark("profiler-failed", detail=str(error) or type(error).__name__)


def too_large(events: int) -> Remark:
    """Return the remark on a trace with too many events to read."""
    return Remark("trace-too-large", {"events": events})


def read(data: traces.Space, marks: Sequence[Mark]) -> Trace:
    """The runs of a trace, on the host's clock.

    Args:
        data: What was recorded.
        marks: Those that were set in it, in their order. The event of a mark lies
            between its two readings, so the shortest gives the clock's offset to half
            of what it leaves open: a microsecond or two.

    Raises:
        MissingTraceError: It is too large, empty, or without its marks.
    """
    count = kernels.size(data)
    if count > MOST_EVENTS:
        raise MissingTraceError(too_large(count))
    groups: dict[Hashable, list[TracedRun]] = defaultdict(list)
    marked: list[traces.Event] = []
    for timeline in kernels.timelines(data):
        if timeline.plane == HOST:
            every = chain(*timeline.lines.values())
            marked = sorted((e for e in every if e.name == MARK), key=start_of)
        for key, part in parts(timeline):
            groups[key].append(part)
    if not groups or len(marked) != len(marks):
        raise MissingTraceError(Remark("trace-incomplete"))
    # What the sharpest mark leaves open is the error of the trace's clock.
    event, mark = min(
        zip(marked, marks, strict=True),
        key=lambda pair: pair[1].after - pair[1].before - pair[0].duration_ps / 1000,
    )
    middle = event.start_ps + event.duration_ps // 2
    clock = ClockPair(middle, 1e-9 * (mark.before + mark.after) / 2)
    runs = (_merge(group, clock) for group in groups.values())
    return Trace(tuple(sorted(runs, key=attrgetter("start"))), count)


class ClockPair(NamedTuple):
    """A moment on the clock of a trace and on the host's."""

    picoseconds: int
    seconds: float

    def of(self, picoseconds: int) -> float:
        """Convert to ``perf_counter`` seconds, exactly."""
        return self.seconds + 1e-12 * (picoseconds - self.picoseconds)


class TracedRun(NamedTuple):
    """A run, or what one of its kernels or devices was of it; picoseconds."""

    program: str
    start: int
    end: int
    line: str = ""
    """The thread or stream of a kernel."""


def parts(
    timeline: kernels.Timeline, *, whole: bool = True
) -> Iterator[tuple[Hashable, TracedRun]]:
    """Yield the runs of a timeline, each with a key that tells them apart.

    Parts of one run, its kernels on CPU or its devices where it is sharded, have the
    same key.

    Args:
        timeline: of the host or of a device.
        whole: whether every kernel must say its end and its program. Else those that
            do not are left out: on a GPU XLA runs many while it compiles, to choose.

    Raises:
        MissingTraceError: The trace is not whole.
    """
    plane = timeline.plane
    if PROGRAMS in timeline.lines:
        for index, event in enumerate(timeline.lines[PROGRAMS]):
            run_id = dict(event.stats).get("run_id")
            key = (event.name, (plane, index) if run_id is None else run_id)
            end = event.start_ps + event.duration_ps
            yield key, TracedRun(event.name, event.start_ps, end)
        return
    for kernel in kernels.of(timeline):
        if kernel.is_whole and "?" not in kernel.program:
            part = TracedRun(kernel.program, kernel.start, kernel.end, kernel.line)
            yield (kernel.program, kernel.run), part
        elif whole:
            raise MissingTraceError(Remark("trace-incomplete"))


def _merge(group: Sequence[TracedRun], clock: ClockPair) -> Run:
    start, end = min(part.start for part in group), max(part.end for part in group)
    return Run(group[0].program, clock.of(start), clock.of(end))


# What the device did for each call of a loop.


def between(start: float, end: float, runs: Sequence[Run]) -> list[Run]:
    """The runs that had their middle in a stretch of time, after which none went on."""
    return [run for run in runs if start < (run.start + min(run.end, end)) / 2 < end]


def on_device(
    calls: Sequence[LoopCall], start: float, runs: Sequence[Run], alone: Sequence[Run]
) -> tuple[LoopCall, ...]:
    """Calls with what the device did for each; its times count from ``start``.

    A device runs each program in the order of its calls. What the loop runs beyond its
    calls, as to print a number, is left out: ``alone`` is the trace of a single call.

    Raises:
        MissingTraceError: The runs do not fit the calls.
    """
    runs_of_calls: list[list[Run]] = [[] for _ in calls]
    for program, count in Counter(run.program for run in alone).items():
        same = _in_order([run for run in runs if run.program == program])
        runs_per_call, rest = divmod(len(same), len(calls))
        if rest or runs_per_call < count:
            facts: dict[str, Fact] = {"runs": len(same), "calls": len(calls)}
            facts["program"] = program
            raise MissingTraceError(Remark("trace-incomplete", facts))
        for index, each_runs in enumerate(runs_of_calls):
            each_runs += same[index * runs_per_call : index * runs_per_call + count]
    return tuple(
        _with_runs(call, start, call_runs)
        for call, call_runs in zip(calls, runs_of_calls, strict=True)
    )


def _with_runs(call: LoopCall, start: float, runs: Sequence[Run]) -> LoopCall:
    begun = min(run.start for run in runs) - start
    # Who loses its core writes late that a run is over.
    ended = min(max(run.end for run in runs) - start, call.ready)
    return msgspec.structs.replace(
        call, device_start=begun, device_end=max(begun, ended)
    )


def _in_order(runs: Sequence[Run]) -> list[Run]:
    """Runs of one program, each over when the next one begins."""
    begun = [run.start for run in runs[1:]]
    return [
        run._replace(end=max(run.start, min(run.end, time)))
        for run, time in zip(runs, [*begun, inf], strict=True)
    ]
