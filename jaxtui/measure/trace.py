"""The runtime's own trace of a piece of work: when its programs ran, by its own clock.

``jax.profiler`` writes what the runtime saw, and ``ProfileData`` reads it without any
other package; ``xspace`` does where JAX has no reader. On CPU kernels are events of the
plane ``/host:CPU``, on the lines of the client's threads or, for work that runs inline,
of the calling thread. Such an event ends when the call of the kernel returned; another
one tells when its work was done. A TPU has a plane per device with a line for whole
programs, a GPU one with a line of kernels for each stream. The parts of
TPU and GPU follow the format's documentation and were not run.

Tracing costs: what is traced here is not what a stopwatch should read.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
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
import msgspec

from jaxtui.measure import xspace
from jaxtui.model import Fact, LoopCall, Remark

MOST_EVENTS = 100_000
"""Reading one takes some 5 µs."""

MOST_BYTES = 64 * 2**20

MARK = "jaxtui mark"
MARKS = 5
"""The first takes longest; the shortest tells the time."""

LINGER_SECONDS = 0.005
"""The runtime says that a result is ready before it writes when its kernel ended, 10 to
30 µs later if nobody takes its core; what is traced goes on for so long."""

HOST = "/host:CPU"
DEVICES = "/device:"
PROGRAMS = "XLA Modules"
STREAM = "Stream"
"""Begins the names of a GPU's lines, of which a raw trace has no others."""

ENDED = "end: "
"""Begins the name of the event of a CPU's kernel whose work is done. Its stat ``_c`` is
the ``_p`` of the kernel's own event."""

NEXT_NANOSECONDS = 10_000
"""A thread begins its next kernel 0.2 to 3.2 µs after it has called one, where that one
may still run; one that has finished a kernel was elsewhere meanwhile."""

LEVEL_ONE_SINCE = (0, 8, 3)
"""From here on kernels of the CPU are recorded at level 1 of the host's tracer, which
records the least of the rest. 0.7.2 and 0.6.2 want level 2; nothing between was run."""

_start = attrgetter("start_ns")


class Mark(NamedTuple):
    """The host's clock before and after an event of the trace, nanoseconds."""

    before: int
    after: int


class Kernel(NamedTuple):
    """One kernel of one run; nanoseconds of the trace."""

    name: str
    start: float
    end: float


class Run(NamedTuple):
    """One execution of a compiled program; seconds by ``perf_counter``."""

    program: str
    """Module and its number, the same in every trace of this process."""
    start: float
    end: float


class Trace(NamedTuple):
    runs: tuple[Run, ...]
    """In the order of their starts; there is at least one. Those of the host are right
    to a microsecond or two; those of other devices were put on the host's clock by the
    runtime, with an error that it does not tell."""
    events: int
    """All that were recorded, kernels or not."""


class MissingTraceError(Exception):
    """There is no trace, or it does not fit its calls."""

    def __init__(self, remark: Remark) -> None:
        super().__init__(remark.code)
        self.remark = remark


def record(work: Callable[[], object]) -> Trace:
    """Do a piece of work under the runtime's trace; what it raises is passed on.

    What is still computed when the work ends is cut off.

    Raises:
        MissingTraceError: The profiler does not start, or what it wrote is of no use.
    """
    try:
        session = _session()
        session.start()
    except Exception as error:  # of the profiler, which is optional
        raise MissingTraceError(_failed(error)) from error
    try:
        marks = []
        for _ in range(MARKS):
            before = perf_counter_ns()
            with jax.profiler.TraceAnnotation(MARK):
                pass
            marks.append(Mark(before, perf_counter_ns()))
        work()
        sleep(LINGER_SECONDS)
    except BaseException:
        with suppress(Exception):  # what the work raised counts
            session.stop()
        raise
    try:
        data = session.stop()
    except Exception as error:  # of the profiler
        raise MissingTraceError(_failed(error)) from error
    with warnings.catch_warnings():
        # The reader's types lack what Python 3.12 wants of types.
        warnings.simplefilter("ignore", DeprecationWarning)
        return read(data, marks)


