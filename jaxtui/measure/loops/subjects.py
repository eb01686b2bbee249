"""What a loop calls: an op of the catalogue, or a function of the user's own."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from time import perf_counter

import jax

from jaxtui.measure import coldpath, notes, ops, own, workload
from jaxtui.measure.loops import refusals, results
from jaxtui.measure.loops.results import ARRAY, Results
from jaxtui.measure.ops.base import Op
from jaxtui.measure.workload import Pool, Workload
from jaxtui.model import Loop, Note, PlannedCase

SEED = 0
"""Of the arguments; a loop names none."""


class Subject(abc.ABC):
    """The cold path of a loop, and what is known once it is done."""

    workload: Workload

    def __init__(self, loop: Loop, planned: PlannedCase, device: jax.Device) -> None:
        self._loop, self._planned, self._device = loop, planned, device
        self.results: Results = ARRAY
        """What the loop does with what its calls return."""
        self.flops = planned.flops
        """Of one call."""
        self.peak = planned.peak
        self.notes: tuple[Note, ...] = ()
        """What must be said of it beside what the loop shows."""

    @abc.abstractmethod
    def check(self, depth: int) -> None:
        """Refuse what is known to be too much, before anything is allocated.

        Args:
            depth: computations that may be in flight.

        Raises:
            RefusedError: It is too much.
        """

    @abc.abstractmethod
    def phases(self) -> Iterator[str]:
        """Do them one by one; each is named before it is done.

        Raises:
            RefusedError: Only now it shows that the loop cannot be.
            Exception: Whatever a phase raises.
        """

    def _cold_path(self) -> Iterator[str]:
        made = self.workload
        with made.scope():
            hosted = made.case.inputs == "host"
            made.args = made.hosts() if hosted else made.resident()
        for phase, step in coldpath.steps(made):
            if phase not in ("transfer", "fetch"):
                yield phase
                with made.scope():
                    step()


class OpSubject(Subject):
    """An op of the catalogue, of which everything is known beforehand."""

    def __init__(
        self, op: Op, loop: Loop, planned: PlannedCase, device: jax.Device
    ) -> None:
        super().__init__(loop, planned, device)
        self.workload = workload.of_op(loop.case, op, device, Pool(SEED))

    def check(self, depth: int) -> None:
        """Count the memory and estimate the time."""
        refusals.check_memory(self._loop, self._planned, depth)
        refusals.check_time(self._loop, self._device)

    def phases(self) -> Iterator[str]:
        """Those of a case, without the copies that are only there to be timed."""
        yield "inputs"
        yield from self._cold_path()


class OwnSubject(Subject):
    """A function of the user's own: what it takes and gives is seen when it has run."""

    def __init__(
        self, source: own.Source, loop: Loop, planned: PlannedCase, device: jax.Device
    ) -> None:
        super().__init__(loop, planned, device)
        self._source = source
        self._depth = 0

    def check(self, depth: int) -> None:
        """Only remember how much may be in flight."""
        self._depth = depth

    def phases(self) -> Iterator[str]:
        """Import and arguments, then those of a case, then a call to learn from."""
        yield "import"
        function = own.load(self._source, self._device)
        yield "inputs"
        case = self._loop.case
        self.workload = workload.of_function(function, case, self._device, Pool(SEED))
        jax.clear_caches()  # what the function has jitted itself is cold, too
        yield from self._cold_path()
        self.flops, self.peak = self.workload.flops, self.workload.peak
        self.notes = tuple(
            note
            for note in notes.of_workload(self.workload, None, finite=True)
            if note.flag == "own"
        )
        yield "warm-up"
        self._learn()

    def _learn(self) -> None:
        """What a call returns, how large that is, and how long it takes."""
        made = self.workload
        with made.scope():
            start = perf_counter()
            result = made.call(*made.args)
            jax.block_until_ready(result)
            seconds = perf_counter() - start
        refusals.check_repeat(self._loop, self._loop.calls * seconds)
        refusals.check_results(self._loop, made.result_bytes, self._depth)
        self.results = results.of_own(self._loop, made, result)


def of(loop: Loop, planned: PlannedCase, device: jax.Device) -> Subject:
    """What the loop's case calls."""
    source = own.source(loop.case.op)
    if source is None:
        return OpSubject(ops.get(loop.case.op), loop, planned, device)
    return OwnSubject(source, loop, planned, device)
