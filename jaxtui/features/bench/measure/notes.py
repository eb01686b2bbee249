"""Notes on figures that cannot be trusted: the rule and threshold of each.

Its code is part of the JSON contract; its words stand in ``features.bench.words``.
Which remarks are about a whole run is in ``core.model``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from jaxtui.core.model import Fact, Remark, Summary
from jaxtui.core.model.measurement import Interval, confidence
from jaxtui.core.stats import MINIMUM_ROUNDS, median, quantile
from jaxtui.machine import malloc
from jaxtui.tasks import devices, settings
from jaxtui.tasks.accuracy import Accuracy
from jaxtui.tasks.inputs import numpy_dtype
from jaxtui.tasks.ops.collectives import Exchange
from jaxtui.tasks.own import CopiedArguments
from jaxtui.tasks.workload import Workload
from jaxtui.timing.contention import Usage
from jaxtui.timing.runtime import Runtime
from jaxtui.timing.turns import Turns

Facts = dict[str, Fact]

UNSTABLE = frozenset(
    {
        "drift",
        "bimodal",
        "contended",
        "few-rounds",
        "no-warm-up",
        "uncertain",
    }
)
"""The codes under which a measurement is not called stable."""


def of_turns(
    turns: Turns, runtime: Runtime | None, dispatch: Summary | None
) -> Iterator[Remark]:
    """Yield the notes that follow from the turns."""
    if (rounds := len(turns.rounds)) < MINIMUM_ROUNDS:
        facts: Facts = {"rounds": rounds, "confidence": confidence(rounds)}
        if turns.apart:
            facts["each"] = turns.call_seconds
        yield Remark("few-rounds", facts, "warning")
    if wide := uncertain(turns.interval):
        yield wide
    if not turns.warmed_up:
        yield Remark("no-warm-up", severity="warning")
    if thirds := drift(turns.medians, turns.interval):
        yield Remark("drift", {"first": thirds[0], "last": thirds[1]}, "warning")
    if middles := two_groups([x for block in turns.rounds for x in block.ready]):
        yield Remark("bimodal", {"middles": middles}, "warning")
    if disturbance := contention(turns.meter.usage):
        yield disturbance
    if turns.loaded is not None and (note := throttled(turns.means, turns.loaded)):
        yield note
    if turns.implicit_transfer:
        yield Remark("implicit-transfer", severity="warning")
    if turns.overfull and turns.slopes:
        yield Remark(
            "queue-full",
            {"in_flight": turns.overfull, "depth": turns.queue_depth},
            "warning",
        )
    workload = turns.workload
    if is_inline(turns):
        with workload.scope():
            waits = any(settings.waiting_notes(workload.on_cpu))
        # Else it is a setting that makes calls wait, not the op.
        if not waits:
            yield Remark("inline")
    if is_folded(workload):
        yield Remark(
            "folded",
            {
                "counted": workload.compiled_flops or 0.0,
                "expected": _expected_flops(workload),
            },
            "warning",
        )
    if runtime is None or dispatch is None or workload.interpreted:
        return
    if _is_host_bound(turns, runtime, dispatch.median):
        per_call = turns.pipelined_seconds or turns.interval.median
        yield Remark("host-bound", {"dispatch": dispatch.median, "queued": per_call})


UNRATED = frozenset({"folded", "kept"})
"""The codes under which what was timed is not the work, so that no rate is shown."""


def of_function(turns: Turns, *, kept: bool) -> Iterator[Remark]:
    """Yield the notes on a function of a file whose time is not that of its work.

    Args:
        turns: Of the function.
        kept: Every array of its result was there before the call.
    """
    if turns.compiles:
        calls = sum(len(block.ready) for block in turns.rounds)
        facts: Facts = {"programs": turns.compiles, "calls": calls}
        yield Remark("recompiled", facts, "warning")
    if kept:
        yield Remark("kept", severity="warning")


def of_rate(workload: Workload, flops_per_second: float | None) -> Iterator[Remark]:
    """A rate above the peak was not the whole op.

    Bytes per second are not judged: a cache may well beat the main memory.
    """
    limit = workload.peak.flops_per_second if workload.peak else None
    if flops_per_second and limit and flops_per_second > limit:
        rates: Facts = {"flops_per_second": flops_per_second, "peak": limit}
        yield Remark("impossible", rates, "error")


PAGE_FAULTS_AT_MOST = 100.0
"""Per call; a fault costs 0.1 to 0.5 µs, in a virtual machine up to 5, so this is tens
of microseconds at least."""

PAGE_SECONDS = 0.5e-6
"""Cost of a new page of 4 KiB, where calls got none and it cannot be seen."""

HUGE_PAGE_BYTES = 2 * 1024 * 1024
"""NumPy asks for huge pages (``madvise``), so that fewer faults are new memory, too."""

FELT_SHARE = 0.15
"""Fraction by which a call with new pages must be slower to be noted."""


def of_memory(turns: Turns) -> Iterator[Remark]:
    """Say what pages a call got for its result, where that is known or costs much.

    A program may get the other ones: reused pages if it frees the results before, new
    ones if it keeps them.
    """
    faults, workload = median(turns.page_faults), turns.workload
    size = workload.result_bytes
    if end := malloc.chosen_end():
        pages: Facts = {"page_faults": faults, "setting": malloc.setting(end)}
        yield Remark("memory", {"end": end, **pages})
    elif turns.provisional or not (workload.on_cpu or workload.case.on_host):
        return
    elif faults > PAGE_FAULTS_AT_MOST:
        yield Remark("page-faults", {"page_faults": faults})
    elif (
        not malloc.why_unknown()
        and size > malloc.ALLOCATES_BYTES
        and faults < size / HUGE_PAGE_BYTES
        and size / 4096 * PAGE_SECONDS > FELT_SHARE * turns.interval.median
    ):
        yield Remark("reused-pages", {"page_faults": faults})


FREEING_SHARE = 0.03
"""Fraction of a call that freeing must differ by to be noted, as ``DRIFT_AT_LEAST``."""


def of_freeing(seconds: float | None, ready: float) -> Iterator[Remark]:
    """A plain loop also pays for giving its results back."""
    if seconds is not None and seconds > FREEING_SHARE * ready:
        yield Remark("freeing", {"seconds": seconds, "ready": ready})


def of_workload(
    workload: Workload,
    accuracy: Accuracy | None,
    *,
    compared: bool,
    finite: bool,
) -> Iterator[Remark]:
    """Yield the notes that follow from the cold path and the result."""
    if workload.device is not None and devices.is_simulated(workload.device):
        yield Remark("simulated", severity="warning")
    yield from _of_settings(workload)
    if not finite:
        yield Remark("not-finite", severity="warning")
    if workload.catalogued:
        yield from _of_dtypes(workload)
    if workload.op and workload.op.symmetric and workload.case.mode == "numpy":
        yield Remark("symmetric")
    if (exchange := workload.exchange) is not None:
        if exchange.size < exchange.asked:
            facts: Facts = {"asked": exchange.asked, "taken": exchange.size}
            facts["participants"] = exchange.participants
            yield Remark("size-rounded", facts)
        if accuracy is not None:
            yield from _of_exchange(accuracy, exchange)
    elif accuracy is not None:
        yield from _of_accuracy(accuracy)
    if not workload.catalogued:
        yield own(workload, compared=compared)
        yield from _as_is(workload)
    if workload.interpreted:
        yield Remark("interpreted", severity="warning")
    if workload.cached_compile:
        yield Remark("cached-compile")
    if workload.zero_copy:
        yield Remark("aliased", {"phases": tuple(workload.zero_copy)})
    if workload.uncopied is not None:
        yield workload.uncopied
    copied = workload.phases.transfer is not None
    if workload.on_cpu and copied and "transfer" not in workload.zero_copy:
        yield Remark("memcpy")


# The rounds.


def uncertain(interval: Interval) -> Remark | None:
    """The interval is so wide that the median says little.

    Of a single round there is none: another remark says that.
    """
    if interval.confidence <= 0 or not interval.vague:
        return None
    facts: dict[str, Fact] = {"low": interval.low, "high": interval.high}
    return Remark("uncertain", facts, "warning")


DRIFT_AT_LEAST = 0.03
"""Relative difference between the thirds that is worth a note."""


def drift(medians: Sequence[float], interval: Interval) -> tuple[float, float] | None:
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


THROTTLED_AT_LEAST = 1.1
"""Times that a call takes longer or shorter under load than in turns."""


def throttled(turns: Sequence[float], loaded: float) -> Remark | None:
    """A device changes its clock under load: which figure a program gets depends on it.

    Args:
        turns: seconds per call of bursts in short turns.
        loaded: that of bursts without a pause.
    """
    short = median(turns)
    if max(short, loaded) <= THROTTLED_AT_LEAST * min(short, loaded):
        return None
    return Remark("throttled", {"turns": short, "loaded": loaded}, "warning")


BIMODAL_SPREAD = 1.3
"""Times that the slowest group takes as long as the fastest, at least."""

BIMODAL_GAP = 1.15
"""Times from one end of a gap between two groups to the other, at least."""

BIMODAL_STRAYS = 0.01
"""Share of the calls that may lie in a gap: of some thousand, a few always do."""

BIMODAL_SHARE = 0.1
"""Share of the calls that a group has at least; what is rarer are outliers."""

BIMODAL_CALLS = 20
"""Fewer do not tell a gap from chance: of 20 calls that are spread like a log-normal
with a standard deviation of 10 %, none in 300 trials has one; of 30 %, half have."""

BIMODAL_CALLS_AT_MOST = 2000
"""Every n-th call is enough to see groups, and quick to sort."""


def two_groups(samples: Sequence[float]) -> tuple[float, ...] | None:
    """The middles of the two or more groups that calls fall into, ascending.

    Groups are told apart by gaps on a logarithmic scale: what counts is how many times
    longer one call takes than another, and many slow calls with a few fast ones are as
    much two groups as the other way round. What is spread out over a long tail has no
    group at its end.
    """
    sampled = samples[:: max(1, len(samples) // BIMODAL_CALLS_AT_MOST)]
    logs = sorted(math.log(log) for log in sampled if log > 0)
    if len(logs) < BIMODAL_CALLS:
        return None
    reach = int(BIMODAL_STRAYS * len(logs)) + 1
    least = math.log(BIMODAL_GAP)
    parts: list[list[float]] = [[]]
    inside = 0
    """The number of the next calls that lie in a gap."""
    for place, log in enumerate(logs):
        if inside == 0:
            parts[-1].append(log)
        inside = max(0, inside - 1)
        end = place + reach
        if end < len(logs) and logs[end] - log >= least:
            inside = reach - 1
            parts.append([])
    middles = [
        quantile(part, 0.5) for part in parts if len(part) >= BIMODAL_SHARE * len(logs)
    ]
    apart = middles and middles[-1] - middles[0] >= math.log(BIMODAL_SPREAD)
    return tuple(map(math.exp, middles)) if apart else None


OTHERS_AT_MOST = 0.15
"""Cores that other processes may use unremarked; the app's own screen may take 0.1. Of
many cores it is a twentieth of them, or half of one."""

STEAL_AT_MOST = 0.05
"""Share of the CPU time that the hypervisor may take unremarked."""

SECONDS_AT_LEAST = 0.2
"""Below this the 10 ms ticks of /proc decide, not the machine."""


def contention(usage: Usage) -> Remark | None:
    """Other processes used the CPU, or the hypervisor took it away."""
    most = max(OTHERS_AT_MOST, min(usage.cores / 20, 0.5))
    if usage.others > most and usage.seconds >= SECONDS_AT_LEAST:
        by, used = "processes", usage.others
    elif usage.steal > STEAL_AT_MOST:
        by, used = "hypervisor", usage.steal * usage.cores
    else:
        return None
    facts: Facts = {"by": by, "used_cores": used, "cores": usage.cores}
    return Remark("contended", facts, "warning")


INLINE_SHARE = 0.5
"""Results ready on return in more than half of the calls: computed by the caller."""

INLINE_FLOPS = 1000.0
"""A CPU runs a program with fewer flops, by XLA's count, in the calling thread."""


