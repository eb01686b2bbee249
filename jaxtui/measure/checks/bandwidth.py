"""STREAM's copy and triad over arrays that no cache holds: bytes per second."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter
from typing import Any

import jax

from jaxtui import format as fmt
from jaxtui.measure import ops
from jaxtui.measure.checks import expectations, rates, work
from jaxtui.measure.checks.attempts import attempt, explained
from jaxtui.measure.checks.base import Context, by_device, name, shares_silicon
from jaxtui.measure.checks.caches import last_cache_bytes
from jaxtui.measure.checks.rates import Prepared, callable_on
from jaxtui.measure.checks.setting import Setting, setting
from jaxtui.measure.clocks import Call
from jaxtui.model import ITEMSIZE, Case, CheckLevel, Reading, RunEvent

DTYPE = "float32"
OPS = ("copy", "triad")

UNKNOWN_CACHE_BYTES = 64 * 2**20
"""Taken for the last cache of a host that does not tell."""

CACHES = 4
"""How many times the last cache an array is at least, as STREAM demands."""

ACCELERATOR_BYTES = 2**30
"""Of an array on an accelerator: four times the largest of their last caches (256 MB on
AMD's Instinct), and a millisecond of traffic at least."""

LARGEST_BYTES = 2**30
"""Of an array on a host whose caches are larger than a fair part of the memory."""

MEMORY_SHARE = 0.125
"""Of the free memory, for one array of three."""

SMALLEST_BYTES = 2**20
"""Of an array, however little memory is free."""

FACTORS: dict[CheckLevel, tuple[int, ...]] = {"quick": (1,), "full": (1, 2, 4)}
"""Sizes, as multiples of the smallest that is large enough."""


def test(context: Context) -> Iterator[RunEvent]:
    """Both ops on all devices at once; devices of one host share one memory."""
    first = context.devices[0]
    shared = shares_silicon(context.devices)

    def job(device: jax.Device, seconds: float) -> Iterator[Reading]:
        if shared and device != first:
            yield Reading(
                test=context.check.test,
                device=name(device),
                what="bandwidth",
                skipped=f"{name(device)} has the same memory as {name(first)}.",
            )
            return
        whole = context.check.budget_seconds if shared else seconds
        yield from _on_device(context, device, whole)

    yield from by_device(context, "moving large arrays", job)


def sizes(setting: Setting, level: CheckLevel, cache: int | None) -> tuple[int, ...]:
    """The numbers of elements to stream, ascending; powers of two.

    Args:
        setting: The device and its free memory.
        level: How many of them.
        cache: The last cache of the host, in bytes, which only matters on a CPU.
    """
    wanted = ACCELERATOR_BYTES
    if setting.device.platform == "cpu":
        wanted = min(CACHES * (cache or UNKNOWN_CACHE_BYTES), LARGEST_BYTES)
    counts = [_next_power(wanted) * factor for factor in FACTORS[level]]
    if setting.free_bytes is not None:
        most = max(int(MEMORY_SHARE * setting.free_bytes), SMALLEST_BYTES)
        counts = [min(count, most) for count in counts]
    return tuple(sorted({_power_of_two(count) for count in counts}))


def _power_of_two(count: int) -> int:
    """The largest power of two of elements within so many bytes."""
    return 1 << ((count // ITEMSIZE[DTYPE]).bit_length() - 1)


def _next_power(count: int) -> int:
    return 1 << (count - 1).bit_length()


class Streams:
    """The three arrays of one size on a device, which both ops share."""

    def __init__(self, size: int, device: jax.Device, seed: int) -> None:
        """Make none of them yet."""
        self._size, self._device, self._seed = size, device, seed
        self._read: tuple[jax.Array, ...] = ()
        self._written: jax.Array | None = None

    def prepared(self, op: str) -> Prepared:
        """An op that writes each result where the last one was, as STREAM does.

        Raises:
            TroubleError: It cannot be compiled, or there is no room for the arrays.
        """
        case = self._case(op)
        what = f"{op} {case.size} {case.dtype}"
        with explained(case, what, "compile"):
            call = work.compiled(case, self._device, into=True)
        with explained(case, what, "inputs"):
            self._make(case)
        wanted = len(ops.get(op).arguments(case.size))
        args = self._read[:wanted]
        return Prepared(
            what, callable_on(self._device, case, self._rewriting(call), args)
        )

    def _case(self, op: str) -> Case:
        device = name(self._device)
        return Case(op=op, size=self._size, dtype=DTYPE, device=device, mode="jit")

    def _make(self, case: Case) -> None:
        if not self._read:
            both = self._case("triad")
            self._read = work.arguments(both, self._device, self._seed)
        if self._written is None or self._written.is_deleted():
            self._written = work.result_like(case, self._device)

    def _rewriting(self, call: Call) -> Call:
        def rewriting(*args: Any) -> jax.Array:
            written: jax.Array = call(*args, self._written)
            self._written = written
            return written

        return rewriting


def _on_device(
    context: Context, device: jax.Device, seconds: float
) -> Iterator[Reading]:
    chosen = setting(context, device)
    counts = sizes(chosen, context.check.level, last_cache_bytes())
    share = seconds / len(counts)
    for size in counts:
        streams = Streams(size, device, context.check.seed)
        end = perf_counter() + share
        for left, op in zip((2, 1), OPS, strict=True):
            if context.stop():
                return
            # Making the arrays takes as long as streaming them a few times, and
            # compiling is not to take the rounds away.
            rest = max((end - perf_counter()) / left, share / 4)
            measure = partial(_measured, context, chosen, streams, op, rest)
            yield from attempt(context, device, measure)


def _measured(
    context: Context, chosen: Setting, streams: Streams, op: str, seconds: float
) -> Reading | None:
    begin = perf_counter()
    prepared = streams.prepared(op)
    left = max(seconds - (perf_counter() - begin), seconds / 2)
    rate = rates.throughput(prepared, left, context.stop)
    if rate is None:
        return None
    case = prepared.workload.case
    moved = ops.get(op).bytes(case.size, case.dtype)
    array = case.size * ITEMSIZE[case.dtype]
    return Reading(
        test=context.check.test,
        device=chosen.device.name,
        what=prepared.what,
        unit="bytes/s",
        measured=moved / rate.seconds.median,
        ci_low=moved / rate.seconds.high,
        ci_high=moved / rate.seconds.low,
        confidence=rate.seconds.confidence,
        expected=expectations.bandwidth_peak(chosen.device),
        disturbed=rate.disturbed,
        said=f"Arrays of {fmt.bytes_text(array)}, {rate.counted}.",
    )
