"""What a call costs the host, and whether it returns before its result is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import jax
import numpy as np

from jaxtui import format as fmt
from jaxtui.measure import clocks, ops
from jaxtui.measure.check import compute, work
from jaxtui.measure.check.base import (
    Context,
    Measure,
    by_device,
    reading,
    setting,
    translate_errors,
)
from jaxtui.measure.devices import name
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
        return self.dispatch < EARLY * self.ready

    @property
    def said(self) -> str:
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

    def job(device: jax.Device, seconds: float) -> Iterator[Reading | Measure]:
        yield partial(_floor, context, device, seconds)
        yield partial(_asynchrony, context, device, seconds)

    yield from by_device(context, "timing calls", job, in_turn=True)


def _floor(context: Context, device: jax.Device, seconds: float) -> Reading | None:
    case = Case(op="add", size=TINY, dtype="float32", device=name(device), mode="jit")
    what = "dispatch of a tiny call"
    with translate_errors(case, what, "compile"):
        call = work.compile_case(case, device)
    with translate_errors(case, what, "inputs"):
        args = tuple(jax.device_put([np.ones(TINY, np.float32)] * 2, device))
    turns = Turns(work.callable_on(device, case, call, args), throughput=False)
    with translate_errors(case, what, "sampling"):
        for one in take_turns([turns], SHARE * seconds, stop=context.stop):
            one.done = len(one.rounds) >= ROUNDS
    if not turns.rounds:
        return None
    floor = rounds_interval([median(block.dispatch) for block in turns.rounds])
    return reading("dispatch", device, what, floor, unit="seconds")


def _asynchrony(context: Context, device: jax.Device, seconds: float) -> Reading | None:
    """The dispatch of a product of about a millisecond."""
    chosen = setting(context, device)
    kind = compute.natural(chosen.device)
    case = compute.case(kind, chosen, PRODUCT_SECONDS)
    what = f"dispatch of {compute.label(case, device.platform)}"
    made = work.prepare(case, what, device, context.check.seed).workload
    # There must be memory for all the results of a full queue.
    needed = QUEUED * ops.get(case.op).result_bytes(case.size, case.dtype)
    room = chosen.free_bytes is None or needed < chosen.free_bytes / 2
    with translate_errors(case, what, "sampling"):
        call, args, wait = made.call, made.args, clocks.wait_for_array
        one = clocks.calls(call, args, wait, 0.0).ready[0]
        left = min(seconds * (1 - SHARE), PRODUCT_CALLS * one)
        block = clocks.calls(call, args, wait, left, least=5)
        pairs = zip(block.dispatch, block.ready, strict=True)
        # One call that returns early is proof enough: others may have been held up.
        calls = [Asynchrony(*pair) for pair in pairs]
        found = min(calls, key=lambda call: call.dispatch / call.ready)
        # How long the queue is, is a matter of the runtime: one device tells for all.
        first = device == context.devices[0] and QUEUED * found.ready < QUEUE_SECONDS
        if first and found.early and room:
            pending = clocks.pending_after(call, args, QUEUED)
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
