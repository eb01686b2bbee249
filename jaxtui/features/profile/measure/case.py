"""Profiles some calls of a case: they run under JAX's profiler, and without it before.

``_Run.work`` is the whole course: the cold path, a warm-up, loops without the profiler,
and the traced calls. What the device does between two calls of a loop is the program's
own: results take the place of arguments that were donated, as in a training loop, where
they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from time import perf_counter
from typing import Any

import jax
import msgspec

from jaxtui.core.model import HOST_MODES, RunEvent
from jaxtui.core.model.profile import MOST_STEPS, STEPS, Profiling
from jaxtui.core.model.remark import Fact, Remark
from jaxtui.features.bench.measure import notes, planning
from jaxtui.features.profile import measure as profile
from jaxtui.features.profile.measure import NoProfileError, holdings
from jaxtui.features.profile.measure.steps import STEP
from jaxtui.tasks import devices, own
from jaxtui.tasks.errors import RefusedError
from jaxtui.tasks.workload import Workload
from jaxtui.timing import coldpath
from jaxtui.timing import profiler as trace
from jaxtui.timing.contention import Meter
from jaxtui.timing.runner import Runner
from jaxtui.timing.turns import never
from jaxtui.xla import kernels, traces

WARM_CALLS = 2
"""After the first one, of which the cold path is."""

LOOPS, LOOP_SECONDS, MOST_CALLS = 4, 0.15, 1000
"""Without the profiler: what is waited for at the end of a loop is then next to none of
a call."""

MOST_EVENTS = 200_000
"""Most events of a profile: some 25 MB, read in two seconds."""

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
        super().__init__(0.0, stop)
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
        loop = _Loop(self._workload)
        seconds = [loop.run(1) for _ in range(WARM_CALLS)][-1]
        yield self.enter("sampling")
        meter = Meter()
        meter.start()
        calls = max(1, int(LOOP_SECONDS / max(seconds, 1e-9)))
        plain = []
        for _ in range(LOOPS):
            plain.append(loop.run(calls))
            if self.stop():
                return
        yield self.enter("profile")
        first = min(steps, STEPS)
        space = self._record(loop, first)
        events = max(1, kernels.size(space) // first)
        fitting = max(1, min(steps, MOST_EVENTS // events))
        if fitting != first and not self.stop():
            space = self._record(loop, fitting)
        meter.stop()
        if self.stop():
            return
        yield self.progress("profile-reading", case.label)
        try:
            measured = profile.read(space, self.case.label, device.device_kind)
        except NoProfileError as error:
            raise RefusedError(error.remark) from error
        measured = profile.beside(measured, min(plain))
        remarks = list(measured.notes)
        if disturbance := notes.contention(meter.usage):
            remarks.append(disturbance)
        if fitting < steps:
            facts = {"steps": fitting, "asked": steps, "events": events}
            remarks.append(Remark("fewer-steps", facts, "warning"))
        with self._workload.scope():
            result = loop.call()
            held = holdings.now()
            del result
        yield msgspec.structs.replace(
            measured,
            holdings=() if measured.memory else held,
            jax=jax.__version__,
            size_bytes=self._size,
            notes=tuple(remarks),
        )

    def _phases(self, group: tuple[jax.Device, ...]) -> Iterator[str]:
        """Do the phases of the cold path; each is named before it is done."""
        self._workload = yield from coldpath.begin(self.case, group, SEED)
        self.case = self._workload.case

    def _record(self, loop: _Loop, steps: int) -> traces.Space:
        """Some steps under the profiler, after one that it delays."""

        def work() -> None:
            loop.run(1)
            for number in range(steps):
                step = partial(jax.profiler.StepTraceAnnotation, step_num=number)
                loop.run(1, partial(step, STEP))
                if self.stop():
                    break

        space, self._size = trace.recorded(work)
        return space


class _Loop:
    """Calls one after the other, as a program makes them.

    Args:
        workload: which has been called before.
    """

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._args: Sequence[Any] = workload.args
        self._back: dict[int, int | None] = {}
        """By the index of an argument the place of the result that replaces it;
        ``None`` for the whole result."""
        # Each call that is queued has a result of its own until it is computed.
        most = planning.results_at_most(workload.case, workload.result_bytes)
        self._most = MOST_CALLS if most is None else min(MOST_CALLS, most)
        if not workload.queues:
            self._most = 1
        if isinstance(workload.args, own.CopiedArguments):
            used, args = workload.args.used, (*workload.args,)
            with workload.scope():
                result = jax.block_until_ready(workload.call(*args))
            self._back = places(workload.args, used, result)
            if self._back:
                self._args = self._next([*args], result)
            else:
                self._most = 1

    def run(
        self,
        calls: int,
        around: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> float:
        """Seconds of a call, of so many that are awaited once."""
        count = min(calls, self._most)
        with self._workload.scope():
            args = self._ready()
            # What is put around begins when it is made.
            with around():
                start = perf_counter()
                for _ in range(count):
                    result = self._workload.call(*args)
                    args = self._next(args, result)
                jax.block_until_ready(result)
                seconds = (perf_counter() - start) / count
        if self._back:
            self._args = args
        return seconds

    def call(self) -> Any:
        """Call once, and wait."""
        args = self._ready()
        result = jax.block_until_ready(self._workload.call(*args))
        if self._back:
            self._args = self._next(args, result)
        return result

    def _ready(self) -> list[Any]:
        """The arguments of the next call; copies of those that it uses up."""
        args = [*self._args]
        jax.block_until_ready(list(filter(own.is_jax, jax.tree.leaves(args))))
        return args

    def _next(self, args: list[Any], result: Any) -> list[Any]:
        for index, place in self._back.items():
            args[index] = result if place is None else result[place]
        return args


def places(
    args: Sequence[Any], used: Sequence[int], result: Any
) -> dict[int, int | None]:
    """Return where in a result the arguments are that a call has used up: of which
    tree, with the same shapes and dtypes. Empty where one of them is not there.
    """
    parts: dict[int | None, Any] = {None: result}
    if isinstance(result, (tuple, list)):
        parts |= enumerate(result)
    kinds = {place: _kind(part) for place, part in parts.items()}
    replaced: dict[int, int | None] = {}
    for index in used:
        kind = _kind(args[index])
        fitting = [place for place in kinds if kinds[place] == kind]
        if not fitting:
            return {}
        replaced[index] = fitting[0]
        del kinds[fitting[0]]
    return replaced


def _kind(tree: Any) -> tuple[Any, list[Any]]:
    leaves: list[Any]
    leaves, structure = jax.tree.flatten(tree)
    return structure, [
        (leaf.aval, leaf.sharding) if own.is_jax(leaf) else type(leaf)
        for leaf in leaves
    ]
