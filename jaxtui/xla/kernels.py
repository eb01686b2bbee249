"""The kernels of a trace, whatever its devices are.

On CPU kernels are events of the plane ``/host:CPU``, on the lines of the client's
threads or, for work that runs inline, of the calling thread. Such an event ends when
the call of the kernel returned; another one tells when its work was done. A TPU has a
plane per device with a line of whole programs and one of kernels. A GPU has a line of
kernels for each stream, and no programs; the host's thread that launched a kernel tells
its run. The part of the TPU follows the format's documentation and one public trace.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from statistics import median_low
from types import MappingProxyType
from typing import Any, NamedTuple

from jaxtui.xla.traces import Event, Plane, Space

HOST = "/host:CPU"
DEVICES = "/device:"
PROGRAMS = "XLA Modules"
OPS = "XLA Ops"
BESIDE = "Async XLA Ops"
"""The line of a TPU's copies and collectives, from start to end."""
STREAM = "Stream"
"""Begins the names of a GPU's lines, of which a raw trace has no others."""

POOL = "ThreadpoolListener::"
"""Begins the names of events of a thread that hands work to others (``Record``, with
its number in the stat ``_p``), and of the one that begins (``StartRegion``, ``_c``)."""

ENDED = "end: "
"""Begins the name of the event of a CPU's kernel whose work is done. Its stat ``_c`` is
the ``_p`` of the kernel's own event."""

NEXT_PS = 10_000_000
"""A thread begins its next kernel 0.2 to 3.2 µs after it has called one, where that one
may still run; one that has finished a kernel was elsewhere meanwhile."""

GRAPH = "cuda_graph_node_id"
"""A stat of kernels of a CUDA graph. ``hlo_op`` names the graph; the event is named
after what ran."""

_OFFSET, _DURATION = "device_offset_ps", "device_duration_ps"
"""Start and duration of a kernel of a TPU, by its own clock."""

start_of = attrgetter("start_ps")


class Kernel(NamedTuple):
    """A kernel of one run; picoseconds of the trace."""

    name: str
    """The name of its program's instruction."""
    program: str
    """Module and number, as ``jit_step(14)``; the same in every trace of a process."""
    run: Hashable
    device: str
    line: str
    """The thread or stream."""
    start: int
    end: int
    stats: dict[str, Any]
    """The stats of the event and, on a TPU, of all events of its name."""
    is_whole: bool = True
    """The trace does not end before the kernel did."""
    by_order: bool = False
    """True if its name is that of the instruction which the program has at its
    place."""
    is_first: bool = True
    """True for the first of the kernels that one instruction launched."""


class Timeline(NamedTuple):
    """The events of a device, or of the host's threads."""

    plane: str
    lines: dict[str, list[Event]]
    """The events in order, by names of which no two are the same."""
    launched: Mapping[object, Launch]
    """The result of ``launches``, for a device."""
    pool: Mapping[str, list[Event]] = MappingProxyType({})
    """By the same names, the events by which threads of the host hand work to
    others."""


class Launch(NamedTuple):
    """The host's activity when it launched work on a GPU."""

    run: Hashable
    """The call of a program."""
    thunk: int
    """The start of the innermost event around it: that of an instruction, which may run
    several kernels."""


def size(space: Space) -> int:
    """Count the events that ``timelines`` would read."""
    return sum(len(line) for plane in _shown(space) for line in plane.lines)


def timelines(space: Space) -> Iterator[Timeline]:
    """The host's, and those of its devices.

    Raises:
        ValueError: An event is damaged.
    """
    host: dict[str, list[Event]] = {}
    launched: dict[object, Launch] = {}
    for plane in _shown(space):
        lines: dict[str, list[Event]] = {}
        pool: dict[str, list[Event]] = defaultdict(list)
        for line in plane.lines:
            name = line.name
            while name in lines:
                name += " again"
            lines[name] = []
            for event in sorted(line.events, key=start_of):
                is_pool = event.name.startswith(POOL)
                (pool if is_pool else lines)[name].append(event)
        if plane.name == HOST:
            host = lines
        elif not launched:
            launched = launches(host.values())
        yield Timeline(plane.name, lines, launched, pool)


def _shown(space: Space) -> list[Plane]:
    planes = [p for p in space.planes if p.name == HOST or p.name.startswith(DEVICES)]
    return sorted(planes, key=lambda plane: plane.name != HOST)


def launches(threads: Iterable[Sequence[Any]]) -> dict[object, Launch]:
    """Return the launches of the host by correlation ids.

    Args:
        threads: the events of each thread of the host.
    """
    by_id: dict[object, Launch] = {}
    for events in threads:
        around: list[Any] = []
        run, over = None, 0
        for event in sorted(events, key=lambda e: (e.start_ps, -e.duration_ps)):
            end = event.start_ps + event.duration_ps
            while around and around[-1].start_ps + around[-1].duration_ps < end:
                around.pop()
            stats = dict(event.stats)
            if "run_id" in stats:
                run, over = stats["run_id"], end
            if "correlation_id" not in stats:
                around.append(event)
            elif end <= over and around:
                launch = Launch(run, around[-1].start_ps)
                by_id[stats["correlation_id"]] = launch
    return by_id


