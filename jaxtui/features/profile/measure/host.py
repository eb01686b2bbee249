"""The host's activity: while a device waited, to compile, to move data, to memory."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from operator import attrgetter
from typing import Any

from jaxtui.core.model.profile import Activity, Compile, Gap, Occupancy, Transfer
from jaxtui.features.profile.measure.steps import PS, STEP, Threads, Window, annotated
from jaxtui.xla.kernels import ENDED, HOST, STREAM, Timeline
from jaxtui.xla.traces import Event

COMPILES, LOWERS = "backend_compile", "lower_sharding_computation"
"""Begin the names of what XLA compiles, and what JAX traced and lowers for it."""

NO_ACTIVITY = (ENDED, "ThunkExecutor", "$")
"""Begin the names of events that say nothing of what the host does."""

MOST_GAPS = 20
MOST_ACTIVITIES = 3
MOST_COMPILES = 50
MOST_MOMENTS = 500


def gaps(
    gaps: Sequence[tuple[Window, str, str, str]], threads: Threads, begin: int
) -> Iterator[Gap]:
    """The longest ones, in that order."""
    longest = sorted(gaps, key=lambda item: item[0].start - item[0].end)[:MOST_GAPS]
    callers = list(_callers(threads))
    for window, device, before, after in longest:
        yield Gap(
            start_seconds=(window.start - begin) * PS,
            seconds=window.seconds,
            device=device,
            after=before,
            before=after,
            host=tuple(_meanwhile(window, callers)),
        )


def _callers(threads: Threads) -> Iterator[list[Event]]:
    """The threads that call JAX: those of the program, not of the runtime."""
    for events in threads:
        if any(
            event.name.startswith("PjitFunction") or event.name == STEP
            for event in events
        ):
            steps = {e.name for e in annotated(events)}
            names = [
                e
                for e in events
                if not e.name.startswith(NO_ACTIVITY) and e.name not in steps
            ]
            yield sorted(names, key=lambda e: (e.start_ps, -e.end_ps))


def _meanwhile(gap: Window, threads: Iterable[Sequence[Event]]) -> Iterator[Activity]:
    """Yield the host's activities in a gap, by the innermost events of its threads;
    without a name the rest of the gap.
    """
    spent: Counter[str] = Counter()
    unseen = gap.end - gap.start
    for events in threads:
        around: list[tuple[str, int]] = []
        """Name and end of what has begun."""
        free = gap.end - gap.start
        for event in events:
            start, end = max(event.start_ps, gap.start), min(event.end_ps, gap.end)
            while around and around[-1][1] <= start:
                around.pop()
            if end <= start:
                continue
            if around:
                end = min(end, around[-1][1])
                spent[around[-1][0]] -= end - start
            else:
                free -= end - start
            spent[event.name] += end - start
            around.append((event.name, end))
        unseen = min(unseen, free)
    spent[""] += unseen
    for name, time in spent.most_common(MOST_ACTIVITIES):
        if time > 0:
            yield Activity(name=name, seconds=time * PS)


def compiles(threads: Threads, whole: Window) -> Iterator[Compile]:
    """Functions that were compiled, or traced again and found in JAX's cache, in the
    order of time.
    """
    compiled_at: list[tuple[int, Compile]] = []
    for events in threads:
        inside = [
            event
            for event in events
            if event.name.startswith((COMPILES, LOWERS)) and whole.meets(event)
        ]
        calls = [event for event in events if event.name.startswith("PjitFunction(")]
        compiled = [event for event in inside if event.name.startswith(COMPILES)]
        for event in inside:
            around = [call for call in calls if _holds(call, event)]
            call = min(around, key=attrgetter("duration_ps"), default=event)
            of_xla = event.name.startswith(COMPILES)
            if not of_xla and any(_holds(call, inner) for inner in compiled):
                continue
            name = call.name[len("PjitFunction(") : -1]
            record = Compile(
                function=_module(threads, event) if call is event else name,
                seconds=(event.end_ps - call.start_ps) * PS,
                compile_seconds=event.duration_ps * PS if of_xla else None,
            )
            compiled_at.append((call.start_ps, record))
    for _, record in sorted(compiled_at, key=lambda event: event[0])[:MOST_COMPILES]:
        yield record


def _holds(outer: Event, inner: Event) -> bool:
    return outer.start_ps <= inner.start_ps and inner.end_ps <= outer.end_ps


def _module(threads: Threads, compiled: Event) -> str:
    """The function that is compiled, by what XLA says meanwhile; may be empty."""
    for events in threads:
        for event in events:
            if compiled.start_ps <= event.start_ps < event.end_ps <= compiled.end_ps:
                for name, value in event.stats:
                    if name in ("name", "module") and str(value).startswith("jit_"):
                        return str(value).removeprefix("jit_")
    return ""


_TRANSFERS = ("TransferToDevice", "TransferFromDevice", "H2D", "D2H")
_COPIES = ("MemcpyH2D", "MemcpyD2H", "CopyHostToDevice", "CopyDeviceToHost")
"""Begin the names of what moves bytes between host and device; on the streams of a GPU,
which its host calls by the same name."""


def transfers(timelines: Iterable[Timeline], whole: Window) -> Iterator[Transfer]:
    counts, seconds, moved = Counter[str](), Counter[str](), Counter[str]()
    events = (
        (event, name.startswith(STREAM))
        for timeline in timelines
        for name, line in timeline.lines.items()
        if timeline.plane == HOST or name.startswith(STREAM)
        for event in line
    )
    for event, on_stream in events:
        moves = event.name.startswith(_COPIES if on_stream else _TRANSFERS)
        if not moves or "=>" in event.name or not whole.meets(event):
            continue
        name = event.name.partition(" ")[0]
        counts[name] += 1
        seconds[name] += event.duration_ps
        if (size := _size(dict(event.stats))) is not None:
            moved[name] += size
    for name, time in seconds.most_common():
        yield Transfer(
            name=name,
            count=counts[name],
            bytes=float(moved[name]) if name in moved else None,
            seconds=time * PS,
        )


def _size(stats: dict[str, Any]) -> int | None:
    for name in ("size", "bytes", "bytes_transferred"):
        if isinstance(size := stats.get(name), int):
            return size
    for part in str(stats.get("memcpy_details", "")).split():
        if part.startswith("size:") and part[5:].isdigit():
            return int(part[5:])
    return None


def memory(threads: Threads, whole: Window) -> Iterator[Occupancy]:
    """Yield the memory in use by the first device's allocator, thinned out."""
    samples = []
    for events in threads:
        for event in events:
            if event.start_ps <= whole.end and event.name.startswith("Memory"):
                stats = dict(event.stats)
                used = stats.get("bytes_allocated")
                if isinstance(used, int) and stats.get("index_on_host", 0) == 0:
                    samples.append((event.start_ps, float(used)))
    samples.sort()
    # What was taken before is in use, too.
    before = bisect_right(samples, (whole.start, inf))
    if before:
        samples = [(whole.start, samples[before - 1][1]), *samples[before:]]
    every = max(1, len(samples) // MOST_MOMENTS)
    for place in range(0, len(samples), every):
        # The highest of those that are left out.
        start = samples[place][0]
        used = max(used_bytes for _, used_bytes in samples[place : place + every])
        yield Occupancy(start_seconds=(start - whole.start) * PS, bytes=used)
