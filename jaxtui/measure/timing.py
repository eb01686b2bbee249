"""The clocks of one case, from its cold path to its measurement."""

from __future__ import annotations

import abc
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import jax
import msgspec

from jaxtui.measure import accuracy, devices, diagnosis, notes, settings
from jaxtui.measure.clocks import Block
from jaxtui.measure.executable import (
    ColdPath,
    Executable,
    InputPool,
    JaxPath,
    NumpyPath,
    TensorFlowPath,
    prepare,
)
from jaxtui.measure.ops.base import Op
from jaxtui.measure.sampling import Sampler
from jaxtui.measure.session import Session
from jaxtui.model import (
    Measurement,
    Note,
    PhaseStarted,
    PlannedCase,
    RunEvent,
    Sampled,
    Samples,
    Stopped,
    Summary,
)
from jaxtui.stats import bins, summarize

POINTS_PER_TURN = 200
"""Points of a turn that are sent on for the live plot."""


class DtypeError(TypeError):
    """JAX silently computed in another precision than was asked for."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is fixed once the cold path is done."""

    executable: Executable
    output_dtype: str
    accuracy: accuracy.Accuracy
    notes: tuple[Note, ...]
    folded: bool
    flops: float | None
    bytes: float | None
    """The work of one call, which gives the rates."""


class Timer(abc.ABC):
    """Times one case: ``prepare``, ``turn`` after ``turn``, then ``measurement``."""

    def __init__(
        self,
        index: int,
        planned: PlannedCase,
        device: jax.Device | None,
        session: Session | None,
        pool: InputPool,
        seed: int,
    ) -> None:
        self.index = index
        self.case = planned.case
        self._planned = planned
        self._device = device
        self._session = session
        self._pool = pool
        self._seed = seed
        self._facts: Facts | None = None
        self._sampler: Sampler | None = None

    def prepare(self) -> Generator[RunEvent, None, None]:
        """Cold path, then the check against float64, then waiting for a turn."""
        executable = yield from prepare(self.index, self._cold_path())
        yield PhaseStarted(index=self.index, phase="check")
        self._facts = self._check(executable)
        yield PhaseStarted(index=self.index, phase="waiting")
        depth = self._session.queue_depth if self._session else 1
        self._sampler = Sampler(executable, depth)

    def warm_up(self) -> None:
        """Just before the first turn, so that nothing cools down in between."""
        self.sampler.warm_up()

    @property
    def sampler(self) -> Sampler:
        """The rounds so far."""
        assert self._sampler is not None, "prepare first"
        return self._sampler

    def turn(self, seconds: float, *, bursts: bool) -> Sampled:
        """One round, and what is known after it."""
        block = self.sampler.turn(seconds, bursts=bursts)
        dispatch, ready = thinned(block, POINTS_PER_TURN)
        left_out = len(ready) < len(block.ready)
        return Sampled(
            index=self.index,
            round=len(self.sampler.rounds),
            calls=len(block.ready),
            dispatch=dispatch,
            ready=ready,
            ready_median=self.sampler.medians[-1],
            dispatch_bins=bins(block.dispatch) if left_out else None,
            ready_bins=bins(block.ready) if left_out else None,
            measurement=self.measurement(None),
        )

    def measurement(
        self, stopped: Stopped | None, *, keep_samples: bool = False
    ) -> Measurement:
        """The measurement as it stands."""
        assert self._facts is not None, "prepare first"
        facts, sampler, planned = self._facts, self.sampler, self._planned
        ready, dispatch = self._summaries()
        standing = list(diagnosis.run_notes(sampler))
        rates = self._rates(facts, standing, ready, dispatch)
        if note := diagnosis.impossible_note(rates[0], planned.peak):
            standing.append(note)
        # What questions the number comes before what explains the phases.
        standing += facts.notes
        unstable = diagnosis.UNSTABLE & {note.flag for note in standing}
        made = Measurement(
            case=self.case,
            phases=facts.executable.phases,
            dispatch=dispatch,
            ready=ready,
            pipelined_seconds=sampler.pipelined_seconds,
            flops=facts.flops,
            bytes=facts.bytes,
            flops_per_second=rates[0],
            bytes_per_second=rates[1],
            output_dtype=facts.output_dtype,
            error_vs_float64=facts.accuracy.error,
            stopped=stopped,
            stable=stopped == "target" and not unstable,
            notes=tuple(standing),
            peak=planned.peak,
            xla_flops=facts.executable.compiled_flops,
        )
        if keep_samples:
            made = msgspec.structs.replace(made, samples=self._samples())
        return made

    @abc.abstractmethod
    def _cold_path(self) -> ColdPath:
        """The phases of the case."""

    @abc.abstractmethod
    def _check(self, executable: Executable) -> Facts:
        """What the first result says, and everything else that is fixed by then."""

    def _summaries(self) -> tuple[Summary, Summary | None]:
        rounds = self.sampler.rounds
        ready = summarize([block.ready for block in rounds])
        if self._device is None:
            return ready, None
        return ready, summarize([block.dispatch for block in rounds])

    def _rates(
        self,
        facts: Facts,
        standing: list[Note],
        ready: Summary,
        dispatch: Summary | None,
    ) -> tuple[float | None, float | None]:
        """FLOP/s and bytes/s, or ``None`` with the note that says why not."""
        if facts.executable.interpreted:
            return None, None
        seconds = ready.median
        if dispatch is not None and self._session is not None:
            sampler = self.sampler
            inline = diagnosis.is_inline(sampler)
            if inline and not any(note.flag == "waits" for note in facts.notes):
                standing.append(notes.inline())
            if diagnosis.is_host_bound(sampler, self._session, dispatch.median):
                per_call = sampler.pipelined_seconds or ready.median
                standing.append(notes.host_bound(per_call, dispatch.median))
                return None, None
            if not inline:
                seconds = sampler.pipelined_seconds or ready.median
        if facts.folded:
            return None, None
        return (
            facts.flops / seconds if facts.flops else None,
            facts.bytes / seconds if facts.bytes else None,
        )

    def _samples(self) -> Samples:
        rounds = self.sampler.rounds
        dispatch = tuple(value for block in rounds for value in block.dispatch)
        return Samples(
            ready=tuple(value for block in rounds for value in block.ready),
            dispatch=dispatch or None,
        )


