"""The measurement of a workload, from its turns."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from socket import gethostname

import jax
import msgspec

from jaxtui.core.model import (
    CollectiveRates,
    Fact,
    Measurement,
    Remark,
    Sampled,
    Samples,
    Stopped,
)
from jaxtui.core.stats import bins
from jaxtui.features.bench.measure import notes
from jaxtui.tasks import own
from jaxtui.tasks.accuracy import Accuracy
from jaxtui.tasks.workload import all_finite, arrays_of, on_devices
from jaxtui.timing.clocks import Block
from jaxtui.timing.runtime import Runtime
from jaxtui.timing.turns import Turns, is_checkpoint, is_due

POINTS_PER_TURN = 200
"""Points of a turn that are sent on for the live plot."""

NOISE_FLOOR_ROUNDS = 32
"""Rounds, some ten seconds, before an interval counts as no longer narrowing."""


class OfProcess(msgspec.Struct, frozen=True):
    """The share of one of several processes in a case that all of them ran."""

    ready: float
    """Its median on its own clock, in seconds."""
    wrong: int | None
    """Elements of the results on its devices."""
    hostname: str


class Record:
    """A case between its cold path and its measurement."""

    def __init__(self, index: int, turns: Turns, runtime: Runtime | None) -> None:
        self.index = index
        self.workload, self.turns = turns.workload, turns
        self.stopped: Stopped = "cancelled"
        """The reason why it got no more turns, unless another is set."""
        self.accuracy: Accuracy | None = None
        """Known after the turns: a check leaves memory behind, and that speeds up or
        slows down what allocates afterwards."""
        self._source = own.source_code(turns.workload.case.op)
        self.compared = False
        """A function of a file was held against its other side, and both were timed."""
        self.differs: Remark | None = None
        """The difference between the two sides' results."""
        self.kept = False
        """True if a function of a file returned a result from before the call; set
        after the turns."""
        self._runtime = runtime
        self._finite = True
        self._of_others: Remark | None = None
        self._made: Measurement | None = None
        self._half_widths: dict[int, float] = {}

    def sampled(self) -> Sampled:
        """The round that is just over, or the first figure, and what is known then."""
        block = self.turns.rounds[-1]
        dispatch, ready = thin(block, POINTS_PER_TURN)
        left_out = len(ready) < len(block.ready)
        rounds = 0 if self.turns.provisional else len(self.turns.rounds)
        if self._made is None or is_due(rounds):
            self._made = self.measurement(None)
        return Sampled(
            index=self.index,
            round=rounds,
            calls=len(block.ready),
            dispatch=dispatch,
            ready=ready,
            ready_median=self.turns.medians[-1],
            dispatch_bins=bins(block.dispatch) if left_out else None,
            ready_bins=bins(block.ready) if left_out else None,
            measurement=self._made,
        )

    def check(self) -> None:
        """Call once more and hold the result against float64."""
        workload = self.workload
        if workload.case.target:
            return
        with workload.scope():
            args = tuple(workload.args)
            result = workload.call(*args)
            workload.wait(result)
        if workload.own:
            there = (*on_devices(args), *(array() for array in workload.first))
            arrays = {id(array) for array in on_devices(result)}
            self.kept = bool(arrays) and arrays <= {*map(id, there)}
        if workload.accuracy_of is not None:
            self.accuracy = workload.accuracy_of(result)
        else:
            self._finite = all_finite(arrays_of(result))

    @property
    def of_process(self) -> OfProcess:
        exchange = self.workload.exchange
        wrong = exchange.wrong if exchange is not None else None
        return OfProcess(self.turns.interval.median, wrong, gethostname())

    def share(self, processes: Sequence[OfProcess]) -> None:
        """Take in what the other processes have: their clocks are never compared."""
        if len(processes) < 2:
            return
        slowest = max(processes, key=lambda process: process.ready)
        facts: dict[str, Fact] = {
            "process": jax.process_index(),
            "processes": len(processes),
            "low": min(process.ready for process in processes),
            "high": slowest.ready,
            "slowest": slowest.hostname,
        }
        self._of_others = Remark("of-processes", facts)
        exchange = self.workload.exchange
        if exchange is not None and exchange.wrong is not None:
            exchange.wrong = sum(process.wrong or 0 for process in processes)
            if self.accuracy is not None:
                right = not exchange.wrong
                self.accuracy = dataclasses.replace(self.accuracy, ok=right)

    def measurement(
        self, stopped: Stopped | None, *, keep_samples: bool = False
    ) -> Measurement:
        """The measurement as it stands, after one round at least."""
        workload, turns = self.workload, self.turns
        ready, dispatch = turns.summaries()
        doubts = [*notes.of_turns(turns, self._runtime, dispatch)]
        if workload.own:
            doubts += notes.of_function(turns, kept=self.kept)
        rates = self._rates(doubts)
        doubts += notes.of_rate(workload, rates[0])
        doubts += notes.of_memory(turns)
        doubts += notes.of_freeing(turns.free_seconds, ready.median)
        fixed = notes.of_workload(
            workload, self.accuracy, compared=self.compared, finite=self._finite
        )
        codes = {remark.code for remark in doubts}
        if stopped in (None, "cancelled"):  # more might have come
            doubts = [remark for remark in doubts if remark.code != "few-rounds"]
        doubts += filter(None, [self._of_others, self.differs])
        measurement = Measurement(
            case=workload.case,
            phases=workload.phases,
            dispatch=dispatch,
            ready=ready,
            pipelined_seconds=turns.pipelined_seconds,
            flops=workload.flops,
            bytes=workload.bytes,
            flops_per_second=rates[0],
            bytes_per_second=rates[1],
            output_dtype=workload.output_dtype,
            error_vs_float64=self.accuracy.error if self.accuracy else None,
            stopped=stopped,
            stable=stopped == "target" and not notes.UNSTABLE & codes,
            # What questions the number comes before what explains the phases.
            notes=(*doubts, *fixed),
            peak=workload.peak,
            xla_flops=workload.compiled_flops,
            source=self._source or msgspec.UNSET,
            multiplies=workload.product.dtype if workload.product else msgspec.UNSET,
            free_seconds=turns.free_seconds,
            collective=self._collective(),
        )
        if keep_samples:
            waits = tuple(x for block in turns.rounds for x in block.ready)
            calls = tuple(x for block in turns.rounds for x in block.dispatch)
            samples = Samples(ready=waits, dispatch=calls or None)
            measurement = msgspec.structs.replace(measurement, samples=samples)
        return measurement

    def _collective(self) -> CollectiveRates | msgspec.UnsetType:
        """The rates as nccl-tests defines them, whatever limits the call."""
        exchange, turns = self.workload.exchange, self.turns
        if exchange is None:
            return msgspec.UNSET
        seconds = turns.pipelined_seconds
        if seconds is None:
            seconds = turns.interval.median
        rate = exchange.size / seconds if seconds > 0 else None
        return CollectiveRates(
            participants=exchange.participants,
            algorithm_bytes_per_second=rate,
            bus_bytes_per_second=None if rate is None else exchange.factor * rate,
            wrong=exchange.wrong,
        )

    def stop_reason(self, target: float, *, spread: bool) -> Stopped | None:
        """Return the reason why the case is done, if it is; checked after 8, 12, 16, 24
        … rounds.

        Args:
            target: The relative half-width that is wanted; 0 is never reached.
            spread: Whether the rounds span long enough to be believed.
        """
        rounds = len(self.turns.rounds)
        if target <= 0 or not spread or not is_checkpoint(rounds):
            return None
        width = self.turns.interval.half_width
        self._half_widths[rounds] = width
        if width <= target:
            return "target"
        before = self._half_widths.get(rounds // 2)
        if rounds >= NOISE_FLOOR_ROUNDS and before and width > 0.9 * before:
            return "noise floor"
        return None

    def _rates(self, doubts: Sequence[Remark]) -> tuple[float | None, float | None]:
        """FLOP/s and bytes/s; ``None`` where a remark says why not."""
        workload, turns = self.workload, self.turns
        codes = {remark.code for remark in doubts}
        if workload.interpreted or codes & {"host-bound", *notes.UNRATED}:
            return None, None
        seconds = self.turns.pipelined_seconds
        if seconds is None or notes.is_inline(turns):
            seconds = turns.interval.median
        return (
            workload.flops / seconds if workload.flops else None,
            workload.bytes / seconds if workload.bytes else None,
        )


def thin(block: Block, points: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return at most ``points`` calls of a block, the extremes of ``ready``
    among them.

    The block is cut into equal stretches; of each, the fastest and the slowest call
    stay, in their order.
    """
    n = len(block.ready)
    if n <= points:
        return tuple(block.dispatch), tuple(block.ready)
    stretches = points // 2
    indices: list[int] = []
    for stretch in range(stretches):
        span = range(stretch * n // stretches, (stretch + 1) * n // stretches)
        fastest = min(span, key=block.ready.__getitem__)
        slowest = max(span, key=block.ready.__getitem__)
        indices.extend(sorted({fastest, slowest}))
    ready = tuple(block.ready[i] for i in indices)
    dispatch = tuple(block.dispatch[i] for i in indices) if block.dispatch else ()
    return dispatch, ready