def is_inline(turns: Turns) -> bool:
    """Return whether the caller computes: results are ready on return in most calls.

    A device may be as fast as that, too, and so may be a short product on a CPU.
    """
    workload = turns.workload
    if workload.own and workload.compiled_flops is None:
        return False
    counted = workload.compiled_flops or _expected_flops(workload)
    small = counted < INLINE_FLOPS * max(1, workload.kernels)
    return workload.on_cpu and small and turns.ready_share > INLINE_SHARE


HOST_BOUND_RATIO = 1.5
"""Below this many dispatches per pipelined call the device's time is not resolved."""

INLINE_FLOORS = 3.0
"""An inline op below this many dispatch floors is mostly dispatch."""


def _is_host_bound(turns: Turns, runtime: Runtime, dispatch: float) -> bool:
    """Return whether dispatch takes so long that it hides the device's own time."""
    if turns.ready_share > INLINE_SHARE:  # whoever computed or waited, in the call
        return dispatch < INLINE_FLOORS * runtime.dispatch_floor
    per_call = turns.pipelined_seconds or turns.interval.median
    return per_call < HOST_BOUND_RATIO * dispatch


FOLDED_SHARE = 0.5
"""XLA's count below half of the formula: work is missing from the executable."""

LEFT_SHARE = 0.1
"""Fraction of a function's traced flops: XLA simplifies small programs a lot."""