class _Files:
    """A session of a JAX that can trace only into files, which are removed."""

    def __init__(self, profiler: Any, options: Any) -> None:
        self._profiler, self._options = profiler, options
        self._folder = TemporaryDirectory(prefix="jaxtui-trace-")

    def start(self) -> None:
        try:
            self._profiler.start_trace(
                self._folder.name, profiler_options=self._options
            )
        except BaseException:
            self._folder.cleanup()
            raise

    def stop(self) -> Any:
        with self._folder as folder:
            self._profiler.stop_trace()
            files = list(Path(folder).rglob("*.xplane.pb"))
            size = sum(file.stat().st_size for file in files)
            if not files or size > MOST_BYTES:
                raise OSError(f"{len(files)} files, {size} bytes")
            data = files[0].read_bytes()
            reader = getattr(self._profiler, "ProfileData", None)
            if reader is None:
                return xspace.read(data)
            return reader.from_serialized_xspace(data)


def _session() -> Any:
    profiler: Any = jax.profiler
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    # At 0 there are never kernels of the CPU.
    options.host_tracer_level = 1 if jax.__version_info__ >= LEVEL_ONE_SINCE else 2
    if hasattr(profiler, "ProfileSession"):
        return profiler.ProfileSession(profiler_options=options)
    return _Files(profiler, options)


def _failed(error: Exception) -> Remark:
    return Remark("profiler-failed", detail=str(error) or type(error).__name__)


def too_large(events: int) -> Remark:
    """Why a trace of so many events is not read."""
    return Remark("trace-too-large", {"events": events})


def read(data: Any, marks: Sequence[Mark]) -> Trace:
    """The runs of a trace, on the host's clock.

    Args:
        data: A ``ProfileData``, or a ``Space``.
        marks: Those that were set in it, in their order. The event of a mark lies
            between its two readings, so the shortest gives the clock's offset to half
            of what it leaves open: a microsecond or two.

    Raises:
        MissingTraceError: It is too large, empty, or without its marks.
    """
    groups: dict[Hashable, list[Run]] = defaultdict(list)
    marked: list[Any] = []
    count = 0
    for plane in data.planes:
        if plane.name != HOST and not plane.name.startswith(DEVICES):
            continue
        lines: dict[str, list[Any]] = defaultdict(list)
        for line in plane.lines:
            for event in line.events:
                lines[line.name].append(event)
                count += 1
                if count > MOST_EVENTS:
                    raise MissingTraceError(too_large(count))
        if plane.name == HOST:
            every = sorted(chain(*lines.values()), key=_start)
            marked = [event for event in every if event.name == MARK]
        for key, run in _runs(plane.name, lines):
            groups[key].append(run)
    if not groups or len(marked) != len(marks):
        raise MissingTraceError(Remark("trace-incomplete"))
    # What the sharpest mark leaves open is the error of the trace's clock.
    event, mark = min(
        zip(marked, marks, strict=True),
        key=lambda pair: pair[1].after - pair[1].before - pair[0].duration_ns,
    )
    middle = event.start_ns + event.duration_ns / 2
    offset = (mark.before + mark.after) / 2 - middle
    runs = (_merge(parts, offset) for parts in groups.values())
    return Trace(tuple(sorted(runs, key=attrgetter("start"))), count)


def _runs(plane: str, lines: dict[str, list[Any]]) -> Iterator[tuple[Hashable, Run]]:
    """Runs of a plane in nanoseconds of the trace, with what tells them apart.

    Parts of one run, its kernels on CPU or its devices where it is sharded, have the
    same key.
    """
    if PROGRAMS in lines:
        for index, event in enumerate(lines[PROGRAMS]):
            run_id = dict(event.stats).get("run_id")
            key = (event.name, (plane, index) if run_id is None else run_id)
            end = event.start_ns + event.duration_ns
            yield key, Run(event.name, event.start_ns, end)
        return
    found = _on_host(lines) if plane == HOST else _on_streams(plane, lines)
    numbers: Counter[str] = Counter()
    begins: dict[str, str] = {}
    for program, run_id, kernel in sorted(found, key=lambda one: one[2].start):
        if run_id is None:
            # Who does not say its run begins one with the kernel that all begin with.
            again = kernel.name == begins.setdefault(program, kernel.name)
            numbers[program] += again
            run_id = numbers[program]
        yield (program, run_id), Run(program, kernel.start, kernel.end)