def of(timeline: Timeline) -> Iterator[Kernel]:
    """The kernels of a timeline, in the order of their starts.

    One of a GPU may not say its program: ``?(?)``. Those that do not say their run are
    counted: it begins with the kernel that all runs of the program begin with.
    """
    numbers = Counter[tuple[str, str]]()
    begins: dict[tuple[str, str], str] = {}
    for kernel in sorted(_of(timeline), key=attrgetter("start")):
        if kernel.run is None:
            key = kernel.program, kernel.device
            numbers[key] += kernel.name == begins.setdefault(key, kernel.name)
            kernel = kernel._replace(run=numbers[key])
        yield kernel


def _of(timeline: Timeline) -> Iterator[Kernel]:
    name, lines, launched = timeline.plane, timeline.lines, timeline.launched
    if name == HOST:
        yield from _on_host(lines)
    elif OPS in lines:
        for line in (OPS, BESIDE):
            yield from _on_tpu(name, line, lines.get(PROGRAMS, ()), lines.get(line, ()))
    else:
        for line, events in lines.items():
            if line.startswith(STREAM):
                yield from _on_stream(name, line, events, launched)


def _on_host(lines: Mapping[str, Sequence[Any]]) -> Iterator[Kernel]:
    """Kernels of the CPU, each until its work was done."""
    ended: dict[object, tuple[int, str]] = {}
    called: dict[str, list[Kernel]] = {}
    for thread, events in lines.items():
        called[thread] = []
        for event in events:
            if event.name.startswith(ENDED):
                ended[dict(event.stats).get("_c")] = event.start_ps, thread
            elif "hlo_op" in (stats := dict(event.stats)):
                device = f"cpu:{stats.get('device_ordinal', 0)}"
                called[thread].append(_kernel(event, stats, device, thread))
    starts = {name: [call.start for call in calls] for name, calls in called.items()}
    for thread, calls in called.items():
        for index, kernel in enumerate(calls):
            context = kernel.stats.get("_p")
            if context is None:
                yield kernel
                continue
            if context not in ended:
                yield kernel._replace(is_whole=False)
                continue
            end, finisher = ended[context]
            after = calls[index + 1] if index + 1 < len(calls) else kernel
            # What holds others, such as a loop, lasts as long as they do. Beside
            # another kernel of its thread it may go on.
            holds = kernel is not after and after.end <= kernel.end
            beside = 0 <= after.start - kernel.end < NEXT_PS
            # The thread that finishes a kernel goes on with the next ones before it
            # says so.
            if not holds and not (beside and finisher == thread):
                later = bisect_left(starts[finisher], kernel.end)
                end = min([end, *starts[finisher][later : later + 1]])
            yield kernel._replace(end=max(kernel.end, end))


def _on_tpu(
    plane: str, line: str, programs: Sequence[Any], events: Sequence[Any]
) -> Iterator[Kernel]:
    """Kernels of a TPU, each in the program that ran when it began.

    Their times are those of the device's own clock, where the trace has them: on the
    host's, kernels last many times too long, or not at all, when that is adjusted.
    """
    device = plane.removeprefix(DEVICES)
    runs = sorted(programs, key=start_of)
    starts = [run.start_ps for run in runs]
    all_stats = [{**event.metadata.stats, **dict(event.stats)} for event in events]
    own = [_own_times(stats) for stats in all_stats]
    apart = [
        event.start_ps - times[0]
        for event, times in zip(events, own, strict=True)
        if times is not None
    ]
    between = median_low(apart) if apart else 0
    for event, stats, times in zip(events, all_stats, own, strict=True):
        start, duration = event.start_ps, event.duration_ps
        if times is not None:
            start, duration = times[0] + between, times[1]
        name = event.metadata.display_name or short_name(event.name)
        if line == BESIDE:
            name = short_name(event.name)
        place = bisect_left(starts, event.start_ps + 1) - 1
        run = runs[place] if place >= 0 else None
        yield Kernel(
            name,
            run.name if run else f"?({stats.get('program_id', '?')})",
            dict(run.stats).get("run_id", place) if run else None,
            device,
            line,
            start,
            start + duration,
            stats,
        )


def _own_times(stats: dict[str, Any]) -> tuple[int, int] | None:
    """Start and length by the clock of the device."""
    start, duration = stats.get(_OFFSET), stats.get(_DURATION)
    if isinstance(start, int) and isinstance(duration, int) and duration >= 0:
        return start, duration
    return None


def _on_stream(
    plane: str,
    line: str,
    events: Sequence[Any],
    launched: Mapping[object, Launch],
) -> Iterator[Kernel]:
    """Kernels of a GPU; what is copied to and from the host belongs to no program."""
    thunks: set[Launch] = set()
    for event in events:
        stats = dict(event.stats)
        if "hlo_module" in stats or "kernel_details" in stats:
            kernel = _kernel(event, stats, plane.removeprefix(DEVICES), line)
            if GRAPH in stats:
                kernel = kernel._replace(name=event.name)
            if launch := launched.get(stats.get("correlation_id")):
                kernel = kernel._replace(run=launch.run, is_first=launch not in thunks)
                thunks.add(launch)
            yield kernel


def _kernel(event: Any, stats: dict[str, Any], device: str, line: str) -> Kernel:
    program = f"{stats.get('hlo_module', '?')}({stats.get('program_id', '?')})"
    # Of several names of a GPU the innermost is the last.
    name = str(stats.get("hlo_op", event.name)).split("::")[-1]
    end = event.start_ps + event.duration_ps
    run = stats.get("run_id")
    return Kernel(name, program, run, device, line, event.start_ps, end, stats)


def short_name(text: str) -> str:
    """The instruction of a whole line of HLO, which TPUs give as a name."""
    return text.partition(" = ")[0].removeprefix("%")
