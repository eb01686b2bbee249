"""Makes a profile of a trace.

``read`` is pure: a ``Space`` in, a ``Profile`` out, whatever machine wrote it; ``load``
takes a file. ``steps`` finds the steps, ``tally`` whose time each moment of them was,
``programs`` what a kernel is, ``graphs`` what a CUDA graph ran, and ``host`` what the
host did. ``case`` and ``capture`` record.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from jaxtui.core.engine.workers import signal_with_parent
from jaxtui.core.model.base import encoded
from jaxtui.core.model.events import WorkFailed
from jaxtui.core.model.profile import Activity, Gap, Profile
from jaxtui.core.model.remark import Fact, Remark, RemarkError
from jaxtui.features.profile.measure import graphs, host, steps
from jaxtui.features.profile.measure.programs import Programs
from jaxtui.features.profile.measure.steps import PS
from jaxtui.features.profile.measure.tally import Tally
from jaxtui.machine.packages import version_numbers
from jaxtui.xla import kernels, traces
from jaxtui.xla.kernels import HOST, Kernel

MOST_EVENTS = 1_000_000
"""Each takes some 20 µs and 1 kB while a profile is made of it."""


UNREMARKED = 0.95
"""Kernels of a trace that are shortened less than to this need no remark."""


class NoProfileError(RemarkError):
    """A trace shows no kernel."""


def read(space: traces.Space, source: str, device_kind: str = "") -> Profile:
    """The profile of a trace.

    Args:
        space: the trace.
        source: where it comes from.
        device_kind: as JAX names it; empty for what the trace says.

    Raises:
        NoProfileError: It has no kernels, or too many events.
        ValueError: It is damaged.
    """
    events = kernels.size(space)
    if events > MOST_EVENTS:
        facts: dict[str, Fact] = {"events": events, "most": MOST_EVENTS}
        raise NoProfileError(Remark("too-many-events", facts, "error"))
    timelines = list(kernels.timelines(space))
    ran = [kernel for timeline in timelines for kernel in kernels.of(timeline)]
    # What a host computes beside its accelerator is not what is looked for.
    ran = _sorted([k for k in ran if not k.device.startswith("cpu:")] or ran)
    if not ran:
        facts = {"events": events, **_blind(space)}
        raise NoProfileError(Remark("no-kernels", facts, "error"))
    programs = Programs(space, {kernel.program for kernel in ran}, device_kind)
    ran = _sorted(programs.settled(graphs.named(ran, programs.known)))
    notes = list(_remarks(space, ran, programs))
    threads = [
        events
        for timeline in timelines
        if timeline.plane == HOST
        for events in timeline.lines.values()
    ]
    windows, remark = steps.find(threads, ran)
    if remark is not None:
        notes.append(remark)
    devices = sorted({kernel.device for kernel in ran})
    tally = Tally(windows, programs)
    for device in devices:
        tally.add([kernel for kernel in ran if kernel.device == device])
    rows = tuple(tally.rows(len(devices)))
    if not any(share.stack for row in rows for share in row.shares):
        notes.append(Remark("no-lines", {"programs": len(programs.known)}))
    whole = steps.Window(windows[0].start, windows[-1].end)
    return Profile(
        source=source,
        jax=_version(space),
        device_kind=programs.device_kind,
        devices=tuple(devices),
        steps=tuple(window.seconds for window in windows),
        busy=tuple(busy * PS / len(devices) for busy in tally.busy),
        kernels=rows,
        frames=tuple(programs.frames),
        gaps=tuple(host.gaps(tally.gaps, threads, whole.start)),
        compiles=tuple(host.compiles(threads, whole)),
        transfers=tuple(host.transfers(timelines, whole)),
        memory=tuple(host.memory(threads, whole)),
        bytes_per_second=programs.bytes_per_second,
        events=events,
        notes=tuple(notes),
    )


def beside(result: Profile, plain_seconds: float) -> Profile:
    """A profile of steps of which one takes so long without the profiler.

    Its kernels fit into such a step, and its gaps are those for which it has room, and
    no longer than that: the rest is the profiler's.
    """
    result = msgspec.structs.replace(result, unprofiled_seconds=plain_seconds)
    if (part := result.step_seconds / (result.busy_seconds or 1.0)) < 1:
        result = _shorter(result, part)
    idle = result.idle_seconds
    room = dict.fromkeys(result.devices, idle * len(result.steps))
    gaps = list[Gap]()
    for gap in result.gaps:
        seconds = min(gap.seconds, idle, room[gap.device])
        if seconds > 0:
            room[gap.device] -= seconds
            gaps.append(_shortened(gap, seconds))
    return msgspec.structs.replace(result, gaps=tuple(gaps))


def _shorter(whole: Profile, part: float) -> Profile:
    """Return the profile with that fraction of each kernel's time."""
    kernels = (
        msgspec.structs.replace(
            kernel,
            steps=tuple(part * seconds for seconds in kernel.steps),
            total_seconds=part * kernel.total_seconds,
            hidden_seconds=part * kernel.hidden_seconds,
        )
        for kernel in whole.kernels
    )
    notes = whole.notes
    if part < UNREMARKED:
        notes = (*notes, Remark("kernels-shortened", {"part": part}))
    return msgspec.structs.replace(
        whole,
        busy=tuple(part * seconds for seconds in whole.busy),
        kernels=tuple(kernels),
        notes=notes,
    )


