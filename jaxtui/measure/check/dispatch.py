"""The host's cost of a call: the dispatch of one that computes next to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax

from jaxtui.measure.check import work
from jaxtui.measure.check.base import (
    Context,
    Measure,
    by_device,
    reading,
    translate_errors,
)
from jaxtui.measure.devices import name
from jaxtui.measure.turns import Turns, take_turns
from jaxtui.model import Case, Reading, RunEvent
from jaxtui.stats import median, rounds_interval

WHAT = "tiny call"


def test(context: Context) -> Iterator[RunEvent]:
    """Time one device after the other, as the host is what is timed."""
    yield from by_device(context, _calls, in_turn=True)


def _calls(context: Context, device: jax.Device, seconds: float) -> Iterator[Measure]:
    yield partial(_floor, context, device, seconds)


def _floor(context: Context, device: jax.Device, seconds: float) -> Reading | None:
    case = Case(op="add", size=8, dtype="float32", device=name(device), mode="jit")
    prepared = work.prepare(case, WHAT, device, context.check.seed)
    turns = Turns(prepared.workload, throughput=False)
    with translate_errors(case, WHAT, "sampling"):
        for turn in take_turns([turns], seconds, stop=context.stop):
            turn.done = len(turn.rounds) >= 8
    if not turns.rounds:
        return None
    floor = rounds_interval([median(block.dispatch) for block in turns.rounds])
    return reading("dispatch", device, WHAT, floor, unit="seconds")
