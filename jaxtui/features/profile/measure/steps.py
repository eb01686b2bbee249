"""The steps of a trace."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from jaxtui.core.model.remark import Fact, Remark
from jaxtui.xla.kernels import Kernel
from jaxtui.xla.traces import Event

STEP = "jaxtui step"
"""The annotation of a step that jaxtui runs itself."""

PS = 1e-12


Threads = Collection[Sequence[Event]]
"""The events of each thread of the host."""


class Window(NamedTuple):
    """Picoseconds of a trace."""

    start: int
    end: int

    @property
    def seconds(self) -> float:
        return (self.end - self.start) * PS

    def meets(self, event: Event) -> bool:
        return event.end_ps > self.start and event.start_ps < self.end


def find(threads: Threads, ran: Sequence[Kernel]) -> tuple[list[Window], Remark | None]:
    """The steps, one after the other, and how they were found."""
    own = sorted(
        Window(event.start_ps, event.end_ps)
        for events in threads
        for event in events
        if event.name == STEP
    )
    if own:
        return own, None
    whole = Window(ran[0].start, max(kernel.end for kernel in ran))
    typed = sorted(event.start_ps for events in threads for event in annotated(events))
    if len(typed) > 1:
        # The device may lag behind: what is left of it belongs to the last one.
        ends = [*typed[1:], max(whole.end, typed[-1] + 1)]
        facts: dict[str, Fact] = {"steps": len(typed)}
        steps = [Window(*pair) for pair in zip(typed, ends, strict=True)]
        return steps, Remark("steps-annotated", facts)
    program, starts = _repeated(ran)
    if len(starts) < 2:
        return [whole], Remark("one-step")
    # Up to its first run it gets ready.
    windows = [Window(*pair) for pair in pairwise([*starts, whole.end])]
    facts = {"program": program, "steps": len(starts)}
    facts["before_seconds"] = (starts[0] - whole.start) * PS
    return windows, Remark("steps-of", facts)


def annotated(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events of ``StepTraceAnnotation``: one of a name tells of all."""
    is_step: dict[str, bool] = {}
    for event in events:
        if event.name not in is_step:
            is_step[event.name] = "step_num" in dict(event.stats)
        if is_step[event.name]:
            yield event


def _repeated(ran: Sequence[Kernel]) -> tuple[str, list[int]]:
    """Return the repeated program with the most time, and its runs' starts."""
    first = Counter[str](kernel.device for kernel in ran).most_common(1)[0][0]
    spent, runs = Counter[str](), defaultdict[str, dict[Hashable, int]](dict)
    for kernel in ran:
        if kernel.device == first:
            spent[kernel.program] += kernel.end - kernel.start
            runs[kernel.program].setdefault(kernel.run, kernel.start)
    again = [name for name, _ in spent.most_common() if len(runs[name]) > 1]
    program = again[0] if again else next(iter(spent))
    return program, sorted(runs[program].values())
