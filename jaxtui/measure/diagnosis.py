"""When a number cannot be trusted, and why: from what was seen to notes.

Pure over the sampler and the executable; every threshold is named here with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui.measure import notes, settings
from jaxtui.measure.accuracy import Accuracy
from jaxtui.measure.contention import contention_note
from jaxtui.measure.executable import Executable
from jaxtui.measure.inputs import numpy_dtype
from jaxtui.measure.ops.base import Op
from jaxtui.measure.quiet import keeps_freed
from jaxtui.measure.sampling import Sampler
from jaxtui.measure.session import Session
from jaxtui.model import Case, Note, Peak
from jaxtui.scripts.allocator import ALWAYS_MAPPED
from jaxtui.stats import MINIMUM_ROUNDS, Interval, median, quantile

HOST_BOUND_RATIO = 1.5
"""Below this many dispatches per pipelined call the device's time is not resolved."""

INLINE_SHARE = 0.5
"""Results ready on return in more than half of the calls: computed by the caller."""

INLINE_FLOORS = 3.0
"""An inline op below this many dispatch floors is mostly dispatch."""

FOLDED_SHARE = 0.5
"""XLA's count below half of the formula: work is missing from the executable."""

PAGE_FAULTS_AT_MOST = 100.0
"""Per call; a fault costs about 0.1 to 0.5 µs, so this is tens of microseconds."""

DRIFT_AT_LEAST = 0.03
"""Relative difference between the thirds that is worth a note."""

BIMODAL_SPREAD = 1.3
BIMODAL_GAP = 0.15
BIMODAL_CALLS = 20
"""p90 above 1.3 × p50, with a gap of 15 % of the median, in at least 20 calls."""

BIMODAL_CALLS_AT_MOST = 2000
"""Every n-th call is enough to see two groups, and quick to sort after each turn."""

UNSTABLE = frozenset({"drift", "bimodal", "contended", "few-rounds", "no-warm-up"})
"""The flags under which a measurement is not called stable."""


def is_inline(sampler: Sampler) -> bool:
    """Whether the calling thread did the work."""
    return sampler.ready_share > INLINE_SHARE


def is_host_bound(sampler: Sampler, session: Session, dispatch: float) -> bool:
    """Whether handing over takes so long that the device's own time is hidden.

    Args:
        sampler: Its slope is the time per queued call.
        session: Its floor is what the cheapest call costs.
        dispatch: Median dispatch, seconds.
    """
    if is_inline(sampler):
        return dispatch < INLINE_FLOORS * session.dispatch_floor
    pipelined = sampler.pipelined_seconds
    return pipelined is None or pipelined < HOST_BOUND_RATIO * dispatch


def is_folded(executable: Executable, expected_flops: float) -> bool:
    """Whether XLA compiled clearly less work than the op has.

    Args:
        executable: Holds XLA's count, which takes a complex operation for one.
        expected_flops: What XLA should count, or 0 where that says nothing.
    """
    if executable.case.mode != "jit" or expected_flops <= 0:
        return False
    counted = executable.compiled_flops
    return counted is not None and counted < FOLDED_SHARE * expected_flops


def drifted(medians: Sequence[float], interval: Interval) -> tuple[float, float] | None:
    """The medians of the first and last third of the rounds, if they differ.

    They must differ by more than the interval is wide, and by 3 %.
    """
    third = len(medians) // 3
    if third < 2:
        return None
    first, last = median(medians[:third]), median(medians[-third:])
    apart = abs(last - first)
    if apart <= max(interval.high - interval.low, DRIFT_AT_LEAST * interval.median):
        return None
    return first, last


def two_groups(samples: Sequence[float]) -> tuple[float, float] | None:
    """The middles of two clusters, if the middle 80 % of the samples has a gap."""
    ordered = sorted(samples[:: max(1, len(samples) // BIMODAL_CALLS_AT_MOST)])
    if len(ordered) < BIMODAL_CALLS:
        return None
    middle = quantile(ordered, 0.5)
    if quantile(ordered, 0.9) <= BIMODAL_SPREAD * middle:
        return None
    low, high = len(ordered) // 10, len(ordered) - len(ordered) // 10
    gaps = [(ordered[i + 1] - ordered[i], i) for i in range(low, high - 1)]
    gap, at = max(gaps)
    if gap < BIMODAL_GAP * middle:
        return None
    return quantile(ordered[: at + 1], 0.5), quantile(ordered[at + 1 :], 0.5)


def run_notes(sampler: Sampler) -> Iterator[Note]:
    """What the rounds say about themselves."""
    interval = sampler.interval
    if len(sampler.rounds) < MINIMUM_ROUNDS:
        yield notes.few_rounds(len(sampler.rounds))
    if not sampler.warmed_up:
        yield notes.no_warm_up()
    if apart := drifted(sampler.medians, interval):
        yield notes.drift(*apart)
    if groups := two_groups(
        [value for block in sampler.rounds for value in block.ready]
    ):
        yield notes.bimodal(*groups)
    if note := contention_note(sampler.meter.usage):
        yield note
    faults = median(sampler.page_faults)
    if faults > PAGE_FAULTS_AT_MOST:
        yield notes.page_faults(faults)
    if sampler.implicit_transfer:
        yield notes.implicit_transfer()
    if sampler.overfull and sampler.slopes:
        yield notes.queue_full(sampler.overfull, sampler.queue_depth)


def cold_notes(executable: Executable, on_cpu: bool) -> Iterator[Note]:
    """What the cold path says, and how calls return."""
    if not executable.case.on_host:
        yield from settings.waiting_notes(on_cpu)
    if executable.interpreted:
        yield notes.interpreted()
    if executable.cached_compile:
        yield notes.cached_compile()
    if executable.zero_copy:
        yield notes.aliased(executable.zero_copy)
    copied = executable.phases.transfer is not None
    if on_cpu and copied and "transfer" not in executable.zero_copy:
        yield notes.memory_copy()
    in_host_memory = executable.case.on_host or on_cpu
    if in_host_memory and keeps_freed() and executable.block_bytes >= ALWAYS_MAPPED:
        yield notes.reused_memory(executable.block_bytes)


def result_notes(case: Case, op: Op, output: str, accuracy: Accuracy) -> Iterator[Note]:
    """What the result says: its dtype and its distance from float64."""
    used = numpy_dtype(case.dtype) if case.on_host else case.dtype
    if used != case.dtype:
        yield notes.numpy_dtype(case.dtype, used, case.mode)
    if case.dtype == "float64" and not case.on_host:
        yield notes.wide_types()
    # That a Fourier transform is complex needs no saying.
    if output != used and not output.startswith("complex"):
        yield notes.dtype_changed(case.dtype, output)
    if op.symmetric and case.mode == "numpy":
        yield notes.symmetric()
    if accuracy.rows_sampled:
        yield notes.rows_sampled(accuracy.rows_sampled)
    if not accuracy.ok:
        if accuracy.error is None or accuracy.tolerance is None:
            yield notes.wrong_result()
        else:
            yield notes.inaccurate(accuracy.error, accuracy.tolerance)


def impossible_note(flops_per_second: float | None, peak: Peak | None) -> Note | None:
    """A rate above the peak was not the whole op.

    Bytes per second are not judged: a cache may well beat the main memory.
    """
    limit = peak.flops_per_second if peak else None
    if flops_per_second and limit and flops_per_second > limit:
        return notes.impossible(flops_per_second, limit)
    return None