def is_folded(workload: Workload) -> bool:
    """Return whether XLA compiled clearly less work than the case has."""
    expected = _expected_flops(workload)
    counted = workload.compiled_flops
    if workload.case.mode != "jit" or expected <= 0 or counted is None:
        return False
    return counted < (FOLDED_SHARE if workload.op else LEFT_SHARE) * expected


def _expected_flops(workload: Workload) -> float:
    """Return the flops that XLA should count, or 0 where they say nothing."""
    if workload.op is not None:
        return workload.op.counted_flops(workload.case.size) or 0.0
    # Of a program of several devices XLA counts what one of them does.
    return workload.written_flops if workload.devices == 1 else 0.0


# The cold path.


def _of_settings(workload: Workload) -> Iterator[Remark]:
    """Yield the notes on settings of JAX, and of a file, that change the figure."""
    remarks: list[Remark] = []
    with workload.scope():
        if workload.own:
            remarks += settings.notes()
        if workload.op and workload.op.takes_precision and workload.device:
            remarks += settings.precision_notes(workload.case)
        if workload.device is not None:
            remarks += settings.waiting_notes(workload.on_cpu)
    yield from remarks


# The result.


def _of_dtypes(workload: Workload) -> Iterator[Remark]:
    case, output = workload.case, workload.output_dtype
    used = numpy_dtype(case.dtype) if case.on_host else case.dtype
    if used != case.dtype:
        facts: Facts = {"mode": case.mode, "dtype": case.dtype, "used": used}
        yield Remark("numpy-dtype", facts)
    if case.dtype == "float64" and not case.on_host:
        yield Remark("x64")
    # That a Fourier transform is complex needs no saying.
    if output != used and not output.startswith("complex"):
        yield Remark("dtype-changed", {"dtype": case.dtype, "result": output})