class CaseTimer(Timer):
    """Times an op of the catalogue."""

    def __init__(
        self,
        index: int,
        planned: PlannedCase,
        op: Op,
        device: jax.Device | None,
        session: Session | None,
        pool: InputPool,
        seed: int,
    ) -> None:
        super().__init__(index, planned, device, session, pool, seed)
        self._op = op

    def _cold_path(self) -> ColdPath:
        if self.case.mode == "tensorflow":
            return TensorFlowPath(self.case, self._op, self._seed)
        if self._device is None:
            return NumpyPath(self.case, self._op, self._seed)
        return JaxPath(self.case, self._op, self._device, self._pool)

    def _check(self, executable: Executable) -> Facts:
        result = executable.result
        assert result is not None
        output = str(result.dtype)
        if self.case.dtype == "float64" and result.dtype.itemsize < 8:
            raise DtypeError(f"float64 was asked for and {output} came out")
        found = accuracy.check(
            self._op,
            self.case.dtype,
            self.case.size,
            self._pool.host(self._op, self.case),
            result,
            precision=settings.precision(self.case) if self._may_round else "highest",
        )
        executable.result = None
        expected = self._op.counted_flops(self.case.size)
        folded = diagnosis.is_folded(executable, expected or 0.0)
        return Facts(
            executable=executable,
            output_dtype=output,
            accuracy=found,
            notes=tuple(self._fixed_notes(executable, output, found, folded)),
            folded=folded,
            flops=self._planned.flops,
            bytes=self._planned.bytes,
        )

    @property
    def _may_round(self) -> bool:
        """Accelerators round the inputs of float32 products; CPUs do not."""
        return self._device is not None and self._device.platform != "cpu"

    def _fixed_notes(
        self,
        executable: Executable,
        output: str,
        found: accuracy.Accuracy,
        folded: bool,
    ) -> Iterator[Note]:
        on_cpu = self._device is not None and self._device.platform == "cpu"
        if on_cpu and devices.simulating():
            yield notes.simulated()
        if folded:
            expected = self._op.counted_flops(self.case.size)
            yield notes.folded(executable.compiled_flops, expected or 0.0)
        if self._op.takes_precision and not self.case.on_host:
            yield from settings.precision_notes(self.case)
        yield from diagnosis.result_notes(self.case, self._op, output, found)
        yield from diagnosis.cold_notes(executable, on_cpu)


def thinned(block: Block, points: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """At most ``points`` calls of a block, the extremes of ``ready`` among them.

    The block is cut into equal stretches; of each, the fastest and the slowest call
    stay, in their order.
    """
    n = len(block.ready)
    if n <= points:
        return tuple(block.dispatch), tuple(block.ready)
    stretches = points // 2
    kept: list[int] = []
    for stretch in range(stretches):
        span = range(stretch * n // stretches, (stretch + 1) * n // stretches)
        fastest = min(span, key=block.ready.__getitem__)
        slowest = max(span, key=block.ready.__getitem__)
        kept.extend(sorted({fastest, slowest}))
    ready = tuple(block.ready[i] for i in kept)
    dispatch = tuple(block.dispatch[i] for i in kept) if block.dispatch else ()
    return dispatch, ready
