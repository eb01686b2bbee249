"""Estimates of the seconds that one call of a slow case takes, before it runs.

NumPy's float16 and integer products have no BLAS behind them: 1000×1000 takes seconds,
and once started neither NumPy nor XLA can be interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

import jax
import msgspec

from jaxtui.core.model import COMPILED_MODES, Case
from jaxtui.tasks import ops
from jaxtui.tasks.ops.base import Op
from jaxtui.tasks.workload import Pool, of_op

WORTH_ASKING = {"numpy": 1e8, "cpu": 2e10, "accelerator": 2e14}
"""Work (flops or bytes) from which a call is estimated first, by where it runs."""

TRIAL_WORK = {"numpy": 2e7, "cpu": 1e9, "accelerator": 1e12}

FLOAT8_ON_CPU = 100.0
"""The factor by which float8 slows element-wise work on a CPU, where XLA converts it
back and forth in software: 13 s for a softmax of 16384², measured."""

SLOW_SECONDS = 1.0
"""An estimate up to this is taken as it comes."""

DOUBT_SECONDS = 0.5
"""The longest expected duration, in seconds, of a single call of a larger trial."""

TRIALS = 6
TRIAL_SECONDS = 1.0
"""Seconds after which a trial of the smaller case ends, if its calls don't end it."""


def call_seconds(
    op: Op,
    size: int,
    dtype: str,
    where: str,
    trial: Callable[[int], Callable[[], object]],
) -> float | None:
    """Seconds of one call at ``size``, scaled up by work from a smaller size.

    Returns:
        ``None`` when the work is so small that asking would cost more than running.
    """
    slow = where == "cpu" and dtype == "float8_e4m3fn"
    effort = FLOAT8_ON_CPU if slow else 1.0
    if effort * work(op, size, dtype) < WORTH_ASKING[where]:
        return None
    smaller = size
    while smaller > 1 and effort * work(op, smaller, dtype) > TRIAL_WORK[where]:
        smaller //= 2
    seconds = _fastest(trial(smaller))
    # What a call costs beside its work is a good part of a small trial, and a machine
    # that is busy makes more of it: nothing is called slow before a trial of a size at
    # which the work is most of it.
    while seconds * _times(op, dtype, size, smaller) > SLOW_SECONDS:
        larger = 2 * smaller
        if (
            larger >= size
            or seconds * _times(op, dtype, larger, smaller) > DOUBT_SECONDS
        ):
            break
        smaller, seconds = larger, _fastest(trial(larger))
    return seconds * _times(op, dtype, size, smaller)


def _times(op: Op, dtype: str, larger: int, smaller: int) -> float:
    return work(op, larger, dtype) / max(work(op, smaller, dtype), 1.0)


def _fastest(call: Callable[[], object]) -> float:
    """The fastest of a few calls: threads that start up must not refuse a case."""
    begin, fastest = perf_counter(), math.inf
    for _ in range(TRIALS):
        start = perf_counter()
        call()
        end = perf_counter()
        fastest = min(fastest, end - start)
        if end - begin > TRIAL_SECONDS:
            break
    return fastest


def work(op: Op, size: int, dtype: str) -> float:
    """The larger of flops and bytes of one call, 0 flops where they are not counted."""
    return op.effort * max(op.flops(size, dtype) or 0.0, op.bytes(size, dtype))


def of_case(case: Case, device: jax.Device | None, seed: int) -> float | None:
    """Seconds of one call of a case, by blocking calls of it at smaller sizes."""
    op = ops.get(case.op)

    def trial(size: int) -> Callable[[], object]:
        smaller = msgspec.structs.replace(case, size=size)
        workload = of_op(smaller, op, device, Pool(seed))
        with workload.scope():
            if device is not None:
                workload.args = workload.resident()
            if case.mode in COMPILED_MODES:
                workload.call = workload.jitted()

        def blocking() -> None:
            with workload.scope():
                workload.wait(workload.call(*workload.args))

        return blocking

    where = "numpy"
    if device is not None:
        where = "cpu" if device.platform == "cpu" else "accelerator"
    return call_seconds(op, case.size, case.dtype, where, trial)
