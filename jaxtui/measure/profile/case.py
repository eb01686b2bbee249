"""Profiles some calls of a case: they run under JAX's profiler, and without it before.

``_Run.work`` is the whole course: the cold path, a warm-up, calls without the profiler,
a traced call that tells how much a call writes, and the traced calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter

import jax
import msgspec

from jaxtui.measure import coldpath, devices, kernels, own, profile, trace, xspace
from jaxtui.measure.errors import RefusedError
from jaxtui.measure.profile import NoProfileError, holdings
from jaxtui.measure.profile.steps import STEP
from jaxtui.measure.runner import Runner
from jaxtui.measure.turns import never
from jaxtui.measure.workload import Workload
from jaxtui.model import HOST_MODES, RunEvent
from jaxtui.model.profile import MOST_STEPS, Profiling
from jaxtui.model.remark import Fact, Remark
from jaxtui.stats import median

WARM_CALLS = 2
"""After the first one, of which the cold path is."""

MOST_EVENTS = 200_000
"""Of a profile: some 25 MB, read in two seconds."""

SEED = 0


def run_profiling(
    work: Profiling, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Profile a case.

    ``Profile`` or ``WorkFailed`` ends it, or neither if it was stopped before.
    """
    return _Run(work, stop).events()


class _Run(Runner):
    phase = "inputs"
    _workload: Workload

    def __init__(self, work: Profiling, stop: Callable[[], bool]) -> None:
        super().__init__(work.budget, stop)
        self._work, self.case = work, work.case

    def work(self) -> Iterator[RunEvent]:
        case, steps = self.case, self._work.steps
        if case.mode in HOST_MODES:
            raise RefusedError(Remark("profile-on-host", {"mode": case.mode}, "error"))
        if not 1 <= steps <= MOST_STEPS:
            facts: dict[str, Fact] = {"steps": steps, "most": MOST_STEPS}
            raise RefusedError(Remark("profile-steps", facts, "error"))
        group = devices.find_all(case.device)
        device = group[0]
        yield from self.warm_up(device)
        for phase in self._phases(group):
            yield self.enter(phase)
            if self.stop():
                return
        yield self.enter("warm-up")
        each = max(self._step() for _ in range(WARM_CALLS))
        needed = 2 * (steps + 1) * each
        if needed > self.remaining:
            facts = {"seconds": each, "steps": steps, "budget": self.budget}
            raise RefusedError(Remark("profile-too-slow", facts, "error"))
        yield self.enter("sampling")
        plain = [self._step() for _ in range(steps)]
        if self.stop():
            return
        yield self.enter("profile")
        alone = self._record(1)
        events = max(1, kernels.size(alone))
        fitting = max(1, min(steps, MOST_EVENTS // events))
        space = self._record(fitting)
        if self.stop():
            return
        yield self.progress("profile-reading", case.label)
        try:
            found = profile.read(space, self.case.label, device.device_kind)
        except NoProfileError as error:
            raise RefusedError(error.remark) from error
        notes = list(found.notes)
        if fitting < steps:
            facts = {"steps": fitting, "asked": steps, "events": events}
            notes.append(Remark("fewer-steps", facts, "warning"))
        with self._workload.scope():
            result = jax.block_until_ready(self._workload.call(*self._workload.args))
            held = holdings.now()
            del result
        yield msgspec.structs.replace(
            found,
            holdings=() if found.memory else held,
            jax=jax.__version__,
            unprofiled_seconds=median(plain),
            size_bytes=self._size,
            notes=tuple(notes),
        )

    def _phases(self, group: tuple[jax.Device, ...]) -> Iterator[str]:
        """Do the phases of the cold path; each is named before it is done."""
        self._workload = yield from coldpath.begin(self.case, group, SEED)
        self.case = self._workload.case

    def _step(self, number: int | None = None) -> float:
        """One call, awaited; annotated with its number where it is profiled."""
        workload = self._workload
        step: AbstractContextManager[object] = nullcontext()
        if number is not None:
            step = jax.profiler.StepTraceAnnotation(STEP, step_num=number)
        with workload.scope():
            args = (*workload.args,)
            jax.block_until_ready(list(filter(own.is_jax, jax.tree.leaves(args))))
            with step:
                start = perf_counter()
                jax.block_until_ready(workload.call(*args))
                return perf_counter() - start

    def _record(self, steps: int) -> xspace.Space:
        """Some steps under the profiler."""

        def work() -> None:
            for number in range(steps):
                self._step(number)
                if self.stop():
                    break

        space, self._size = trace.recorded(work)
        return space