Found = tuple[str, Hashable, Kernel]
"""Program, run if the trace says it, kernel."""


def _on_host(lines: dict[str, list[Any]]) -> Iterator[Found]:
    """Kernels of the CPU, each until its work was done.

    Raises:
        MissingTraceError: The trace ends before one of them did.
    """
    ended: dict[object, tuple[float, str]] = {}
    called: dict[str, list[tuple[Kernel, dict[str, Any]]]] = {}
    for thread, events in lines.items():
        called[thread] = []
        for event in sorted(events, key=_start):
            stats = dict(event.stats)
            if event.name.startswith(ENDED):
                ended[stats.get("_c")] = event.start_ns, thread
            elif "hlo_op" in stats:
                called[thread].append((_kernel(event), stats))
    starts = {name: [one.start for one, _ in calls] for name, calls in called.items()}
    for thread, calls in called.items():
        for index, (kernel, stats) in enumerate(calls):
            end = kernel.end
            if (context := stats.get("_p")) is not None:
                if context not in ended:
                    raise MissingTraceError(Remark("trace-incomplete"))
                end, finisher = ended[context]
                after = calls[index + 1][0] if index + 1 < len(calls) else kernel
                # What holds others, such as a loop, lasts as long as they do. Beside
                # another kernel of its thread it may go on.
                holds = kernel is not after and after.end <= kernel.end
                beside = 0 <= after.start - kernel.end < NEXT_NANOSECONDS
                # The thread that finishes a kernel goes on with the next ones before it
                # says so.
                if not holds and not (beside and finisher == thread):
                    later = bisect_left(starts[finisher], kernel.end)
                    end = min([end, *starts[finisher][later : later + 1]])
            whole = kernel._replace(end=max(kernel.end, end))
            yield _program(stats), stats.get("run_id"), whole


def _on_streams(plane: str, lines: dict[str, list[Any]]) -> Iterator[Found]:
    """Kernels of a GPU; what is copied to and from the host belongs to no program.

    Raises:
        MissingTraceError: Some do not say their program, as in a CUDA graph.
    """
    for name, events in lines.items():
        if not name.startswith(STREAM):
            continue
        for event in events:
            stats = dict(event.stats)
            if "hlo_module" in stats:
                yield f"{_program(stats)} on {plane}", None, _kernel(event)
            elif "kernel_details" in stats:
                raise MissingTraceError(Remark("trace-incomplete"))


def _program(stats: dict[str, Any]) -> str:
    return f"{stats.get('hlo_module', '?')}({stats.get('program_id', '?')})"


def _kernel(event: Any) -> Kernel:
    return Kernel(event.name, event.start_ns, event.start_ns + event.duration_ns)


def _merge(parts: Sequence[Run], offset: float) -> Run:
    start, end = min(part.start for part in parts), max(part.end for part in parts)
    return Run(parts[0].program, 1e-9 * (start + offset), 1e-9 * (end + offset))


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
    found: list[list[Run]] = [[] for _ in calls]
    for program, count in Counter(run.program for run in alone).items():
        same = _in_order([run for run in runs if run.program == program])
        each, rest = divmod(len(same), len(calls))
        if rest or each < count:
            facts: dict[str, Fact] = {"runs": len(same), "calls": len(calls)}
            facts["program"] = program
            raise MissingTraceError(Remark("trace-incomplete", facts))
        for index, each_runs in enumerate(found):
            each_runs += same[index * each : index * each + count]
    return tuple(
        _with_runs(call, start, mine) for call, mine in zip(calls, found, strict=True)
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
