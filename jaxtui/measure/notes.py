"""When a number cannot be trusted, and why: rule, threshold and sentence of each note.

A flag is part of the JSON contract; the sentence is for people. Which notes are said
once for a whole run, and how, is in ``jaxtui.model``: they are written so that
they can be read of a case as well as of a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from jaxtui import format as text
from jaxtui.machine import malloc
from jaxtui.measure import devices, settings
from jaxtui.measure.accuracy import Accuracy
from jaxtui.measure.activity import Activity, Behaviour
from jaxtui.measure.contention import Usage
from jaxtui.measure.dataflow import Dataflow
from jaxtui.measure.inputs import numpy_dtype
from jaxtui.measure.own import Renewed
from jaxtui.measure.runtime import Runtime
from jaxtui.measure.sides import Agreement
from jaxtui.measure.turns import Turns
from jaxtui.measure.workload import Workload
from jaxtui.model import COMPILED_MODES, LoopMeasured, MemorySpan, Note, Summary
from jaxtui.model.measurement import SPREAD, confidence
from jaxtui.stats import MINIMUM_ROUNDS, Interval, median, quantile

UNSTABLE = frozenset(
    {
        "drift",
        "bimodal",
        "contended",
        "few-rounds",
        "no-warm-up",
        "outside-span",
        text.UNCERTAIN,
    }
)
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
    if wide := uncertain(turns.interval):
        yield wide
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
    if middles := two_groups([x for block in turns.rounds for x in block.ready]):
        around = text.listed(map(text.seconds, middles))
        count = "Two" if len(middles) == 2 else "Three" if len(middles) == 3 else "Many"
        yield Note(
            flag="bimodal",
            text=f"{count} groups of samples, around {around}: look at the plot before"
            " quoting one number.",
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


UNRATED = frozenset({"folded", "kept", "unchanged", "unfinished", "unwaited"})
"""The flags under which what was timed is not the work, so that no rate is shown."""

LEFT_SHARE = 1 / 3
"""Of the work of a function: with less left, most was removed. The gradient of a
product does not need the product itself, which is a half or a third of its work."""

IDLE_AT_MOST = 0.25
"""Share of the calls on a CPU in which no thread ran or waited for a core: none in
products, sorts and elementwise ops of 6 µs to 9 ms, half in one of 50 µs of sleep."""

READ_AT_MOST = 256
"""Bytes per call: those of a product read 28, for what threads ask of the system."""

QUEUED_AT_MOST = 1.5
"""A queued call lacks the hand-over, so it should take no longer than a blocked one."""


def of_function(turns: Turns, behaviour: Behaviour) -> Iterator[Note]:
    """What makes the time of a function of a file another one than it seems to be."""
    workload = turns.workload
    if turns.activity is not None:
        usage = turns.meter.usage
        yield from _of_activity(turns.activity, workload, usage.steal * usage.cores)
    if workload.dataflow is not None:
        yield from _of_dataflow(workload.dataflow, workload, behaviour)
    if behaviour.kept:
        yield Note(
            flag="kept",
            text="The function returned the same array again, one that it keeps from an"
            " earlier call: this is the time of finding it, not of computing it.",
        )
    if behaviour.returns_arguments:
        yield Note(
            flag="unchanged",
            text="The result is an argument, returned as it is: nothing that the"
            " function computed is waited for.",
        )
    if behaviour.unwaited:
        yield Note(
            flag="unwaited",
            text=f"The result holds a {behaviour.unwaited}, which is no array: nothing"
            " waits for what it stands for. Return arrays, or register its class as a"
            " pytree.",
        )
    if note := _of_leftovers(turns, behaviour):
        yield note
    if behaviour.caught:
        yield Note(
            flag="caught",
            text=f"The function raised and caught {behaviour.caught}: what was timed"
            " may be its way out.",
        )


def _of_leftovers(turns: Turns, behaviour: Behaviour) -> Note | None:
    """Work that goes on when the result is ready."""
    left, alone, queued = (
        behaviour.left_seconds,
        behaviour.alone_seconds,
        turns.pipelined,
    )
    if behaviour.left_threads:
        count = text.plural(behaviour.left_threads, "thread")
        how = f"{count} of the function worked on or stayed"
    elif left > alone / 2:
        how = f"the device worked on for {text.seconds(left)}"
    elif (
        turns.workload.own
        and queued is not None
        and len(turns.slopes) >= MINIMUM_ROUNDS
        and queued.low > QUEUED_AT_MOST * turns.interval.high
    ):
        how = (
            f"of calls that are queued each takes {text.seconds(queued.median)}, more"
            " than one that is waited for"
        )
    else:
        return None
    said = f"Work goes on when the result is ready: {how}. Return what it computes."
    return Note(flag="unfinished", text=said)


def _of_activity(seen: Activity, workload: Workload, stolen: float) -> Iterator[Note]:
    """``stolen`` is the share of the time of a core that the hypervisor took."""
    calls = text.plural(seen.calls, "call")
    if seen.compiles:
        yield Note(
            flag="recompiled",
            text=f"JAX compiled {text.plural(seen.compiles, 'program')} in {calls}"
            " after the warm-up: the time contains compiling. Call `jax.jit` once,"
            " outside of the function, with static arguments that stay the same.",
        )
    elif seen.traces:
        yield Note(
            flag="retraced",
            text=f"JAX traced {text.plural(seen.traces, 'function')} in {calls} after"
            " the warm-up: the time contains tracing.",
        )
    if seen.written >= seen.calls:
        yield Note(
            flag="side-effects",
            text=f"A call writes {text.bytes_text(seen.written / seen.calls)} to files"
            " or to the terminal: that is part of its time.",
        )
    elif seen.read > READ_AT_MOST * seen.calls:
        yield Note(
            flag="side-effects",
            text=f"A call reads {text.bytes_text(seen.read / seen.calls)} from files,"
            " pipes or sockets: that is part of its time.",
        )
    here = workload.on_return or workload.on_cpu
    idle = median(seen.idle) if seen.idle else 0.0
    if here and idle > IDLE_AT_MOST + stolen:
        yield Note(
            flag="idle",
            text=f"Nothing ran in {text.percent(idle)} of the time:"
            " the function slept, or waited for a lock, a file or another process.",
        )


def _of_dataflow(
    flow: Dataflow, workload: Workload, behaviour: Behaviour
) -> Iterator[Note]:
    if flow.callbacks:
        yield Note(
            flag="callback",
            text=f"The function calls back into Python ({', '.join(flow.callbacks)}):"
            " the host runs that, and its time is part of this.",
        )
    compiled = workload.case.mode in COMPILED_MODES
    counted, written = workload.compiled_flops, workload.written_flops
    computed_once = (
        counted is not None and written is not None and counted < LEFT_SHARE * written
    )
    if behaviour.kept or behaviour.returns_arguments:
        return
    if flow.returns_given or 2 * flow.kept_share > 1:
        yield Note(
            flag="unchanged",
            text="The result was there before the call: it is an argument or an array"
            " that the function keeps. What was timed is a copy of it at most.",
        )
    elif compiled and flow.work and not workload.computes:
        yield Note(
            flag="folded",
            text="XLA left nothing to compute: the result does not depend on the"
            " function's work, or is known while compiling.",
        )
    elif compiled and flow.dead > 1 - LEFT_SHARE:
        yield Note(
            flag="folded",
            text=f"XLA removed about {text.percent(flow.dead)} of the function's work,"
            " as no result needs it. Return what it computes.",
        )
    elif compiled and flow.dead + flow.constant > 1 - LEFT_SHARE and computed_once:
        yield Note(
            flag="folded",
            text=f"About {text.percent(flow.constant)} of the function's work depends"
            " on no argument, so XLA did it while compiling. Pass its data as"
            " arguments.",
        )
    elif flow.repeats and not (compiled and computed_once):
        yield Note(
            flag="unchanged",
            text="The result depends on no argument: every call gives the same, though"
            " it computes it anew.",
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
        if ready > SPREAD * span.fresh or span.reused > SPREAD * ready:
            ends = text.listed(map(text.seconds, (span.reused, span.fresh)))
            yield Note(
                flag="outside-span",
                text=f"{text.seconds(ready)} in turn with the other cases, but between"
                f" {ends} in loops of its own: something else held the cores in one of"
                " the two. Time it alone.",
            )
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


FREEING_SHARE = 0.03
"""Of a call. What differs by as much is worth a note, as with ``DRIFT_AT_LEAST``."""


def of_freeing(seconds: float | None, ready: float) -> Iterator[Note]:
    """A plain loop also pays for giving its results back."""
    if seconds is not None and seconds > FREEING_SHARE * ready:
        yield Note(
            flag="freeing",
            text=f"Freeing the result takes {text.seconds(seconds)} a call, which"
            " `ready` leaves out: a plain loop takes"
            f" {text.seconds(ready + seconds)} a call.",
        )


def of_workload(
    workload: Workload,
    accuracy: Accuracy | None,
    agreement: Agreement | None = None,
    *,
    finite: bool,
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
        if agreement is not None:
            yield from _of_agreement(agreement)
        yield own(workload, agreement)
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


def uncertain(interval: Interval) -> Note | None:
    """The interval is so wide that the median says little.

    Of a single round there is none: another note says that.
    """
    low, _, high, confidence = interval
    if confidence <= 0 or not interval.vague:
        return None
    factor = text.significant(high / low, 2) if low > 0 else "any number"
    said = (
        f"Anything from {text.seconds(low)} to {text.seconds(high)}: the interval spans"
        f" a factor of {factor}. End other programs, or raise --budget."
    )
    return Note(flag=text.UNCERTAIN, text=said)


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
    some = samples[:: max(1, len(samples) // BIMODAL_CALLS_AT_MOST)]
    logs = sorted(math.log(one) for one in some if one > 0)
    if len(logs) < BIMODAL_CALLS:
        return None
    reach = int(BIMODAL_STRAYS * len(logs)) + 1
    least = math.log(BIMODAL_GAP)
    parts: list[list[float]] = [[]]
    inside = 0
    """How many of the next calls lie in a gap."""
    for place, one in enumerate(logs):
        if inside == 0:
            parts[-1].append(one)
        inside = max(0, inside - 1)
        end = place + reach
        if end < len(logs) and logs[end] - one >= least:
            inside = reach - 1
            parts.append([])
    middles = [
        quantile(part, 0.5) for part in parts if len(part) >= BIMODAL_SHARE * len(logs)
    ]
    apart = middles and middles[-1] - middles[0] >= math.log(BIMODAL_SPREAD)
    return tuple(map(math.exp, middles)) if apart else None


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


def _of_agreement(agreement: Agreement) -> Iterator[Note]:
    """The two sides of a function of a file do not do the same."""
    if agreement.mismatch:
        yield Note(
            flag="wrong-result",
            text=f"The two sides do not give the same: {agreement.mismatch}. Their"
            " times cannot be compared.",
        )
    elif not agreement.ok:
        yield Note(
            flag="inaccurate",
            text=f"The results of JAX and NumPy differ by {agreement.error:.1e}; they"
            f" should agree to {agreement.tolerance:.0e}. Their times cannot be"
            " compared.",
        )


def own(workload: Workload, agreement: Agreement | None = None) -> Note:
    """What there is of a function of a file instead of formulas and a reference."""
    counted = workload.xla_count
    if agreement is None:
        unchecked = "the result of your own function is compared with nothing."
    elif agreement.incomparable:
        unchecked = (
            "of the results of JAX and NumPy only the shapes are compared:"
            f" {agreement.incomparable}."
        )
    else:
        unchecked = "the results of JAX and NumPy are compared: shapes and values."
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
