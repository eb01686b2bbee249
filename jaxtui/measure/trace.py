"""The runtime's own trace of a piece of work: when its kernels ran, by its own clock.

``jax.profiler`` writes what the runtime saw, and ``ProfileData`` reads it without any
other package. On CPU kernels are events of the plane ``/host:CPU``, on the lines of the
client's threads or, for work that runs inline, of the calling thread; each says its run
(``run_id``). GPU and TPU have a plane per device with a line for whole programs and one
for their kernels; that part follows the format's documentation and was not run.

Tracing costs: what is traced here is not what a stopwatch should read.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter_ns
from typing import Any, NamedTuple

import jax

from jaxtui import format as text

MOST_EVENTS = 100_000
"""Reading one takes some 5 µs."""

MOST_BYTES = 64 * 2**20

MARK = "jaxtui mark"
MARKS = 5
"""The first takes longest; the shortest tells the time."""

HOST = "/host:CPU"
DEVICES = "/device:"
PROGRAMS, KERNELS = "XLA Modules", "XLA Ops"
STREAM = "Stream"
"""Begins the names of a GPU's lines where ``KERNELS`` is missing."""

_start = attrgetter("start_ns")


class Mark(NamedTuple):
    """The host's clock before and after an event of the trace, nanoseconds."""

    before: int
    after: int


class Kernel(NamedTuple):
    """One kernel of one run; seconds by ``perf_counter``."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a compiled program; seconds by ``perf_counter``."""

    program: str
    """Module and its number, the same in every trace of this process."""
    start: float
    end: float
    kernels: tuple[Kernel, ...]
    """In the order of their starts; the body of a loop lies inside the loop's own."""

    @property
    def busy(self) -> float:
        """Seconds in which at least one kernel ran; all of it if none is known."""
        if not self.kernels:
            return self.end - self.start
        total, until = 0.0, -float("inf")
        for _, start, end in self.kernels:
            total += max(0.0, end - max(start, until))
            until = max(until, end)
        return total


@dataclass(frozen=True, slots=True)
class Trace:
    """What was traced, or why there is nothing."""

    runs: tuple[Run, ...] = ()
    """In the order of their starts."""
    events: int = 0
    """All that were recorded, kernels or not."""
    error_seconds: float = 0.0
    """Times of the host are right to this. Those of other devices were put on the
    host's clock by the runtime, with an error that it does not tell."""
    missing: str = ""
    """A sentence; empty if there are runs."""


def record(work: Callable[[], object]) -> Trace:
    """Do a piece of work under the runtime's trace; what it raises is passed on.

    What is still computed when the work ends is cut off.
    """
    try:
        session = _session()
        session.start()
    except Exception as error:  # of the profiler, which is optional
        return Trace(missing=f"The profiler could not start: {_line(error)}")
    try:
        marks = []
        for _ in range(MARKS):
            before = perf_counter_ns()
            with jax.profiler.TraceAnnotation(MARK):
                pass
            marks.append(Mark(before, perf_counter_ns()))
        work()
    except BaseException:
        _stop(session)
        raise
    data = _stop(session)
    if isinstance(data, str):
        return Trace(missing=data)
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
            if not files:
                raise OSError("it wrote no file")
            size = sum(file.stat().st_size for file in files)
            if size > MOST_BYTES:
                raise OSError(f"{text.bytes_text(size)} are too many to be read")
            return self._profiler.ProfileData.from_serialized_xspace(
                files[0].read_bytes()
            )


def _session() -> Any:
    profiler: Any = jax.profiler
    if getattr(profiler, "ProfileData", None) is None:
        raise RuntimeError(f"JAX {jax.__version__} has no jax.profiler.ProfileData.")
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 1  # at 0 there are no kernels of the CPU
    if hasattr(profiler, "ProfileSession"):
        return profiler.ProfileSession(profiler_options=options)
    return _Files(profiler, options)


def _stop(session: Any) -> Any:
    """The data, or the sentence that says why there are none."""
    try:
        return session.stop()
    except Exception as error:  # of the profiler
        return f"The trace could not be read: {_line(error)}"


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{lines[0].rstrip('.')}."


def read(data: Any, marks: Sequence[Mark]) -> Trace:
    """The runs of a trace, on the host's clock.

    Args:
        data: A ``ProfileData``.
        marks: Those that were set in it, in their order. The event of a mark lies
            between its two readings, so the shortest gives the clock's offset to half
            of what it leaves open: a microsecond or two.
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
                    most = f"more than {MOST_EVENTS:,} events"
                    return Trace(missing=f"The trace is too large to be read: {most}.")
        if plane.name == HOST:
            every = sorted(chain(*lines.values()), key=_start)
            marked = [event for event in every if event.name == MARK]
        for key, run in _runs(plane.name, lines):
            groups[key].append(run)
    if not groups:
        return Trace(missing="The trace holds no computation.", events=count)
    if len(marked) != len(marks):
        return Trace(missing="The trace lost its marks of time.", events=count)
    error, offset = min(map(_offset, marked, marks), key=itemgetter(0))
    runs = (_merge(parts, offset) for parts in groups.values())
    return Trace(
        runs=tuple(sorted(runs, key=attrgetter("start"))),
        events=count,
        error_seconds=1e-9 * error,
    )


def _offset(event: Any, mark: Mark) -> tuple[float, float]:
    """How wrong the trace's clock may be, and what must be added to it, in ns."""
    open_ns = max(0.0, mark.after - mark.before - event.duration_ns)
    middle = event.start_ns + event.duration_ns / 2
    return open_ns / 2, (mark.before + mark.after) / 2 - middle


def _runs(plane: str, lines: dict[str, list[Any]]) -> Iterator[tuple[Hashable, Run]]:
    """Runs of a plane in nanoseconds of the trace, with what tells them apart.

    Parts of one run, its kernels on CPU or its devices where it is sharded, have the
    same key.
    """
    if PROGRAMS in lines:
        wanted = KERNELS if KERNELS in lines else STREAM
        found = [events for name, events in lines.items() if name.startswith(wanted)]
        kernels = sorted(chain(*found), key=_start)
        for index, event in enumerate(lines[PROGRAMS]):
            start, end = event.start_ns, event.start_ns + event.duration_ns
            first = bisect_left(kernels, start, key=_start)
            inside = kernels[first : bisect_left(kernels, end, key=_start)]
            run_id = dict(event.stats).get("run_id")
            key = (event.name, (plane, index) if run_id is None else run_id)
            yield key, Run(event.name, start, end, tuple(map(_kernel, inside)))
        return
    for event in chain(*lines.values()):
        stats = dict(event.stats)
        if "run_id" in stats and "hlo_op" in stats and event.name[:5] != "end: ":
            program = f"{stats.get('hlo_module', '?')}({stats.get('program_id', '?')})"
            kernel, key = _kernel(event), (program, stats["run_id"])
            yield key, Run(program, kernel.start, kernel.end, (kernel,))


def _kernel(event: Any) -> Kernel:
    return Kernel(event.name, event.start_ns, event.start_ns + event.duration_ns)


def _merge(parts: Sequence[Run], offset: float) -> Run:
    def seconds(nanoseconds: float) -> float:
        return 1e-9 * (nanoseconds + offset)

    kernels = sorted(chain(*(part.kernels for part in parts)), key=attrgetter("start"))
    return Run(
        parts[0].program,
        seconds(min(part.start for part in parts)),
        seconds(max(part.end for part in parts)),
        tuple(Kernel(name, seconds(a), seconds(b)) for name, a, b in kernels),
    )
