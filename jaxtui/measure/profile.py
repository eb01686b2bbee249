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
from collections.abc import (
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
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
    KERNEL_KINDS,
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


def read(space: xspace.Space, source: str) -> Profile:
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
    ran = _sorted(far or ran)
    if not ran:
        facts = {"events": events, "planes": len(space.planes)}
        raise NoProfileError(Remark("no-kernels", facts, "error"))
    programs = _programs(space, {each.program for each in ran})
    ran = _sorted(_settled(graphs.named(ran, programs), programs))
    notes = list(_remarks(space, ran, programs))
    steps, told = _steps(host, ran)
    if told is not None:
        notes.append(told)
    devices = sorted({each.device for each in ran})
    tally = _Tally(steps, programs)
    for device in devices:
        tally.add([each for each in ran if each.device == device])
    frames: dict[Frame, int] = {}
    rows = tuple(tally.rows(len(devices), frames))
    if not any(share.stack for row in rows for share in row.shares):
        notes.append(Remark("no-lines", {"programs": len(programs)}))
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
        frames=tuple(frames),
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


def _sorted(ran: Iterable[kernels.Kernel]) -> list[kernels.Kernel]:
    return sorted(ran, key=lambda each: (each.start, -each.end))


def _remarks(
    space: xspace.Space, ran: Sequence[kernels.Kernel], programs: Programs
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
        or (kernels.GRAPH in each.stats and _instruction(each, programs) is None)
        for each in ran
    )
    if unnamed:
        yield Remark("kernels-unnamed", {"count": unnamed, "of": len(ran)}, "warning")
    if ordered := sum(each.by_order for each in ran):
        yield Remark("kernels-by-order", {"count": ordered, "of": len(ran)})


Programs = Mapping[str, hlo.Program]
"""Those of a trace that ran, by their names."""


def _programs(space: xspace.Space, wanted: Container[str]) -> dict[str, hlo.Program]:
    found: dict[str, hlo.Program] = {}
    for name, proto in space.programs():
        if name in wanted:
            with suppress(ValueError):  # of a later format
                found[name] = hlo.read(proto)
    return found


def _instruction(
    kernel: kernels.Kernel, programs: Programs
) -> tuple[hlo.Program, hlo.Instruction] | None:
    program = programs.get(kernel.program)
    instruction = program and program.instructions.get(kernel.name)
    return (program, instruction) if program and instruction else None


def _holders(kernel: kernels.Kernel, programs: Programs) -> frozenset[str]:
    """The loops, branches and calls that a kernel runs in."""
    program = programs.get(kernel.program)
    return program.holders.get(kernel.name, frozenset()) if program else frozenset()


def _settled(
    ran: Sequence[kernels.Kernel], programs: Programs
) -> Iterator[kernels.Kernel]:
    """Kernels of which a loop, branch or call of the CPU ends with what it holds.

    Up to 0.7.2 the event that tells its end may come long afterwards.
    """
    held: dict[Hashable, list[kernels.Kernel]] = defaultdict(list)
    for each in ran:
        for holder in _holders(each, programs):
            held[each.program, each.run, each.device, holder].append(each)
    for each in ran:
        inner = held.get((each.program, each.run, each.device, each.name), [])
        first = bisect_left(inner, each.start, key=attrgetter("start"))
        last = bisect_right(inner, each.end, key=attrgetter("start"))
        ends = [other.end for other in inner[first:last]]
        if ends and each.stats.get("_p") is not None:
            yield each._replace(end=min(each.end, max(ends)))
        else:
            yield each


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
    category: str
    kind: KernelKind
    own: list[float]
    total: int = 0
    hidden: int = 0
    count: int = 0


@dataclass(slots=True, eq=False)
class _Active:
    """A kernel that runs now."""

    kernel: kernels.Kernel
    sum: _Sum
    outer: list[_Active] = field(default_factory=list)
    """What holds it."""
    holds: int = 0
    """How many of what it holds run now."""


@dataclass
class _Tally:
    """Adds up the kernels of one device after the other."""

    steps: list[Window]
    programs: Programs
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
        running: dict[_Active, None] = {}
        beside: dict[_Active, None] = {}
        last, idle, device = "", self.steps[0].start, ran[0].device
        """Idle since then, while nothing runs."""
        for now, after in pairwise(moments):
            for active in ends[now]:
                beside.pop(active, None)
                if active in running:
                    del running[active]
                    last, idle = active.kernel.name, now
                    for outer in active.outer:
                        outer.holds -= 1
            for active in starting[now]:
                if active.kernel.line == kernels.BESIDE:
                    beside[active] = None
                elif active.kernel.end > now:
                    if not running:
                        gap = Window(idle, now)
                        self._gap(gap, device, last, active.kernel.name)
                    self._enter(active, running)
            step = bisect_right(self._starts, now) - 1
            if running and step >= 0 and now < self.steps[step].end:
                self._share(after - now, step, running, beside)
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
            category = _category(kernel, self.programs)
            kind = kind_of(kernel.name, category)
            self.sums[key] = _Sum(kernel, category, kind, [0.0] * len(self.steps))
        total = self.sums[key]
        start = max(kernel.start, self.steps[0].start)
        inside = min(kernel.end, self.steps[-1].end) - start
        if inside > 0:
            total.total += inside
            # What a copy is beside the kernels began with one of them.
            total.count += kernel.begins and kernel.line != kernels.BESIDE
        return _Active(kernel, total)

    def _enter(self, active: _Active, running: dict[_Active, None]) -> None:
        kernel = active.kernel
        holders = _holders(kernel, self.programs)
        for other in running:
            like = other.kernel
            nested = like.line == kernel.line and like.end >= kernel.end
            same = like.program == kernel.program and like.run == kernel.run
            if nested or (same and like.name in holders):
                other.holds += 1
                active.outer.append(other)
        running[active] = None

    def _share(
        self,
        time: int,
        step: int,
        running: Iterable[_Active],
        beside: Iterable[_Active],
    ) -> None:
        """A stretch of time in which nothing begins or ends."""
        inner = [active.sum for active in running if not active.holds]
        first = min((each.kind for each in inner), key=KERNEL_KINDS.index)
        owners = [each for each in inner if each.kind == first]
        self.busy[step] += time
        for each in owners:
            each.own[step] += time / len(owners)
        if first == "compute":
            for each in (*inner, *(active.sum for active in beside)):
                if each.kind != first:
                    each.hidden += time

    def rows(self, devices: int, frames: dict[Frame, int]) -> Iterator[Kernel]:
        """Of a step, averaged over the devices; the dearest first."""
        scale = PS / devices
        for total in sorted(self.sums.values(), key=lambda each: -sum(each.own)):
            if not total.total:
                continue
            kernel, programs = total.kernel, self.programs
            known = _instruction(kernel, programs)
            flops, bytes_moved = _work(kernel, programs)
            yield Kernel(
                name=kernel.name,
                program=kernel.program,
                kind=total.kind,
                category=total.category,
                shape=str(known[1].shape)
                if known
                else str(kernel.stats.get("shape_with_layout", "")).partition("{")[0],
                op_name=str(kernel.stats.get("tf_op", "")).rstrip(":")
                or (known[1].op_name if known else ""),
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


def _category(kernel: kernels.Kernel, programs: Programs) -> str:
    if category := kernel.stats.get("hlo_category"):
        return str(category)
    if (known := _instruction(kernel, programs)) is None:
        return kernel.name.partition(".")[0].rstrip("0123456789") or kernel.name
    program, instruction = known
    opcodes = [each.opcode for each in program.inside(instruction)]
    if instruction.opcode == "fusion":
        if heavy := {"dot", "convolution"}.intersection(opcodes):
            return f"{heavy.pop()} fusion"
        return _FUSIONS.get(instruction.fusion_kind, "custom fusion")
    if instruction.opcode == "call":
        return next((o for o in reversed(opcodes) if o not in hlo.NO_WORK), "call")
    return instruction.opcode


def _work(
    kernel: kernels.Kernel, programs: Programs
) -> tuple[float | None, float | None]:
    """Flops and bytes of one run."""
    if "bytes_accessed" in kernel.stats:
        counted = kernel.stats.get("flops"), kernel.stats["bytes_accessed"]
        flops, moved = (
            float(one) if isinstance(one, (int, float)) else None for one in counted
        )
        return flops, moved
    if (known := _instruction(kernel, programs)) is None:
        return None, None
    program, instruction = known
    return program.flops(instruction), program.bytes(instruction)


# Lines.


def _stack(
    lines: Iterable[hlo.SourceLine], frames: dict[Frame, int]
) -> tuple[int, ...]:
    """Places of the user's lines in the profile's frames, which grow with them."""
    return tuple(
        frames.setdefault(Frame(file=file, line=line, function=function), len(frames))
        for file, line, function in lines
        if not file.startswith(HIDDEN)
    )


def _shares(
    kernel: kernels.Kernel, programs: Programs, frames: dict[Frame, int]
) -> Iterator[Share]:
    """The lines of a kernel: of a fusion those of all that it computes.

    Each has a part of its time by the work of its instructions.
    """
    if (known := _instruction(kernel, programs)) is None:
        yield Share(part=1.0, stack=_stack(_source(kernel), frames))
        return
    program, instruction = known
    weights: Counter[tuple[hlo.SourceLine, ...]] = Counter()
    for inner in program.inside(instruction):
        if inner.opcode not in hlo.NO_WORK and (stack := program.stack(inner)):
            weights[stack] += program.work(inner)  # type: ignore[assignment]
    whole = sum(weights.values())
    if not whole:
        inside = (instruction, *program.inside(instruction))
        stacks = (program.stack(each) for each in inside)
        yield Share(part=1.0, stack=_stack(next(filter(None, stacks), ()), frames))
        return
    for stack, weight in weights.most_common():
        yield Share(part=weight / whole, stack=_stack(stack, frames))


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
