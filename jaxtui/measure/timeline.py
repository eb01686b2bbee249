"""What the calls of a loop show, and the notes that say it.

Pure over the stamps of one repeat and the clocks of all; thresholds stand here with
their reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec

from jaxtui import format as text
from jaxtui import stats
from jaxtui.measure.trace import Run
from jaxtui.model import LoopCall, LoopKernel, LoopMeasured, Note
from jaxtui.model.loops import HELD_SHARE
from jaxtui.stats import median

HELD_DISPATCHES = 3.0
"""A call that was held back took at least so many times as long as the first calls,
which nothing held back."""

FIRST_CALLS = 16

FULL_SHARE = 0.5
"""With less than this share of the known depth in flight no queue is full."""

BELOW_FULL = 2
"""A call may be held back with so many fewer in flight than the queue takes: the
watcher sees a little late, or the host reads its clock late, what became ready."""

A_FEW = 4
"""With no more than so many calls in flight there is no queue to speak of."""

HELD_CALLS = 3
"""So many are enough to believe in a queue that is shorter than the known depth."""

ENOUGH_REPEATS = 3

INLINE = (
    "This op ran in the calling thread: its results are ready when their calls "
    "return, so there is nothing to overlap. On CPU, XLA does this for "
    "everything that it counts under 1000 flops."
)


def held_from(calls: Sequence[LoopCall], depth: int) -> int | None:
    """Index of the first call that the runtime held back, or ``None``.

    A call is held back if it took long while as many were in flight as ever are, or as
    the runtime is known to let be. Not every call after the first one is: a host that
    was held back for long finds room for several at once.
    """
    entered, ready = [call.entered for call in calls], [call.ready for call in calls]
    took = [call.returned - call.entered for call in calls]
    one = max(ready) / len(calls)
    least = max(HELD_SHARE * one, HELD_DISPATCHES * median(took[:FIRST_CALLS]))
    flying = stats.in_flight(entered, ready)
    full = min(max(flying), depth)
    held = [
        index
        for index, seconds in enumerate(took)
        if seconds > least and flying[index] >= full - BELOW_FULL
    ]
    if not held or full <= A_FEW or full < FULL_SHARE * depth:
        return None
    certain = full >= depth - 1 or len(held) >= HELD_CALLS
    return held[0] if certain else None


def on_device(
    calls: Sequence[LoopCall], start: float, runs: Sequence[Run], alone: Sequence[Run]
) -> tuple[LoopCall, ...] | str:
    """Calls with what the device did for each, or why that cannot be told.

    A device runs each program in the order of its calls. What the loop runs beyond its
    calls, as to print a number, is left out: ``alone`` is the trace of a single call.
    """
    found: list[list[Run]] = [[] for _ in calls]
    for program, count in Counter(run.program for run in alone).items():
        same = [run for run in runs if run.program == program]
        each, rest = divmod(len(same), len(calls))
        if rest or each < count:
            here = f"{text.plural(len(same), 'run')} of {program}"
            return f"The trace holds {here} for {text.plural(len(calls), 'call')}."
        for index, each_runs in enumerate(found):
            each_runs += same[index * each : index * each + count]
    return tuple(
        _with_kernels(call, start, mine)
        for call, mine in zip(calls, found, strict=True)
    )


def _with_kernels(call: LoopCall, start: float, runs: Sequence[Run]) -> LoopCall:
    took: dict[str, list[float]] = {}
    for run in sorted(runs, key=attrgetter("start")):
        for kernel in run.kernels:
            took.setdefault(kernel.name, []).append(kernel.end - kernel.start)
    return msgspec.structs.replace(
        call,
        device_start=min(run.start for run in runs) - start,
        device_end=max(run.end for run in runs) - start,
        kernels=tuple(
            LoopKernel(name=name, count=len(seconds), seconds=sum(seconds))
            for name, seconds in took.items()
        ),
    )


def notes(measured: LoopMeasured, missing: str = "") -> Iterator[Note]:
    """What must be said beside a loop's figures, and why its device lane is missing."""
    if measured.impossible:
        said = "faster than the chip's peak: this timed the dispatch"
        yield Note(flag="impossible", text=said)
    if measured.inline:
        yield Note(flag="inline", text=INLINE)
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
