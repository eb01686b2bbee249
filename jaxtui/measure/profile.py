"""Makes a profile of a trace: whose time each moment of a device was.

``read`` is pure: a ``Space`` in, a ``Profile`` out, whatever machine wrote it. A moment
of a device belongs to what runs then: of what is nested to the innermost, of what runs
side by side to computation before collectives before copies, in equal parts. So the
times of all kernels and the idle time add up to the steps.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from jaxtui.measure import graphs, hlo, kernels, xspace
from jaxtui.measure.kernels import DEVICES, HOST
from jaxtui.model.events import WorkFailed
from jaxtui.model.profile import (
    Activity,
    Compile,
    Frame,
    Gap,
    Kernel,
    KernelKind,
    Occupancy,
    Profile,
    Share,
    Transfer,
)
from jaxtui.model.remark import Fact, Remark

STEP = "jaxtui step"
"""The annotation of a step that jaxtui runs itself."""

MOST_EVENTS = 1_000_000
"""Each takes some 20 µs and 1 kB while a profile is made of it."""

COMPILES, LOWERS = "backend_compile", "lower_sharding_computation"
"""Begin the names of what XLA compiles, and what JAX traced and lowers for it."""

MOST_GAPS = 20
MOST_ACTIVITIES = 3
MOST_COMPILES = 50
MOST_MOMENTS = 500

PS = 1e-12

_PACKAGE = Path(__file__).parent.parent
HIDDEN = (
    *map(str, (_PACKAGE / "measure").glob("*.py")),
    *(
        str(_PACKAGE / n)
        for n in ("engine", "api.py", "child.py", "measure/ops/base.py")
    ),
    "<frozen runpy>",
)
"""Who calls what is profiled; the ops of the catalogue are shown."""

COLLECTIVES = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective",
    "ragged-all-to-all",
    "recv",
    "reduce-scatter",
    "send",
)
COPIES = ("copy", "infeed", "outfeed", "async-copy", "host-transfer", "data formatting")
"""How names of kernels and categories begin."""

_KINDS: tuple[KernelKind, ...] = ("compute", "collective", "copy")
"""In the order in which a moment belongs to them."""

_FUSIONS = {
    "kLoop": "loop fusion",
    "kInput": "input fusion",
    "kOutput": "output fusion",
}

NO_ACTIVITY = (kernels.ENDED, "ThunkExecutor", "$")
"""Begin the names of events that say nothing of what the host does."""


class NoProfileError(Exception):
    """A trace shows no kernel."""

    def __init__(self, remark: Remark) -> None:
        super().__init__(remark.code)
        self.remark = remark


class Window(NamedTuple):
    start: int
    end: int


def read(space: xspace.Space, source: str, hidden: tuple[str, ...] = ()) -> Profile:
    """The profile of a trace.

    Raises:
        NoProfileError: It has no kernels, or too many events.
        ValueError: It is damaged.
    """
    events = kernels.size(space)
    if events > MOST_EVENTS:
        facts: dict[str, Fact] = {"events": events, "most": MOST_EVENTS}
        raise NoProfileError(Remark("too-many-events", facts, "error"))
    host: dict[str, list[xspace.Event]] = {}
    ran: list[kernels.Kernel] = []
    for timeline in kernels.timelines(space):
        if timeline.plane == HOST:
            host = timeline.lines
        ran.extend(kernels.of(timeline))
    # What a host computes beside its accelerator is not what is looked for.
    far = [each for each in ran if not each.device.startswith("cpu:")]
    ran = sorted(far or ran, key=lambda each: (each.start, -each.end))
    if not ran:
        facts = {"events": events, "planes": len(space.planes)}
        raise NoProfileError(Remark("no-kernels", facts, "error"))
    programs = _Programs(space, {each.program for each in ran})
    ran = programs.settled(graphs.named(ran, programs.known))
    notes = list(_remarks(space, ran, programs))
    steps, told = _steps(host, ran)
    if told is not None:
        notes.append(told)
    devices = sorted({each.device for each in ran})
    tally = _Tally(steps, programs)
    for device in devices:
        tally.add([each for each in ran if each.device == device])
    frames = _Frames()
    rows = tuple(tally.rows(len(devices), frames))
    if not any(share.stack for row in rows for share in row.shares):
        notes.append(Remark("no-lines", {"programs": len(programs.known)}))
    whole = Window(steps[0].start, steps[-1].end)
    peaks = _peaks(space)
    return Profile(
        source=source,
        jax=_version(space),
        device_kind=str(peaks.get("device_type_string", "")),
        devices=tuple(devices),
        steps=tuple((step.end - step.start) * PS for step in steps),
        busy=tuple(busy * PS / len(devices) for busy in tally.busy),
        kernels=rows,
        frames=tuple(frames.known),
        gaps=tuple(_gaps(tally.gaps, host, whole.start)),
        compiles=tuple(_compiles(host, whole)),
        transfers=tuple(_transfers(host, far, space, whole)),
        memory=tuple(_memory(host, whole)),
        flops_per_second=_rate(peaks, "peak_teraflops_per_second", 1e12),
        bytes_per_second=_rate(peaks, "peak_hbm_bw_gigabytes_per_second", 1e9)
        or _rate(peaks, "memory_bandwidth", 1.0),
        peak_source="trace" if peaks.keys() & _PEAKS else "",
        events=events,
        notes=tuple(notes),
    )


def _remarks(
    space: xspace.Space, ran: Sequence[kernels.Kernel], programs: _Programs
) -> Iterator[Remark]:
    if texts := space.errors:
        told = "\n".join(texts)
        yield Remark("trace-errors", {"count": len(texts)}, "warning", told)
    if texts := space.warnings:
        yield Remark("trace-warns", {"count": len(texts)}, "info", "\n".join(texts))
    if cut := sum(not each.is_whole for each in ran):
        yield Remark("kernels-cut", {"count": cut})
    unnamed = sum(
        each.program.startswith("?")
        or (kernels.GRAPH in each.stats and programs.instruction(each) is None)
        for each in ran
    )
    if unnamed:
        yield Remark("kernels-unnamed", {"count": unnamed, "of": len(ran)}, "warning")
    if ordered := sum(each.by_order for each in ran):
        yield Remark("kernels-by-order", {"count": ordered, "of": len(ran)})


class _Programs:
    """The programs of a trace that ran."""

    def __init__(self, space: xspace.Space, wanted: set[str]) -> None:
        self.known: dict[str, hlo.Program] = {}
        self.damaged = 0
        for name, proto in space.programs():
            if name in wanted:
                try:
                    self.known[name] = hlo.read(proto)
                except ValueError:
                    self.damaged += 1
        self._holders: dict[tuple[str, str], frozenset[str]] = {}

    def instruction(self, kernel: kernels.Kernel) -> hlo.Instruction | None:
        program = self.known.get(kernel.program)
        return program.instructions.get(kernel.name) if program else None

    def settled(self, ran: Sequence[kernels.Kernel]) -> list[kernels.Kernel]:
        """Kernels of which a loop, branch or call of the CPU ends with what it holds.

        Up to 0.7.2 the event that tells its end may come long afterwards.
        """
        inner: dict[Hashable, list[kernels.Kernel]] = defaultdict(list)
        for each in ran:
            inner[each.program, each.run, each.device].append(each)
        return sorted(
            (self._settle(each, inner) for each in ran),
            key=lambda each: (each.start, -each.end),
        )

    def _settle(
        self, kernel: kernels.Kernel, inner: dict[Hashable, list[kernels.Kernel]]
    ) -> kernels.Kernel:
        instruction = self.instruction(kernel)
        held = instruction is not None and instruction.opcode in hlo.CONTROL
        if not held or kernel.stats.get("_p") is None:
            return kernel
        beside = inner[kernel.program, kernel.run, kernel.device]
        first = bisect_left(beside, kernel.start, key=attrgetter("start"))
        last = bisect_right(beside, kernel.end, key=attrgetter("start"))
        ends = [
            each.end for each in beside[first:last] if kernel.name in self.holders(each)
        ]
        return kernel._replace(end=min(kernel.end, max(ends))) if ends else kernel

    def holders(self, kernel: kernels.Kernel) -> frozenset[str]:
        """The loops, branches and calls that a kernel runs in, by name."""
        key = kernel.program, kernel.name
        if key not in self._holders:
            found: set[str] = set()
            program = self.known.get(kernel.program)
            name = kernel.name
            while program and (name := program.holders.get(name, "")):
                if name in found:
                    break
                found.add(name)
            self._holders[key] = frozenset(found)
        return self._holders[key]


# Steps.


def _steps(
    host: dict[str, list[xspace.Event]], ran: Sequence[kernels.Kernel]
) -> tuple[list[Window], Remark | None]:
    """The steps, one after the other, and how they were found."""
    own = sorted(
        Window(event.start_ps, event.end_ps)
        for events in host.values()
        for event in events
        if event.name == STEP
    )
    if own:
        return own, None
    whole = Window(ran[0].start, max(each.end for each in ran))
    typed = sorted(
        event.start_ps for events in host.values() for event in _annotations(events)
    )
    if len(typed) > 1:
        # The device may lag behind: what is left of it belongs to the last one.
        ends = [*typed[1:], max(whole.end, typed[-1] + 1)]
        facts: dict[str, Fact] = {"steps": len(typed)}
        found = [Window(*pair) for pair in zip(typed, ends, strict=True)]
        return found, Remark("steps-annotated", facts)
    program, starts = _repeated(ran)
    if len(starts) < 2:
        return [whole], Remark("one-step")
    # Up to its first run it gets ready.
    windows = [Window(*pair) for pair in pairwise([*starts, whole.end])]
    facts = {"program": program, "steps": len(starts)}
    facts["before_seconds"] = (starts[0] - whole.start) * PS
    return windows, Remark("steps-of", facts)


def _annotations(events: Iterable[xspace.Event]) -> Iterator[xspace.Event]:
    """Those of ``StepTraceAnnotation``: one of a name tells of all."""
    known: dict[str, bool] = {}
    for event in events:
        if event.name not in known:
            known[event.name] = "step_num" in dict(event.stats)
        if known[event.name]:
            yield event


def _repeated(ran: Sequence[kernels.Kernel]) -> tuple[str, list[int]]:
    """Of the programs that run again that which takes most of the time, and the starts
    of its runs.
    """
    first = Counter[str](each.device for each in ran).most_common(1)[0][0]
    spent, runs = Counter[str](), defaultdict[str, dict[Hashable, int]](dict)
    opening: dict[str, str] = {}
    for each in ran:
        if each.device != first:
            continue
        spent[each.program] += each.end - each.start
        known = runs[each.program]
        key = each.run
        if key is None:
            # Who does not say its run begins one with the kernel that all begin with.
            begins = each.name == opening.setdefault(each.program, each.name)
            key = len(known) + begins
        known.setdefault(key, each.start)
    again = [name for name, _ in spent.most_common() if len(runs[name]) > 1]
    program = again[0] if again else next(iter(spent))
    return program, sorted(runs[program].values())


# Whose time each moment is.


@dataclass(slots=True)
class _Sum:
    """Of the runs of one kernel; picoseconds of all devices."""

    kernel: kernels.Kernel
    own: list[float]
    total: int = 0
    hidden: int = 0
    count: int = 0


class _Active:
    """A kernel that runs now."""

    __slots__ = ("holds", "kernel", "kind", "outer", "sum")

    def __init__(self, kernel: kernels.Kernel, kind: int, total: _Sum) -> None:
        self.kernel, self.kind, self.sum = kernel, kind, total
        self.holds = 0
        """How many of what it holds run now."""
        self.outer: list[_Active] = []


@dataclass
class _Tally:
    """Adds up the kernels of one device after the other."""

    steps: list[Window]
    programs: _Programs
    sums: dict[tuple[str, str], _Sum] = field(default_factory=dict)
    busy: list[float] = field(default_factory=list)
    gaps: list[tuple[Window, str, str, str]] = field(default_factory=list)
    """With device, and the kernels before and after."""

    def __post_init__(self) -> None:
        self.busy = [0.0] * len(self.steps)
        self._starts = [step.start for step in self.steps]

    def add(self, ran: Sequence[kernels.Kernel]) -> None:
        """The kernels of a device, in the order of their starts."""
        moments = sorted(
            {
                *(moment for step in self.steps for moment in step),
                *(each.start for each in ran),
                *(each.end for each in ran),
            }
        )
        moments.append(moments[-1] + 1)  # after which nothing runs
        starting = defaultdict[int, list[_Active]](list)
        ends = defaultdict[int, list[_Active]](list)
        for each in ran:
            active = self._active(each)
            starting[each.start].append(active)
            ends[each.end].append(active)
        running: dict[int, _Active] = {}
        beside: dict[int, _Active] = {}
        last, idle, device = "", self.steps[0].start, ran[0].device
        """Idle since then, while nothing runs."""
        for now, after in pairwise(moments):
            for active in ends[now]:
                beside.pop(id(active), None)
                if running.pop(id(active), None):
                    last, idle = active.kernel.name, now
                    for outer in active.outer:
                        outer.holds -= 1
            for active in starting[now]:
                if active.kernel.line == kernels.BESIDE:
                    beside[id(active)] = active
                elif active.kernel.end > now:
                    if not running:
                        gap = Window(idle, now)
                        self._gap(gap, device, last, active.kernel.name)
                    self._enter(active, running)
            step = bisect_right(self._starts, now) - 1
            if running and step >= 0 and now < self.steps[step].end:
                self._share(after - now, step, running.values(), beside.values())
        self._gap(Window(idle, self.steps[-1].end), device, last, "")

    def _gap(self, gap: Window, device: str, before: str, after: str) -> None:
        start, end = (
            max(gap.start, self.steps[0].start),
            min(gap.end, self.steps[-1].end),
        )
        if end > start:
            self.gaps.append((Window(start, end), device, before, after))

    def _active(self, kernel: kernels.Kernel) -> _Active:
        key = kernel.program, kernel.name
        if key not in self.sums:
            self.sums[key] = _Sum(kernel, [0.0] * len(self.steps))
        total = self.sums[key]
        start = max(kernel.start, self.steps[0].start)
        inside = min(kernel.end, self.steps[-1].end) - start
        if inside > 0:
            total.total += inside
            # What a copy is beside the kernels began with one of them.
            total.count += kernel.begins and kernel.line != kernels.BESIDE
        category = _category(kernel, self.programs)
        return _Active(kernel, _KINDS.index(kind_of(kernel.name, category)), total)

    def _enter(self, active: _Active, running: dict[int, _Active]) -> None:
        kernel = active.kernel
        holders = self.programs.holders(kernel)
        for other in running.values():
            like = other.kernel
            nested = like.line == kernel.line and like.end >= kernel.end
            same = like.program == kernel.program and like.run == kernel.run
            if nested or (same and like.name in holders):
                other.holds += 1
                active.outer.append(other)
        running[id(active)] = active

    def _share(
        self,
        time: int,
        step: int,
        running: Iterable[_Active],
        beside: Iterable[_Active],
    ) -> None:
        """A stretch of time in which nothing begins or ends."""
        inner = [active for active in running if not active.holds]
        first = min(active.kind for active in inner)
        owners = [active for active in inner if active.kind == first]
        self.busy[step] += time
        for active in owners:
            active.sum.own[step] += time / len(owners)
        if first == 0:
            for active in (*inner, *beside):
                if active.kind:
                    active.sum.hidden += time

    def rows(self, devices: int, frames: _Frames) -> Iterator[Kernel]:
        """Of a step, averaged over the devices; the dearest first."""
        scale = PS / devices
        for total in sorted(self.sums.values(), key=lambda each: -sum(each.own)):
            if not total.total:
                continue
            kernel, programs = total.kernel, self.programs
            instruction = programs.instruction(kernel)
            category = _category(kernel, programs)
            flops, bytes_moved = _work(kernel, programs)
            yield Kernel(
                name=kernel.name,
                program=kernel.program,
                kind=kind_of(kernel.name, category),
                category=category,
                shape=_shape(kernel, instruction),
                op_name=str(kernel.stats.get("tf_op", "")).rstrip(":")
                or (instruction.op_name if instruction else ""),
                steps=tuple(scale * own for own in total.own),
                total_seconds=scale * total.total / len(self.steps),
                hidden_seconds=scale * total.hidden / len(self.steps),
                count=total.count / len(self.steps),
                by_order=kernel.by_order,
                flops=flops,
                bytes=bytes_moved,
                shares=tuple(_shares(kernel, programs, frames)),
            )


def kind_of(name: str, category: str) -> KernelKind:
    for text in (category, name):
        if text.startswith(COLLECTIVES):
            return "collective"
        if text.startswith(COPIES):
            return "copy"
    return "compute"


def _category(kernel: kernels.Kernel, programs: _Programs) -> str:
    if known := kernel.stats.get("hlo_category"):
        return str(known)
    instruction = programs.instruction(kernel)
    if instruction is None:
        return kernel.name.partition(".")[0].rstrip("0123456789") or kernel.name
    if instruction.opcode == "fusion":
        inside = {
            each.opcode for each in programs.known[kernel.program].inside(instruction)
        }
        if heavy := inside & {"dot", "convolution"}:
            return f"{heavy.pop()} fusion"
        return _FUSIONS.get(instruction.fusion_kind, "custom fusion")
    if instruction.opcode == "call":
        opcodes = [
            each.opcode
            for each in programs.known[kernel.program].inside(instruction)
            if each.opcode not in hlo.NO_WORK
        ]
        return opcodes[-1] if opcodes else "call"
    return instruction.opcode


def _shape(kernel: kernels.Kernel, instruction: hlo.Instruction | None) -> str:
    if instruction is not None:
        return str(instruction.shape)
    return str(kernel.stats.get("shape_with_layout", "")).partition("{")[0]


def _work(
    kernel: kernels.Kernel, programs: _Programs
) -> tuple[float | None, float | None]:
    """Flops and bytes of one run."""
    if "bytes_accessed" in kernel.stats:
        counted = kernel.stats.get("flops"), kernel.stats["bytes_accessed"]
        flops, moved = (
            float(one) if isinstance(one, (int, float)) else None for one in counted
        )
        return flops, moved
    instruction = programs.instruction(kernel)
    if instruction is None:
        return None, None
    program = programs.known[kernel.program]
    return program.flops(instruction), program.bytes(instruction)


# Lines.


class _Frames:
    def __init__(self) -> None:
        self.known: dict[Frame, None] = {}
        self._places: dict[Frame, int] = {}

    def stack(self, lines: Iterable[hlo.SourceLine]) -> tuple[int, ...]:
        return tuple(
            self._place(Frame(file=each.file, line=each.line, function=each.function))
            for each in lines
            if not each.file.startswith(HIDDEN)
        )

    def _place(self, frame: Frame) -> int:
        self.known[frame] = None
        return self._places.setdefault(frame, len(self._places))


def _shares(
    kernel: kernels.Kernel, programs: _Programs, frames: _Frames
) -> Iterator[Share]:
    """The lines of a kernel: of a fusion those of all that it computes.

    Each has a part of its time by the work of its instructions.
    """
    instruction = programs.instruction(kernel)
    if instruction is None:
        yield Share(part=1.0, stack=frames.stack(_source(kernel)))
        return
    program = programs.known[kernel.program]
    weights: Counter[tuple[hlo.SourceLine, ...]] = Counter()
    for inner in program.inside(instruction):
        if inner.opcode not in hlo.NO_WORK and (stack := program.stack(inner)):
            weights[stack] += program.work(inner)  # type: ignore[assignment]
    whole = sum(weights.values())
    if not whole:
        inside = (instruction, *program.inside(instruction))
        stacks = (program.stack(each) for each in inside)
        yield Share(part=1.0, stack=frames.stack(next(filter(None, stacks), ())))
        return
    for stack, weight in weights.most_common():
        yield Share(part=weight / whole, stack=frames.stack(stack))


def _source(kernel: kernels.Kernel) -> Iterator[hlo.SourceLine]:
    """The stack that a TPU writes into its trace, the innermost last."""
    stack = str(kernel.stats.get("source_stack", "")).strip().splitlines()
    for text in reversed(stack or [str(kernel.stats.get("source", ""))]):
        file, *numbers = text.strip().split(":")
        if file and numbers and numbers[0].isdigit():
            yield hlo.SourceLine(file, int(numbers[0]), "")


# The host.


def _gaps(
    gaps: Sequence[tuple[Window, str, str, str]],
    host: dict[str, list[xspace.Event]],
    begin: int,
) -> Iterator[Gap]:
    """The longest ones, in that order."""
    longest = sorted(gaps, key=lambda each: each[0].start - each[0].end)[:MOST_GAPS]
    callers = list(_callers(host))
    for window, device, before, after in longest:
        yield Gap(
            start_seconds=(window.start - begin) * PS,
            seconds=(window.end - window.start) * PS,
            device=device,
            after=before,
            before=after,
            host=tuple(_meanwhile(window, callers)),
        )


def _callers(host: dict[str, list[xspace.Event]]) -> Iterator[list[xspace.Event]]:
    """The threads that call JAX: those of the program, not of the runtime."""
    for events in host.values():
        if any(
            event.name.startswith("PjitFunction") or event.name == STEP
            for event in events
        ):
            steps = {each.name for each in _annotations(events)}
            said = [
                each
                for each in events
                if not each.name.startswith(NO_ACTIVITY) and each.name not in steps
            ]
            yield sorted(said, key=lambda each: (each.start_ps, -each.end_ps))


def _meanwhile(
    gap: Window, threads: Iterable[Sequence[xspace.Event]]
) -> Iterator[Activity]:
    """What the host did, by the innermost events of its threads; without a name what
    none of them shows.
    """
    spent: Counter[str] = Counter()
    unseen = gap.end - gap.start
    for events in threads:
        open_: list[xspace.Event] = []
        last, before = gap.start, spent.total()
        for event in events:
            if event.end_ps <= gap.start or event.start_ps >= gap.end:
                continue
            last = _close(open_, last, event.start_ps, gap, spent)
            open_.append(event)
        _close(open_, last, gap.end, gap, spent)
        unseen = min(unseen, gap.end - gap.start - (spent.total() - before))
    spent[""] += unseen
    for name, time in spent.most_common(MOST_ACTIVITIES):
        if time > 0:
            yield Activity(name=name, seconds=time * PS)


def _close(
    open_: list[xspace.Event], last: int, now: int, gap: Window, spent: Counter[str]
) -> int:
    """Count the time up to now for the innermost events; returns where it is."""
    now = min(max(now, gap.start), gap.end)
    while open_ and open_[-1].end_ps <= now:
        inner = open_.pop()
        end = max(last, inner.end_ps)
        spent[inner.name] += end - last
        last = end
    if open_:
        spent[open_[-1].name] += now - last
    return max(now, last)


def _compiles(host: dict[str, list[xspace.Event]], whole: Window) -> Iterator[Compile]:
    """Functions that were compiled, or traced again and found in JAX's cache, in the
    order of time.
    """
    found: list[tuple[int, Compile]] = []
    for events in host.values():
        inside = [
            each
            for each in events
            if each.name.startswith((COMPILES, LOWERS))
            and each.end_ps > whole.start
            and each.start_ps < whole.end
        ]
        calls = [each for each in events if each.name.startswith("PjitFunction(")]
        compiled = [each for each in inside if each.name.startswith(COMPILES)]
        for one in inside:
            around = [call for call in calls if _holds(call, one)]
            call = min(around, key=attrgetter("duration_ps"), default=one)
            of_xla = one.name.startswith(COMPILES)
            if not of_xla and any(_holds(call, each) for each in compiled):
                continue
            name = call.name[len("PjitFunction(") : -1]
            record = Compile(
                function=_module(host, one) if call is one else name,
                seconds=(one.end_ps - call.start_ps) * PS,
                compile_seconds=one.duration_ps * PS if of_xla else None,
            )
            found.append((call.start_ps, record))
    for _, record in sorted(found, key=lambda each: each[0])[:MOST_COMPILES]:
        yield record


def _holds(outer: xspace.Event, inner: xspace.Event) -> bool:
    return outer.start_ps <= inner.start_ps and inner.end_ps <= outer.end_ps


def _module(host: dict[str, list[xspace.Event]], compiled: xspace.Event) -> str:
    """The function that is compiled, by what XLA says meanwhile; may be empty."""
    for events in host.values():
        for event in events:
            if compiled.start_ps <= event.start_ps < event.end_ps <= compiled.end_ps:
                for name, value in event.stats:
                    if name in ("name", "module") and str(value).startswith("jit_"):
                        return str(value).removeprefix("jit_")
    return ""


_TRANSFERS = ("TransferToDevice", "TransferFromDevice", "H2D", "D2H")
_COPIES = ("MemcpyH2D", "MemcpyD2H")
"""Begin the names of what moves bytes between host and device; on the streams of a GPU,
which its host calls by the same name."""


def _transfers(
    host: dict[str, list[xspace.Event]],
    far: Sequence[kernels.Kernel],
    space: xspace.Space,
    whole: Window,
) -> Iterator[Transfer]:
    counts, seconds = Counter[str](), Counter[str]()
    moved: dict[str, float] = {}
    streams = (
        event
        for plane in space.planes
        if far and plane.name.startswith(DEVICES)
        for line in plane.lines
        if line.name.startswith(kernels.STREAM)
        for event in line.events
        if event.name.startswith(_COPIES)
    )
    asked = (
        event
        for events in host.values()
        for event in events
        if event.name.startswith(_TRANSFERS) and "=>" not in event.name
    )
    for event in (*asked, *streams):
        if event.end_ps <= whole.start or event.start_ps >= whole.end:
            continue
        name = event.name.partition(" ")[0]
        counts[name] += 1
        seconds[name] += event.duration_ps
        size = _size(dict(event.stats))
        if size is not None:
            moved[name] = moved.get(name, 0.0) + size
    for name, time in seconds.most_common():
        yield Transfer(
            name=name, count=counts[name], bytes=moved.get(name), seconds=time * PS
        )


def _size(stats: dict[str, Any]) -> float | None:
    for name in ("size", "bytes", "bytes_transferred"):
        if isinstance(found := stats.get(name), int):
            return float(found)
    for part in str(stats.get("memcpy_details", "")).split():
        if part.startswith("size:") and part[5:].isdigit():
            return float(part[5:])
    return None


def _memory(host: dict[str, list[xspace.Event]], whole: Window) -> Iterator[Occupancy]:
    """What the allocator of the first device says, thinned out."""
    found = []
    for events in host.values():
        for event in events:
            if event.start_ps <= whole.end and event.name.startswith("Memory"):
                stats = dict(event.stats)
                used = stats.get("bytes_allocated")
                if isinstance(used, int) and stats.get("index_on_host", 0) == 0:
                    found.append((event.start_ps, float(used)))
    found.sort()
    # What was taken before is in use, too.
    before = bisect_right(found, (whole.start, inf))
    if before:
        found = [(whole.start, found[before - 1][1]), *found[before:]]
    every = max(1, len(found) // MOST_MOMENTS)
    for place in range(0, len(found), every):
        # The highest of those that are left out.
        start = found[place][0]
        used = max(each for _, each in found[place : place + every])
        yield Occupancy(start_seconds=(start - whole.start) * PS, bytes=used)


# The machine.


def _peaks(space: xspace.Space) -> dict[str, xspace.Stat]:
    for plane in space.planes:
        if plane.name.startswith(DEVICES) and plane.stats:
            known = dict(plane.stats)
            known.setdefault("device_type_string", known.get("gpu_device_name", ""))
            return known
    return {}


_PEAKS = {"peak_teraflops_per_second", "memory_bandwidth"}
"""Stats of a device, of a TPU and a GPU."""


def _rate(peaks: dict[str, xspace.Stat], name: str, unit: float) -> float | None:
    value = peaks.get(name)
    return value * unit if isinstance(value, (int, float)) and value > 0 else None


def _version(space: xspace.Space) -> str:
    for plane in space.planes:
        if plane.name == xspace.PROGRAMS:
            return str(plane.stats.get("jax_version", ""))
    return ""


# In a process of its own, without JAX: a trace may be any.


def load(path: Path) -> Profile:
    """The profile of a file, or of the latest trace in a folder.

    Raises:
        NoProfileError: There is none.
    """
    facts: dict[str, Fact] = {"path": str(path)}
    try:
        files = xspace.files(path)
        if not files:
            raise NoProfileError(Remark("trace-not-in-folder", facts, "error"))
        space = xspace.load(files[0])
        found = read(space, files[0].name)
        size = files[0].stat().st_size
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise NoProfileError(Remark("trace-unreadable", facts, "error", why)) from error
    except xspace.TooLargeError as error:
        facts |= {"bytes": error.size, "most": xspace.MOST_BYTES}
        raise NoProfileError(Remark("trace-too-big", facts, "error")) from error
    except ValueError as error:
        raise NoProfileError(Remark("trace-damaged", facts, "error")) from error
    if len(files) > 1:
        more: dict[str, Fact] = {"file": files[0].name, "files": len(files)}
        notes = (Remark("trace-of-several-hosts", more), *found.notes)
        found = msgspec.structs.replace(found, notes=notes)
    return msgspec.structs.replace(found, size_bytes=size)


def main() -> int:
    """Print the profile of the path on the command line, or why there is none."""
    try:
        told: Profile | WorkFailed = load(Path(sys.argv[1]))
    except NoProfileError as error:
        told = WorkFailed(remark=error.remark)
    sys.stdout.buffer.write(msgspec.json.encode(told))
    return 0
