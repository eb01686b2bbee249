"""When a number cannot be trusted, and why: rule, threshold and sentence of each note.

A flag is part of the JSON contract; the sentence is for people. Which notes are said
once for a whole run, and how, is in ``jaxtui.model``: they are written so that
they can be read of a case as well as of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui import format as text
from jaxtui.machine import malloc
from jaxtui.measure import devices, settings
from jaxtui.measure.accuracy import Accuracy
from jaxtui.measure.contention import Usage
from jaxtui.measure.inputs import numpy_dtype
from jaxtui.measure.own import Renewed
from jaxtui.measure.runtime import Runtime
from jaxtui.measure.turns import Turns
from jaxtui.measure.workload import Workload
from jaxtui.model import LoopMeasured, MemorySpan, Note, Summary
from jaxtui.model.measurement import confidence
from jaxtui.stats import MINIMUM_ROUNDS, Interval, median, quantile

UNSTABLE = frozenset({"drift", "bimodal", "contended", "few-rounds", "no-warm-up"})
"""The flags under which a measurement is not called stable."""


def of_turns(
    turns: Turns, runtime: Runtime | None, dispatch: Summary | None
) -> Iterator[Note]:
    """What the turns say about themselves."""
    if (rounds := len(turns.rounds)) < MINIMUM_ROUNDS:
        interval = "there is no interval"
        if rounds > 1:
            sure = text.percent(confidence(rounds))
            interval = f"the interval is the smallest and the largest, {sure} sure"
        yield Note(
            flag="few-rounds",
            text=f"Only {text.plural(rounds, 'round')} fitted into the budget:"
            f" {interval}.",
        )
    if not turns.warmed_up:
        yield Note(
            flag="no-warm-up",
            text="One call takes so long that there was no warm-up beyond the first.",
        )
    if thirds := drift(turns.medians, turns.interval):
        first, last = map(text.seconds, thirds)
        yield Note(
            flag="drift",
            text=f"Drift: {first} in the first third of the rounds, "
            f"{last} in the last. The machine changed its speed.",
        )
    if groups := two_groups([x for block in turns.rounds for x in block.ready]):
        low, high = map(text.seconds, groups)
        yield Note(
            flag="bimodal",
            text=f"Two groups of samples, around {low} and "
            f"{high}: look at the plot before quoting one number.",
        )
    if others := contention(turns.meter.usage):
        yield others
    if turns.implicit_transfer:
        yield Note(
            flag="implicit-transfer",
            text="An argument was sent from the host at every call although inputs are "
            "resident: the time includes that transfer.",
        )
    if turns.overfull and turns.slopes:
        yield Note(
            flag="queue-full",
            text=f"A burst put {turns.overfull} computations in flight, but the runtime"
            f" holds the host back at {turns.queue_depth}: pipelined contains waiting.",
        )
    workload = turns.workload
    if is_inline(turns):
        with workload.scope():
            waits = any(settings.waiting_notes(workload.on_cpu))
        # Else it is a setting that makes calls wait, not the op.
        if not waits:
            yield Note(
                flag="inline",
                text="This op runs inline: the call returned with its result already"
                " computed, so dispatch is the whole work and there is nothing to"
                " overlap.",
            )
    if is_folded(workload):
        counted = workload.compiled_flops
        found = "no flops at all" if not counted else f"{counted:.2g} flops"
        yield Note(
            flag="folded",
            text=f"XLA compiled {found} where the op has"
            f" {_expected_flops(workload):.2g}: part of the work was done at compile"
            " time or removed, so no rate is shown.",
        )
    if runtime is None or dispatch is None or workload.interpreted:
        return
    if is_host_bound(turns, runtime, dispatch.median):
        per_call = turns.pipelined_seconds or turns.interval.median
        yield Note(
            flag="host-bound",
            text=f"Handing a call over takes"
            f" {text.seconds(dispatch.median)} and a queued call"
            f" {text.seconds(per_call)}, so the device's own time is hidden and no"
            " rate is shown.",
        )


def of_rate(workload: Workload, flops_per_second: float | None) -> Iterator[Note]:
    """A rate above the peak was not the whole op.

    Bytes per second are not judged: a cache may well beat the main memory.
    """
    limit = workload.peak.flops_per_second if workload.peak else None
    if flops_per_second and limit and flops_per_second > limit:
        yield Note(
            flag="impossible",
            text=f"{text.rate(flops_per_second)} is above this device's peak of "
            f"{text.rate(limit)}: something other than the whole op was timed.",
        )


PAGE_FAULTS_AT_MOST = 100.0
"""Per call; a fault costs about 0.1 to 0.5 µs, so this is tens of microseconds."""


def of_memory(
    turns: Turns, ready: float, span: MemorySpan | str | None
) -> Iterator[Note]:
    """What the pages of a result cost beside the headline, and how to choose them.

    ``span`` is ``None`` where its ends hardly differ, or says why there are none.
    """
    faults = median(turns.page_faults)
    if isinstance(span, str):
        yield Note(flag="no-span", text=span)
    elif span is not None:
        said = (
            f"{text.seconds(ready)}; {text.seconds(span.reused)} with reused memory,"
            f" {text.seconds(span.fresh)} with fresh: about {span.page_faults:,.0f}"
            " page faults a call. Which one a program gets depends on what it freed"
            f" before; with {malloc.setting('reused')} in its environment it reuses."
        )
        yield Note(flag="memory", text=said)
        return
    if end := malloc.chosen_end():
        said = (
            f"Memory is {end} on purpose, as by --memory {end}"
            f" ({malloc.setting(end)}): about {faults:,.0f} page faults a call."
        )
        yield Note(flag="memory", text=said)
    elif faults > PAGE_FAULTS_AT_MOST:
        said = (
            f"About {faults:,.0f} page faults per call: memory is new to the process "
            "each time, and getting it is part of this number."
        )
        yield Note(flag="page-faults", text=said)


def of_workload(
    workload: Workload, accuracy: Accuracy | None, *, finite: bool
) -> Iterator[Note]:
    """What the cold path and the result say."""
    if workload.device is not None and devices.is_simulated(workload.device):
        yield Note(
            flag="simulated",
            text="SIMULATED device: it shares this machine's CPU with its siblings.",
        )
    yield from _of_settings(workload)
    if not finite:
        yield Note(
            flag="not-finite",
            text="The result holds numbers that are not finite: nan or infinity.",
        )
    if workload.op is not None:
        yield from _of_dtypes(workload)
        if workload.op.symmetric and workload.case.mode == "numpy":
            yield Note(
                flag="symmetric",
                text="NumPy hands x·xᵀ to a symmetric BLAS routine with half the flops;"
                " the rate counts the full product.",
            )
    if accuracy is not None:
        yield from _of_accuracy(accuracy)
    if workload.op is None:
        yield own(workload)
        yield from _as_is(workload)
    if workload.interpreted:
        yield Note(
            flag="interpreted",
            text="Pallas compiles no kernels for a CPU: this one ran in interpret mode,"
            " which shows whether it is right. Its time says nothing about speed.",
        )
    if workload.cached_compile:
        yield Note(
            flag="cached-compile",
            text="The executable came from JAX's persistent compilation cache: the"
            " compile time is the time to load it, not to compile.",
        )
    if workload.zero_copy:
        yield Note(
            flag="aliased",
            text=f"Zero-copy {' and '.join(workload.zero_copy)}: host and device share"
            " the same memory here, so there is no bandwidth to speak of.",
        )
    copied = workload.phases.transfer is not None
    if workload.on_cpu and copied and "transfer" not in workload.zero_copy:
        yield Note(
            flag="memcpy",
            text="On CPU a transfer is a copy within the host's memory, not over a"
            " bus.",
        )


# The rounds.


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


BIMODAL_SPREAD = 1.3
BIMODAL_GAP = 0.15
BIMODAL_CALLS = 20
"""p90 above 1.3 × p50, with a gap of 15 % of the median, in at least 20 calls."""

BIMODAL_CALLS_AT_MOST = 2000
"""Every n-th call is enough to see two groups, and quick to sort."""


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


OTHERS_AT_MOST = 0.15
"""Cores that other processes may use unremarked; the app's own screen may take 0.1."""

