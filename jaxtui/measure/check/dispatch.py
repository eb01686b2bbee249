"""What a call costs the host, and whether it returns before its result is there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax

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
from jaxtui.measure.runtime import PROBE_CALLS, queue_depth
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

QUEUE_SECONDS = 0.5
"""What filling the queue may take; of slower calls it is not measured."""

EARLY = 0.5
"""An asynchronous call returns before this share of its work is done."""


def test(context: Context) -> Iterator[RunEvent]:
    """One device after the other: what is timed is the host."""
    yield from by_device(context, "timing calls", _calls, in_turn=True)


def _calls(context: Context, device: jax.Device, seconds: float) -> Iterator[Measure]:
    yield partial(_floor, context, device, seconds)
    yield partial(_asynchrony, context, device, seconds)


def _floor(context: Context, device: jax.Device, seconds: float) -> Reading | None:
    case = Case(op="add", size=TINY, dtype="float32", device=name(device), mode="jit")
    what = "dispatch of a tiny call"
    made = work.prepare(case, what, device, context.check.seed).workload
    turns = Turns(made, throughput=False)
    with translate_errors(case, what, "sampling"):
        for one in take_turns([turns], SHARE * seconds, stop=context.stop):
            one.done = len(one.rounds) >= ROUNDS
    if not turns.rounds:
        return None
    floor = rounds_interval([median(block.dispatch) for block in turns.rounds])
    return reading("dispatch", device, what, floor, unit="seconds")


def _asynchrony(context: Context, device: jax.Device, seconds: float) -> Reading | None:
    """The dispatch of a product of about a millisecond.

    Of several calls the one that returned earliest before its result was there: others
    may have been held up.
    """
    free = setting(context, device).free_bytes
    product = compute.natural_product(
        context, device, "dispatch of {}", PRODUCT_SECONDS
    )
    made, case = product.workload, product.workload.case
    # There must be memory for all the results of a full queue.
    needed = PROBE_CALLS * ops.get(case.op).result_bytes(case.size, case.dtype)
    room = free is None or needed < free / 2
    with translate_errors(case, product.what, "sampling"):
        call, args, wait = made.call, made.args, clocks.wait_for_array
        one = clocks.calls(call, args, wait, 0.0).ready[0]
        left = min(seconds * (1 - SHARE), PRODUCT_CALLS * one)
        block = clocks.calls(call, args, wait, left, least=5)
        pairs = zip(block.dispatch, block.ready, strict=True)
        dispatch, ready = min(pairs, key=lambda pair: pair[0] / pair[1])
        early = dispatch < EARLY * ready
        depth: int | None = None
        # How long the queue is, is a matter of the runtime: one device tells for all.
        first = device == context.devices[0] and PROBE_CALLS * ready < QUEUE_SECONDS
        if first and early and room:
            depth = queue_depth(call, args)
    said = f"a call of {fmt.seconds(ready)} returned after {fmt.seconds(dispatch)}"
    if depth:
        said += f"; {depth} can be in flight"
    said = f"{'Asynchronous' if early else 'Not asynchronous'}: {said}."
    fine = early or device.platform == "cpu"
    facts: dict[str, Any] = {"said" if fine else "doubt": said, "unit": "seconds"}
    return reading("dispatch", device, product.what, dispatch, **facts)
