"""The owner of each moment of a device's time.

It belongs to what runs then: of what is nested to the innermost, of what runs side by
side to computation before collectives before copies, in equal parts. So the times of
all kernels and the idle time add up to the steps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter

from jaxtui.core.model.profile import KERNEL_KINDS, Kernel, KernelKind
from jaxtui.features.profile.measure.programs import Programs, kind_of
from jaxtui.features.profile.measure.steps import PS, Window
from jaxtui.xla.kernels import BESIDE
from jaxtui.xla.kernels import Kernel as Ran


@dataclass(slots=True)
class _Sum:
    """The sums over one kernel's runs; picoseconds of all devices."""

    kernel: Ran
    category: str
    kind: KernelKind
    own: list[float]
    total: int = 0
    hidden: int = 0
    count: int = 0


@dataclass(slots=True, eq=False)
class _Active:
    """A kernel that runs now."""

    kernel: Ran
    sum: _Sum
    outer: list[_Active] = field(default_factory=list)
    """The kernels around it."""
    holds: int = 0
    """The number of kernels inside it that run now."""


@dataclass
class Tally:
    """Adds up the kernels of one device after the other."""

    steps: list[Window]
    programs: Programs
    sums: dict[tuple[str, str], _Sum] = field(default_factory=dict)
    busy: list[float] = field(default_factory=list)
    gaps: list[tuple[Window, str, str, str]] = field(default_factory=list)
    """The gaps with device, and the kernels before and after."""

    def __post_init__(self) -> None:
        self.busy = [0.0] * len(self.steps)
        self._starts = [step.start for step in self.steps]
        self._stretches: list[Window] = []
        """Steps without a break between them; what jaxtui does there is no step's."""
        for step in self.steps:
            if self._stretches and step.start <= self._stretches[-1].end:
                step = Window(self._stretches.pop().start, step.end)
            self._stretches.append(step)

    def add(self, ran: Sequence[Ran]) -> None:
        """The kernels of a device, in the order of their starts."""
        moments = sorted(
            {
                *(moment for step in self.steps for moment in step),
                *(kernel.start for kernel in ran),
                *(kernel.end for kernel in ran),
            }
        )
        moments.append(moments[-1] + 1)  # after which nothing runs
        starting = defaultdict[int, list[_Active]](list)
        ends = defaultdict[int, list[_Active]](list)
        for kernel in ran:
            active = self._active(kernel)
            starting[kernel.start].append(active)
            ends[kernel.end].append(active)
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
                if active.kernel.line == BESIDE:
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
        for part in self._inside(gap):
            self.gaps.append((part, device, before, after))

    def _inside(self, span: Window) -> Iterator[Window]:
        """Yield the parts of a span that belong to steps."""
        first = bisect_left(self._stretches, span.start, key=attrgetter("end"))
        for stretch in self._stretches[first:]:
            if stretch.start >= span.end:
                return
            start, end = max(span.start, stretch.start), min(span.end, stretch.end)
            if end > start:
                yield Window(start, end)

    def _active(self, kernel: Ran) -> _Active:
        key = kernel.program, kernel.name
        if key not in self.sums:
            category = self.programs.category(kernel)
            kind = kind_of(kernel.name, category)
            self.sums[key] = _Sum(kernel, category, kind, [0.0] * len(self.steps))
        total = self.sums[key]
        span = Window(kernel.start, kernel.end)
        inside = sum(part.end - part.start for part in self._inside(span))
        if inside > 0:
            total.total += inside
            # What a copy is beside the kernels began with one of them.
            total.count += kernel.is_first and kernel.line != BESIDE
        return _Active(kernel, total)

    def _enter(self, active: _Active, running: dict[_Active, None]) -> None:
        kernel = active.kernel
        holders = self.programs.holders(kernel)
        for holder in running:
            like = holder.kernel
            nested = like.line == kernel.line and like.end >= kernel.end
            same = like.program == kernel.program and like.run == kernel.run
            if nested or (same and like.name in holders):
                holder.holds += 1
                active.outer.append(holder)
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
        first = min((a.kind for a in inner), key=KERNEL_KINDS.index)
        owners = [a for a in inner if a.kind == first]
        self.busy[step] += time
        for a in owners:
            a.own[step] += time / len(owners)
        if first == "compute":
            for a in (*inner, *(active.sum for active in beside)):
                if a.kind != first:
                    a.hidden += time

    def rows(self, devices: int) -> Iterator[Kernel]:
        """Yield the kernels of a step, averaged over the devices; the longest first."""
        scale = PS / devices
        for total in sorted(self.sums.values(), key=lambda t: -sum(t.own)):
            if not total.total:
                continue
            kernel, programs = total.kernel, self.programs
            flops, bytes_moved = programs.work(kernel)
            yield Kernel(
                name=kernel.name,
                program=kernel.program,
                kind=total.kind,
                category=total.category,
                shape=programs.shape(kernel),
                op_name=programs.op_name(kernel),
                steps=tuple(scale * own for own in total.own),
                total_seconds=scale * total.total / len(self.steps),
                hidden_seconds=scale * total.hidden / len(self.steps),
                count=total.count / len(self.steps),
                by_order=kernel.by_order,
                flops=flops,
                bytes=bytes_moved,
                flops_per_second=programs.flops_per_second(kernel, total.category),
                shares=tuple(programs.shares(kernel)),
            )