STEAL_AT_MOST = 0.05
"""Share of the CPU time that the hypervisor may take unremarked."""

SECONDS_AT_LEAST = 0.2
"""Below this the 10 ms ticks of /proc decide, not the machine."""


def contention(usage: Usage) -> Note | None:
    """Other processes used the CPU, or the hypervisor took it away."""
    if usage.others > OTHERS_AT_MOST and usage.seconds >= SECONDS_AT_LEAST:
        amount = usage.others
        said = (
            f"Other processes used {amount:.1f} of {usage.cores} cores meanwhile: what"
            " was timed is theirs too."
        )
    elif usage.steal > STEAL_AT_MOST:
        amount = usage.steal * usage.cores
        said = (
            f"The hypervisor gave {usage.steal:.0%} of the CPU time to other machines"
            " meanwhile."
        )
    else:
        return None
    return Note(flag="contended", text=said, amount=round(amount, 1))


INLINE_SHARE = 0.5
"""Results ready on return in more than half of the calls: computed by the caller."""


def is_inline(turns: Turns) -> bool:
    return turns.ready_share > INLINE_SHARE


HOST_BOUND_RATIO = 1.5
"""Below this many dispatches per pipelined call the device's time is not resolved."""

INLINE_FLOORS = 3.0
"""An inline op below this many dispatch floors is mostly dispatch."""


