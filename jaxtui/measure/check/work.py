"""The computations of the check, and their rates: compiled calls in queued bursts.

Every call that a test makes comes from ``compile_case``, and every use of it elsewhere
is written ``work.compile_case(...)``: to see how the check takes to a device that is
slow, wrong or silent, replace this one function and nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding

from jaxtui.measure import clocks, notes, ops, programs
from jaxtui.measure.check.base import Context, reading, translate_errors
from jaxtui.measure.clocks import Call
from jaxtui.measure.ops.arguments import Argument
from jaxtui.measure.runtime import DEFAULT_QUEUE_DEPTH
from jaxtui.measure.turns import WARM_UP_SECONDS, Turns, take_turns
from jaxtui.measure.workload import Workload, op_scope
from jaxtui.model import Case, CheckTest, Reading

KEPT = 256
"""Compiled calls that are kept: ``together`` runs what ``compute`` has compiled, which
saves a TPU several seconds."""

BURST_SECONDS = 0.03
"""Work of the longer burst of a pair: the clock, and one hand-over more or less, are
then below one percent of it."""


@functools.lru_cache(maxsize=KEPT)
def compile_case(case: Case, device: jax.Device, *, into: bool = False) -> Call:
    """The op of a case, compiled for a device: the only place where calls are made.

    It may be called in any thread and outside of ``scope``; arguments must be arrays
    on the device, in the dtypes of the case. It returns one ``jax.Array`` and is as
    asynchronous as the device. Calls are made once per process and kept.

    Args:
        case: Op, size, dtype and precision; mode and inputs are ignored. The precision
            is the one that is written there, whatever ``jax_default_matmul_precision``
            says.
        device: Where it runs, and where the result is.
        into: Take one more argument at the end, an array like the result: it is
            donated, so that the result is written where it was. Without that, each
            result is a fresh allocation, which on a CPU means that the kernel hands out
            pages of zeros: a copy of 128 MB takes five times as long.
    """
    op = ops.get(case.op)
    form = op.bind(case.precision)

    def ignoring_last(*args: Any) -> jax.Array:
        return form(*args[:-1])

    with scope(case, device):
        shapes, jitted = programs.shapes(op, case, device), jax.jit(form)
        if into:
            ignoring_last.__name__ = ignoring_last.__qualname__ = form.__name__
            # Unused as it is, it must be kept, or there is nothing to donate.
            jitted = jax.jit(
                ignoring_last, donate_argnums=len(shapes), keep_unused=True
            )
            shape, dtype = op.result_shape(case.size), op.result_dtype(case.dtype)
            shapes.append(programs.array_shape(shape, dtype, device))
        built: Call = jitted.lower(*shapes).compile()
        return built


def scope(case: Case, device: jax.Device) -> ExitStack:
    """Within it arrays are of the dtypes of the case, and made on the device.

    The setting is local to the thread.
    """
    stack = op_scope(case, device)
    stack.enter_context(jax.default_matmul_precision(case.precision))
    return stack


def arguments(case: Case, device: jax.Device, seed: int = 0) -> tuple[jax.Array, ...]:
    """Inputs of a case, made on the device by its own arithmetic from a seed.

    Drawing 8192² normals in NumPy takes a second, and sending them longer on a slow
    link. They are pseudo-random and not zeros, because zeros flatter: a chip that
    toggles no bits draws less power and clocks higher. Floats are evenly spread over
    [−1, 1), integers over −8 … 7, so that no product overflows. They are the same on
    every device.
    """
    specs = ops.get(case.op).arguments(case.size)
    # CPU devices share one memory: sending costs a copy, compiling for each costs more.
    on_cpu = device.platform == "cpu"
    maker = jax.local_devices(backend="cpu")[0] if on_cpu else device
    with scope(case, maker):
        arrays = [
            _fill(argument, case.dtype, maker)((seed * len(specs) + place) % 2**31)
            for place, argument in enumerate(specs)
        ]
        if maker != device:
            arrays = jax.device_put(arrays, device)
        return tuple(jax.block_until_ready(arrays))


def result_like(case: Case, device: jax.Device) -> jax.Array:
    op = ops.get(case.op)
    with scope(case, device):
        shape, dtype = op.result_shape(case.size), op.result_dtype(case.dtype)
        like: jax.Array = jnp.zeros(shape, dtype, device=device)
        like.block_until_ready()
        return like


@functools.lru_cache(maxsize=KEPT)
def _fill(argument: Argument, dtype: str, device: jax.Device) -> Call:
    """Fills the shape of an argument from a seed."""
    count, kind = argument.elements(), jnp.dtype(argument.dtype(dtype))

    def fill(seed: jax.Array) -> jax.Array:
        # A counter through a finaliser: Murmur3's, as good as a hash needs to be here.
        bits = jax.lax.iota(jnp.uint32, count) + seed.astype(jnp.uint32) * jnp.uint32(
            0x9E3779B1
        )
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            bits = (bits ^ (bits >> shift)) * jnp.uint32(factor)
        bits = bits ^ (bits >> 16)
        if jnp.issubdtype(kind, jnp.integer):
            numbers = (bits >> 28).astype(jnp.int32) - 8
        else:
            # The upper 24 bits: as many as a float32 holds without rounding.
            wide = jnp.float64 if kind == jnp.float64 else jnp.float32
            numbers = (bits >> 8).astype(wide) / 2**23 - 1
        filled: jax.Array = numbers.astype(kind).reshape(argument.shape)
        return filled

    place = SingleDeviceSharding(device)
    return jax.jit(fill, out_shardings=place)


# How fast.


@dataclass(frozen=True)
class Subject:
    what: str
    workload: Workload


def subject(
    what: str, device: jax.Device, case: Case, call: Call, args: tuple[Any, ...] = ()
) -> Subject:
    """A compiled call with its arguments on a device; its result is one array."""
    wait = clocks.wait_for_array
    workload = Workload(case=case, call=call, args=args, device=device, wait=wait)
    return Subject(what, workload)


def prepare(case: Case, what: str, device: jax.Device, seed: int) -> Subject:
    """A case, compiled, with inputs on the device.

    Raises:
        TroubleError: It cannot be compiled, or its inputs do not fit.
    """
    with translate_errors(case, what, "compile"):
        call = compile_case(case, device)
    with translate_errors(case, what, "inputs"):
        args = arguments(case, device, seed)
    return subject(what, device, case, call, args)


def _turns_of(prepared: Subject, warm_up_seconds: float = WARM_UP_SECONDS) -> Turns:
    return Turns(
        prepared.workload,
        queue_depth=DEFAULT_QUEUE_DEPTH,
        latency=False,
        warm_up_seconds=warm_up_seconds,
        burst_seconds=BURST_SECONDS,
    )


def run_bursts(
    subjects: Sequence[Subject], seconds: float, stop: Callable[[], bool]
) -> Iterator[Turns]:
    """Turns of queued bursts for all of them, one round each at least.

    Each comes before its first calls, not ``warm`` yet, and after each of its rounds;
    one that raised has a ``fault``.
    """
    warm_up = min(WARM_UP_SECONDS, 0.2 * seconds / max(1, len(subjects)))
    every = [_turns_of(subject, warm_up) for subject in subjects]
    end = perf_counter() + seconds
    for turns in take_turns(
        every, seconds, stop=stop, faults=(Exception,), announce=True
    ):
        yield turns
        turns.done |= perf_counter() >= end and bool(turns.slopes)


def rate_reading(
    test: CheckTest, subject: Subject, turns: Turns, **facts: Any
) -> Reading | None:
    """Operations or bytes per second, from turns of bursts, as ``reading`` takes them.

    Returns:
        ``None`` before the first round.

    Raises:
        TroubleError: The calls failed.
    """
    workload, device = turns.workload, turns.workload.device
    if turns.fault is not None:
        with translate_errors(workload.case, subject.what, "sampling"):
            raise turns.fault
    if (interval := turns.per_call) is None:
        return None
    assert device is not None
    contended = notes.contention(turns.meter.usage)
    # What others do matters where the device computes on the host's cores.
    shared = contended is not None and device.platform == "cpu"
    remarks = (contended,) if shared else ()
    return reading(test, device, subject.what, interval, remarks=remarks, **facts)


def measure_rate(
    context: Context, subject: Subject, seconds: float, **facts: Any
) -> Reading | None:
    """The rate of one prepared call; ``None`` if it was stopped before its first round.

    Raises:
        TroubleError: The calls failed.
    """
    turns: Turns | None = None
    for turns in run_bursts([subject], seconds, context.stop):  # noqa: B007
        pass
    if turns is None:
        return None
    return rate_reading(context.check.test, subject, turns, **facts)
