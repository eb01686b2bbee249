"""What a call costs the host, and whether it returns before its result is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import jax
import numpy as np

from jaxtui import format as fmt
from jaxtui.measure import clocks, ops
from jaxtui.measure.check import products, work
from jaxtui.measure.check.base import (
    Context,
    attempt,
    by_device,
    explained,
    name,
    reading,
    setting,
)
from jaxtui.measure.turns import Turns, take_turns
from jaxtui.model import Case, Reading, RunEvent
from jaxtui.stats import median, rounds_interval

TINY = 8
"""Elements of the array whose addition is next to no work."""

ROUNDS = 8

SHARE = 0.5
"""Of the budget, for the tiny call; the rest is for the product."""

PRODUCT_SECONDS = 0.001
"""What the product takes at peak: ten times what a call costs the host."""

PRODUCT_CALLS = 15
QUEUED = 64
"""Calls that are made without waiting, to see how many may be in flight."""

QUEUE_SECONDS = 0.5
"""What they may take altogether; of slower calls the queue is not measured."""

FULL_QUEUE = (QUEUED / 4, QUEUED - 4)
"""Outside of it the queue was not seen to be full: the device was faster, or the queue
is longer than what was put into it."""

EARLY = 0.5
"""An asynchronous call returns before this share of its work is done."""


@dataclass(frozen=True)
class Asynchrony:
    """The call, of several, that returned earliest before its result was there."""

    dispatch: float
    """Seconds until it returned."""
    ready: float
    """Seconds until its result was there."""
    in_flight: int | None = None
    """How many may be in flight; ``None`` where that was not seen."""

    @property
    def early(self) -> bool:
        """Whether it returned well before its result was there."""
        return self.dispatch < EARLY * self.ready

    @property
    def said(self) -> str:
        """The figures as a sentence."""
        times = (
            f"a call of {fmt.seconds(self.ready)} returned after"
            f" {fmt.seconds(self.dispatch)}"
        )
        if not self.early:
            return f"Not asynchronous: {times}."
        depth = f"; {self.in_flight} can be in flight" if self.in_flight else ""
        return f"Asynchronous: {times}{depth}."


def test(context: Context) -> Iterator[RunEvent]:
    """One device after the other: what is timed is the host."""

    def job(device: jax.Device, seconds: float) -> Iterator[Reading]:
        for measure in (_floor, _asynchrony):
            if context.stop():
                return
            yield from attempt(
                context, device, partial(measure, context, device, seconds)
            )

    yield from by_device(context, "timing calls", job, in_turn=True)


def _floor(context: Context, device: jax.Device, seconds: float) -> Reading | None:
    """The dispatch of a compiled addition of eight numbers, in rounds."""
    case = Case(op="add", size=TINY, dtype="float32", device=name(device), mode="jit")
    what = "dispatch of a tiny call"
    with explained(case, what, "compile"):
        call = work.compiled(case, device)
    with explained(case, what, "inputs"):
        args = tuple(jax.device_put([np.ones(TINY, np.float32)] * 2, device))
    turns = Turns(work.callable_on(device, case, call, args), throughput=False)
    with explained(case, what, "sampling"):
        for one in take_turns([turns], SHARE * seconds, stop=context.stop):
            one.done = len(one.rounds) >= ROUNDS
    if not turns.rounds:
        return None
    floor = rounds_interval([median(block.dispatch) for block in turns.rounds])
    return reading("dispatch", device, what, floor, unit="seconds")


def _asynchrony(context: Context, device: jax.Device, seconds: float) -> Reading | None:
    """The dispatch of a product of about a millisecond."""
    chosen = setting(context, device)
    kind = products.natural(chosen.device)
    case = products.case(kind, chosen, PRODUCT_SECONDS)
    what = f"dispatch of {products.label(case, device.platform)}"
    product = work.prepared(case, what, device, context.check.seed)
    # There must be memory for all the results of a full queue.
    needed = QUEUED * ops.get(case.op).result_bytes(case.size, case.dtype)
    room = chosen.free_bytes is None or needed < chosen.free_bytes / 2
    with explained(case, what, "sampling"):
        found = _earliest(product, seconds * (1 - SHARE))
        # How long the queue is, is a matter of the runtime: one device tells for all.
        first = device == context.devices[0] and QUEUED * found.ready < QUEUE_SECONDS
        if first and found.early and room:
            made = product.workload
            pending = clocks.pending_after(made.call, made.args, QUEUED)
            full = FULL_QUEUE[0] < pending < FULL_QUEUE[1]
            found = replace(found, in_flight=pending if full else None)
    fine = found.early or device.platform == "cpu"
    return reading(
        "dispatch",
        device,
        what,
        found.dispatch,
        unit="seconds",
        said=found.said if fine else "",
        doubt="" if fine else found.said,
    )


def _earliest(product: work.Prepared, seconds: float) -> Asynchrony:
    """One call that returns early is proof enough: others may have been held up."""
    call, args = product.workload.call, product.workload.args
    wait = clocks.wait_for_array
    one = clocks.calls(call, args, wait, 0.0).ready[0]
    block = clocks.calls(call, args, wait, min(seconds, PRODUCT_CALLS * one), least=5)
    calls = [
        Asynchrony(*pair) for pair in zip(block.dispatch, block.ready, strict=True)
    ]
    return min(calls, key=lambda call: call.dispatch / call.ready)