def _of_exchange(accuracy: Accuracy, exchange: Exchange) -> Iterator[Remark]:
    if accuracy.rows_sampled:
        yield Remark("elements-sampled", {"elements": accuracy.rows_sampled})
    if not accuracy.ok:
        wrong: Facts = {"by": "participants", "wrong": exchange.wrong}
        yield Remark("wrong-result", wrong, "error")


def _of_accuracy(accuracy: Accuracy) -> Iterator[Remark]:
    if accuracy.rows_sampled:
        yield Remark("rows-sampled", {"rows": accuracy.rows_sampled})
    if accuracy.ok:
        return
    if accuracy.error is None or accuracy.tolerance is None:
        yield Remark("wrong-result", {"by": "reference"}, "error")
        return
    facts: Facts = {"error": accuracy.error, "tolerance": accuracy.tolerance}
    yield Remark("inaccurate", {"by": "reference", **facts}, "error")


def own(workload: Workload, *, compared: bool = False) -> Remark:
    """Return what replaces formulas and a reference for a function of a file."""
    count = workload.xla_count
    counted = "xla"
    if count.libraries:
        counted = "library"
    elif count.loops:
        counted = "loop"
    elif count.flops is None and count.bytes is None:
        counted = "host" if workload.case.on_host else "nothing"
    facts: Facts = {"counted": counted, "compared": "values" if compared else "nothing"}
    return Remark("own", {**facts, "libraries": count.libraries})


def _as_is(workload: Workload) -> Iterator[Remark]:
    """Yield the notes on what a function of a file brings along."""
    if workload.warm:
        yield Remark("warm-phases")
    if isinstance(workload.args, CopiedArguments):
        yield Remark("donated", {"arguments": tuple(workload.args.used)})
    if workload.devices > 1:
        facts: Facts = {"devices": workload.devices, "mesh": bool(workload.group)}
        yield Remark("sharded", facts)