def is_host_bound(turns: Turns, runtime: Runtime, dispatch: float) -> bool:
    """Whether handing over takes so long that the device's own time is hidden."""
    if is_inline(turns):
        return dispatch < INLINE_FLOORS * runtime.dispatch_floor
    per_call = turns.pipelined_seconds or turns.interval.median
    return per_call < HOST_BOUND_RATIO * dispatch


FOLDED_SHARE = 0.5
"""XLA's count below half of the formula: work is missing from the executable."""


def is_folded(workload: Workload) -> bool:
    """Whether XLA compiled clearly less work than the op has."""
    expected = _expected_flops(workload)
    counted = workload.compiled_flops
    if workload.case.mode != "jit" or expected <= 0 or counted is None:
        return False
    return counted < FOLDED_SHARE * expected


def _expected_flops(workload: Workload) -> float:
    """What XLA should count, or 0 where that says nothing."""
    op = workload.op
    return (op.counted_flops(workload.case.size) if op else None) or 0.0


# The cold path.


def _of_settings(workload: Workload) -> Iterator[Note]:
    """What the settings of JAX, and those of a file, do to the number."""
    found: list[Note] = []
    with workload.scope():
        if workload.settings is not None:
            found += workload.settings.notes()
        if workload.op and workload.op.takes_precision and workload.device:
            found += settings.precision_notes(workload.case)
        if workload.device is not None:
            found += settings.waiting_notes(workload.on_cpu)
    yield from found


# The result.


def _of_dtypes(workload: Workload) -> Iterator[Note]:
    case, output = workload.case, workload.output_dtype
    used = numpy_dtype(case.dtype) if case.on_host else case.dtype
    if used != case.dtype:
        name = "NumPy" if case.mode == "numpy" else "TensorFlow's NumPy"
        yield Note(
            flag="numpy-dtype",
            text=f"{name} has no {case.dtype} of its own: its side ran in {used}.",
        )
    if case.dtype == "float64" and not case.on_host:
        yield Note(
            flag="x64",
            text="JAX has float64 only with x64, which was switched on for this"
            " case alone: a program without JAX_ENABLE_X64=1 computes in"
            " float32 instead.",
        )
    # That a Fourier transform is complex needs no saying.
    if output != used and not output.startswith("complex"):
        yield Note(
            flag="dtype-changed",
            text=f"The result of this {case.dtype} case is {output}.",
        )


