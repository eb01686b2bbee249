"""The witness of an audit: what ``jax.profiler`` records while a program runs.

Readings of the program's clocks stand in it as events, which decides what was called
before and after them, whatever the two clocks differ by.
"""

from __future__ import annotations

import os
import re
import threading
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxtui.features.audit.messages import Execution
from jaxtui.tasks.script import drain
from jaxtui.xla import kernels, traces
from jaxtui.xla.traces import Event, Space

if TYPE_CHECKING:
    from jaxtui.timing.profiler import TracedRun

MOST_EVENTS = 2_000_000
"""Most events of a trace: reading them takes some 20 s."""

MARK = "jaxtui clock"
"""Begins the names of events that tell the time in a trace."""

CALL = "PjitFunction("
"""Begins the name of the event of a call of a jitted function."""


_LOGGED = re.compile(
    rb"^.*\b(profiler\w*|save_profile|python_hooks|cupti\w*)\.cc:\d+\].*\n\n?", re.M
)


class Recording:
    """A session of the profiler, with the host's clock in it."""

    def __init__(self, jax: Any) -> None:
        from jaxtui.timing.profiler import options

        self._jax = jax
        self._folder = TemporaryDirectory(prefix="jaxtui-audit-")
        self.marks: list[tuple[float, int]] = []
        """The time of each, and the thread that wrote it."""
        try:
            with _quiet():
                jax.profiler.start_trace(self._folder.name, profiler_options=options())
        except BaseException:
            self._folder.cleanup()
            raise
        for _ in range(3):  # the first takes longest
            self.mark()

    def mark(self) -> float:
        """The time, which is written into the trace as well.

        Whether a call came before or after it is seen there, whatever the two clocks
        differ by.
        """
        before = perf_counter()
        # Two threads that write the same number tell the same time.
        with self._jax.profiler.TraceAnnotation(f"{MARK} {len(self.marks)}"):
            pass
        middle = (before + perf_counter()) / 2
        self.marks.append((middle, threading.get_ident()))
        return middle

    def stop(self) -> Space:
        """Return the recording, when all that runs has ended.

        Raises:
            OSError: The profiler wrote nothing.
            ValueError: What it wrote is too large or damaged.
        """
        with self._folder as folder:
            _drain(self._jax)
            self.mark()
            with _quiet():
                self._jax.profiler.stop_trace()
            files = traces.files(Path(folder))
            if not files:
                raise FileNotFoundError(folder)
            return traces.load(files[0])


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what the profiler logs in C++ out of the program's output."""
    try:
        stderr = os.dup(2)
    except OSError:  # the program has none
        yield
        return
    with TemporaryFile() as saved:
        os.dup2(saved.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            saved.seek(0)
            os.write(2, _LOGGED.sub(b"", saved.read()))


def _drain(jax: Any) -> None:
    """Wait until the devices are idle, also of work whose results were dropped.

    An accelerator computes in order, so a result of now is its last one.
    """
    with suppress(Exception):  # what the program left behind may be anything
        for device in jax.local_devices():
            if device.platform != "cpu":
                last = jax.jit(lambda x: x + 1)(jax.device_put(0.0, device))
                last.block_until_ready()
    drain(jax)


class Seen(NamedTuple):
    """The contents of the profiler's trace; seconds from the start of the watch."""

    span: tuple[float, float] | None = None
    executions: tuple[Execution, ...] = ()


class _Clock:
    """Seconds of the host by picoseconds of a trace, between marks on a line.

    What the trace has before a mark is before its reading, though the thread may have
    lost its core while it read.
    """

    def __init__(self, marks: Mapping[int, int], seconds: Sequence[float]) -> None:
        pairs = sorted((ps, seconds[number]) for ps, number in marks.items())
        if not pairs:
            raise ValueError("no marks")
        self._picoseconds = [ps for ps, _ in pairs]
        self._offsets = [at - 1e-12 * ps for ps, at in pairs]

    def of(self, ps: int) -> float:
        picoseconds, offsets = self._picoseconds, self._offsets
        after = min(bisect_left(picoseconds, ps), len(picoseconds) - 1)
        before = max(after - 1, 0)
        span = picoseconds[after] - picoseconds[before]
        share = min(max((ps - picoseconds[before]) / span, 0.0), 1.0) if span else 1.0
        offset = offsets[before] + share * (offsets[after] - offsets[before])
        return 1e-12 * ps + offset


def read(space: Space, marks: Sequence[tuple[float, int]], started: float) -> Seen:
    """The executions of a trace.

    Raises:
        ValueError: It is damaged, too large, or without marks.
    """
    from jaxtui.timing.profiler import parts

    if (count := kernels.size(space)) > MOST_EVENTS:
        raise ValueError(f"{count} events")
    runs: dict[Hashable, list[TracedRun]] = defaultdict(list)
    host: dict[str, list[Event]] = {}
    pool: Mapping[str, list[Event]] = {}
    for timeline in kernels.timelines(space):
        if timeline.plane == kernels.HOST:
            host, pool = timeline.lines, timeline.pool
        for key, part in parts(timeline, whole=False):
            runs[key].append(part)
    marked = [
        (int(event.name.removeprefix(MARK)), event)
        for events in host.values()
        for event in events
        if event.name.startswith(MARK)
    ]
    clock = _Clock(
        {event.start_ps + event.duration_ps // 2: number for number, event in marked},
        [seconds - started for seconds, _ in marks],
    )
    calls: list[_Asked] = []
    for line, events in host.items():
        numbers = (
            int(event.name.removeprefix(MARK))
            for event in events
            if event.name.startswith(MARK)
        )
        number = next(numbers, None)
        thread = None if number is None else marks[number][1]
        calls += _calls(events, line, thread)
    times = [clock.of(event.start_ps) for _, event in marked]
    return Seen(
        (min(times), max(times)),
        tuple(_executions(list(runs.values()), _Calls(calls, pool), clock)),
    )


class _Asked(NamedTuple):
    """A call of a jitted function."""

    event: Event
    line: str
    thread: int | None


def _calls(events: Sequence[Event], line: str, thread: int | None) -> Iterator[_Asked]:
    """The calls of one thread. Within one others are traced, which run nothing."""
    end = 0
    for event in events:
        if event.name.startswith(CALL) and event.start_ps >= end:
            yield _Asked(event, line, thread)
            end = event.end_ps


class _Origin(NamedTuple):
    """The line and time at which a thread of the program handed over a task."""

    line: str
    at: int
    is_late: bool
    """True if it waited, and was done before it handed it over once more."""


class _Pool:
    """The threads that handed over the tasks of other threads.

    Args:
        pool: the events that tell, by threads.
        lines: the threads that call functions.
    """

    def __init__(self, pool: Mapping[str, Sequence[Event]], lines: set[str]) -> None:
        self._lines = lines
        self._handed: dict[object, tuple[str, int]] = {}
        self._tasks: dict[str, list[tuple[int, object]]] = defaultdict(list)
        self._origins: dict[object, _Origin | None] = {None: None}
        for line, events in pool.items():
            for event in events:
                stats = dict(event.stats)
                if "_p" in stats:
                    self._handed[stats["_p"]] = line, event.start_ps
                else:  # a task begins, or the last one ends
                    self._tasks[line].append((event.start_ps, stats.get("_c")))

    def origin(self, line: str, at: int) -> _Origin | None:
        """Return the origin of a thread's work at a time."""
        origin: _Origin | None = None
        between: list[object] = []
        while line not in self._lines:
            tasks = self._tasks.get(line, [])
            place = bisect_left(tasks, at, key=lambda task: task[0])
            number = tasks[place - 1][1] if place else None
            if number in self._origins or number not in self._handed:
                origin = self._origins.get(number)
                if origin is not None and between:
                    origin = origin._replace(is_late=True)
                break
            self._origins[number] = None
            between.append(number)
            line, at = self._handed[number]
        else:
            origin = _Origin(line, at, is_late=False)
        for number in reversed(between):
            self._origins[number] = origin
            if number is not between[0] and origin is not None:
                origin = origin._replace(is_late=True)
        return origin


class _Calls:
    """The calls that no run is known of, by their threads."""

    def __init__(
        self, calls: Sequence[_Asked], pool: Mapping[str, Sequence[Event]]
    ) -> None:
        self._pool = _Pool(pool, {call.line for call in calls})
        self._waiting: dict[str, dict[str, deque[_Asked]]] = defaultdict(
            lambda: defaultdict(deque)
        )
        for call in sorted(calls, key=lambda call: call.event.start_ps):
            self._waiting[module_name(call.event.name)][call.line].append(call)

    def of(self, run: TracedRun) -> _Asked | None:
        """The one that asked for a run, which begins later than those before."""
        queues = self._waiting[module_name(run.program)]
        if origin := self._pool.origin(run.line, run.start):
            queue = queues[origin.line]
            while (
                not origin.is_late
                and len(queue) > 1
                and (queue[1].event.start_ps <= origin.at)
            ):
                queue.popleft()  # the trace lacks its run
            candidates = [queue]
        else:
            candidates = list(queues.values())
        begun = [
            queue
            for queue in candidates
            if queue and queue[0].event.start_ps <= run.start
        ]
        if not begun:
            return None
        return min(begun, key=lambda queue: queue[0].event.start_ps).popleft()


def _executions(
    runs: Sequence[Sequence[TracedRun]], calls: _Calls, clock: _Clock
) -> Iterator[Execution]:
    """Runs of programs with the calls that asked for them.

    Those of a thread run in the order of its calls. Where the trace lacks some of
    these, as of the call that was being compiled when it began, a run was asked for
    when it began, at the latest.
    """
    ordered = (
        (min(run, key=lambda part: part.start), max(part.end for part in run))
        for run in runs
    )
    for run, end in sorted(ordered, key=lambda pair: pair[0].start):
        name, start, thread = run.program, run.start, None
        if (call := calls.of(run)) is not None:
            event, thread = call.event, call.thread
            # Its middle is on the right side of a reading next to it, though the two
            # clocks differ by a microsecond or two.
            name, start = event.name, event.start_ps + event.duration_ps // 2
        yield Execution(
            function=function_name(name),
            program=run.program,
            called_seconds=clock.of(start),
            start_seconds=clock.of(run.start),
            end_seconds=clock.of(end),
            thread=thread,
        )


def function_name(name: str) -> str:
    """``f`` of ``jit(f)``, ``jit_f``, ``jit_f(7)``, and ``PjitFunction(f)``.

    What is no letter is an underscore in the name of a module.
    """
    if name.startswith(CALL):
        name = name.removeprefix(CALL).removesuffix(")")
    if name.startswith("jit("):
        return name.removeprefix("jit(").removesuffix(")")
    return name.removeprefix("jit_").partition("(")[0]


def module_name(name: str) -> str:
    """Return the name of a function as it stands in the name of a module."""
    return "".join(c if c.isalnum() else "_" for c in function_name(name)).strip("_")