def _shortened(gap: Gap, seconds: float) -> Gap:
    part = seconds / gap.seconds
    host = tuple(Activity(name=h.name, seconds=part * h.seconds) for h in gap.host)
    return msgspec.structs.replace(gap, seconds=seconds, host=host)


def _sorted(ran: Iterable[Kernel]) -> list[Kernel]:
    return sorted(ran, key=lambda kernel: (kernel.start, -kernel.end))


def _remarks(
    space: traces.Space, ran: Sequence[Kernel], programs: Programs
) -> Iterator[Remark]:
    if texts := space.errors:
        yield Remark("trace-errors", {"count": len(texts)}, "warning", "\n".join(texts))
    if texts := space.warnings:
        yield Remark("trace-warns", {"count": len(texts)}, "info", "\n".join(texts))
    if cut := sum(not kernel.is_whole for kernel in ran):
        yield Remark("kernels-cut", {"count": cut})
    unnamed = sum(
        kernel.program.startswith("?")
        or (kernels.GRAPH in kernel.stats and programs.find(kernel) is None)
        for kernel in ran
    )
    if unnamed:
        count: dict[str, Fact] = {"count": unnamed, "of": len(ran)}
        if programs.is_amd:
            count["amd"] = True
        yield Remark("kernels-unnamed", count, "warning")
    if ordered := sum(kernel.by_order for kernel in ran):
        facts: dict[str, Fact] = {"count": ordered, "of": len(ran)}
        facts["graph"] = sum(kernels.GRAPH in kernel.stats for kernel in ran)
        yield Remark("kernels-by-order", facts)


def _version(space: traces.Space) -> str:
    return str(_metadata(space).get("jax_version", ""))


def _metadata(space: traces.Space) -> Mapping[str, Any]:
    planes = (plane for plane in space.planes if plane.name == traces.PROGRAMS)
    return next((plane.stats for plane in planes), {})


def _blind(space: traces.Space) -> dict[str, Fact]:
    """Return what could have kept kernels out of a trace, as far as it tells."""
    if not (version := _version(space)):
        return {"level": True, "cupti": True}
    level = version_numbers(version) < (0, 8, 3)
    return {"level": level, "cupti": "gpu_version" in _metadata(space)}


# In a process of its own, without JAX: a trace may be any.


def load(path: Path) -> Profile:
    """The profile of a file, or of the latest trace in a folder.

    Raises:
        NoProfileError: There is none.
    """
    facts: dict[str, Fact] = {"path": str(path)}
    try:
        files, runs = traces.files(path), traces.runs(path)
        if not files:
            raise NoProfileError(Remark("trace-not-in-folder", facts, "error"))
        space = traces.load(files[0])
        profile = read(space, files[0].name)
        size = files[0].stat().st_size
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise NoProfileError(Remark("trace-unreadable", facts, "error", why)) from error
    except traces.TooLargeError as error:
        facts |= {"bytes": error.size, "most": traces.MOST_BYTES}
        raise NoProfileError(Remark("trace-too-big", facts, "error")) from error
    except ValueError as error:
        raise NoProfileError(Remark("trace-damaged", facts, "error")) from error
    if len(runs) > 1:
        chosen: dict[str, Fact] = {"run": files[0].parent.name, "runs": len(runs)}
        notes = (Remark("trace-of-several-runs", chosen), *profile.notes)
        profile = msgspec.structs.replace(profile, notes=notes)
    if len(files) > 1:
        more: dict[str, Fact] = {"file": files[0].name, "files": len(files)}
        notes = (Remark("trace-of-several-hosts", more), *profile.notes)
        profile = msgspec.structs.replace(profile, notes=notes)
    return msgspec.structs.replace(profile, size_bytes=size)


def main() -> int:
    """Print the profile of the path on the command line, or why there is none."""
    signal_with_parent()
    try:
        answer: Profile | WorkFailed = load(Path(sys.argv[1]))
    except NoProfileError as error:
        answer = WorkFailed(remark=error.remark)
    sys.stdout.buffer.write(encoded(answer))
    return 0