def _of_accuracy(accuracy: Accuracy) -> Iterator[Note]:
    if accuracy.rows_sampled:
        yield Note(
            flag="rows-sampled",
            text=f"The float64 check computed {accuracy.rows_sampled} rows of the"
            " result, not all of it.",
        )
    if accuracy.ok:
        return
    if accuracy.error is None or accuracy.tolerance is None:
        wrong = "The result is not what this op should give: its speed means nothing."
        yield Note(flag="wrong-result", text=wrong)
        return
    inaccurate = (
        f"The result is off by {accuracy.error:.1e} against NumPy in float64; this"
        f" dtype should reach {accuracy.tolerance:.0e}."
    )
    yield Note(flag="inaccurate", text=inaccurate)


def own(workload: Workload) -> Note:
    """What there is of a function of a file instead of formulas and a reference."""
    counted = workload.xla_count
    unchecked = "the result of your own function is compared with nothing."
    if counted.libraries:
        names = ", ".join(counted.libraries)
        said = (
            f"XLA does not count what it leaves to a library ({names}), so no rate is"
            f" shown; {unchecked}"
        )
    elif counted.loops:
        said = (
            "XLA counts the body of a loop once, however often it runs, so no rate"
            f" is shown; {unchecked}"
        )
    elif counted.flops is None and counted.bytes is None:
        where = " in NumPy" if workload.case.on_host else ""
        said = f"Flops and bytes are not known{where}; {unchecked}"
    else:
        said = (
            "Flops and bytes are as XLA counts them, in jit in the compiled program"
            f" and else op by op; {unchecked}"
        )
    return Note(flag="own", text=said)


def _as_is(workload: Workload) -> Iterator[Note]:
    """What a function of a file brings along."""
    if workload.warm:
        yield Note(
            flag="warm-phases",
            text="It is jitted already and may have been called in this process before:"
            " trace, lower and compile are not known.",
        )
    if isinstance(workload.args, Renewed):
        numbers = ", ".join(map(str, workload.args.used))
        yield Note(
            flag="donated",
            text=f"It donates its arguments (number {numbers}, from 0): every call gets"
            " fresh copies of them, which are made outside of the clock.",
        )
    if workload.devices > 1:
        yield Note(
            flag="sharded",
            text=f"It runs on {workload.devices} devices, as its file says: XLA counts"
            " the work of one of them, and so do the rates.",
        )


# A loop.


ENOUGH_REPEATS = 3


def of_loop(measured: LoopMeasured, missing: str) -> Iterator[Note]:
    """What must be said beside a loop's figures, and why its device lane is missing."""
    if measured.impossible:
        said = "faster than the chip's peak: this timed the dispatch"
        yield Note(flag="impossible", text=said)
    if measured.inline:
        yield Note(
            flag="inline",
            text=(
                "This op ran in the calling thread: its results are ready when their "
                "calls return, so there is nothing to overlap. On CPU, XLA does this "
                "for everything that it counts under 1000 flops."
            ),
        )
    if measured.held_from is not None:
        yield Note(
            flag="queue-full",
            text=(
                f"Queue full from call {measured.held_from + 1}: so many computations "
                "are in flight that the runtime lets the host go on only when one of "
                "them is done."
            ),
        )
    without = measured.undisturbed.true_seconds
    watched = measured.watched.true_seconds
    yield Note(
        flag="watched",
        text=(
            "A watcher changes what it watches: with a thread waiting for each result "
            f"the loop took {text.seconds(watched)}, without it "
            f"{text.seconds(without)} ({watched / max(without, 1e-12) - 1:+.1%})."
        ),
    )
    if measured.traced:
        yield Note(
            flag="measured",
            text=(
                "When the device began and ended each call is its runtime's own "
                "record, of a repeat of its own, which took "
                f"{text.seconds(measured.traced.true_seconds)}: recording costs, too."
            ),
        )
    else:
        yield Note(
            flag="inferred",
            text=(
                "Where a computation begins is inferred: when it was asked for and the "
                f"one before it was ready. {missing}"
            ),
        )
    # Of a short loop there are many more undisturbed ones.
    if measured.watched.repeats < ENOUGH_REPEATS:
        count = text.plural(measured.watched.repeats, "repeat")
        said = f"Only {count} of each kind fitted into the budget."
        yield Note(flag="few-repeats", text=said)
