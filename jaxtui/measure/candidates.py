"""What may reach a roof: streams for the bandwidth, products and chains for compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from jaxtui import format as fmt
from jaxtui.machine import messages
from jaxtui.measure import ops, peaks
from jaxtui.measure.check import bandwidth, compute, work
from jaxtui.measure.check.base import Setting, TroubleError, translate_errors
from jaxtui.measure.devices import name
from jaxtui.measure.ops.arguments import Array
from jaxtui.measure.programs import array_shape
from jaxtui.measure.turns import Turns
from jaxtui.measure.workload import Workload
from jaxtui.model import ITEMSIZE, Case, Expected
from jaxtui.model.base import HOST
from jaxtui.model.roofs import RoofDtype

LEAST_ELEMENTS = 2**18
"""Of an array: with less there is nothing to stream."""

BLAS = ("float32", "float64", "complex64")
"""What NumPy multiplies through BLAS."""

TRIAL_SIZES = {"cpu": 256}
TRIAL_SIZE_ELSEWHERE = 1024

TRIAL_SECONDS = 0.02

LONGEST_CALL = 0.25
"""Of a product without a published speed: rounds are to be short."""

LINKS = 32
"""Multiply-adds of each element: 64 operations for two moves of it."""

ELEMENTS = {"cpu": 2**18}
"""Of the array: in a CPU's cache, and enough for all of its cores."""

ELEMENTS_ELSEWHERE = 2**24


@dataclass(frozen=True)
class Contestant:
    """A candidate that only has to be given turns."""

    what: str
    """What it is, as the roof will name it."""
    work: float
    """Operations or bytes of one call."""
    turns: Turns


Candidate = Callable[[], Contestant]
"""Compiles, allocates and warms up.

Raises:
    TroubleError: It cannot be had, in plain words.
"""


def published_peak(of: RoofDtype | None, setting: Setting) -> Expected | None:
    if of is None:
        return peaks.bandwidth_peak(setting.device)
    return peaks.product_peak(setting.device, of.dtype, of.precision)


def of_bandwidth(
    setting: Setting, device: jax.Device, seed: int, cache: int | None
) -> Sequence[Candidate]:
    """STREAM's copy and triad into an array that is there; on a CPU NumPy's copy, too,
    by one thread and by as many as there are cores.
    """
    arrays = _Arrays(bandwidth.sizes(setting, "quick", cache)[0], device, seed)
    found: list[Candidate] = [partial(arrays.stream, op) for op in bandwidth.OPS]
    if device.platform == "cpu":
        # One core alone may or may not keep the memory busy.
        threads = {1, setting.cores}
        found += [partial(arrays.copy, count) for count in sorted(threads)]
    return [partial(arrays.as_large_as_possible, make) for make in found]


class _Arrays:
    """What all of them stream, as large as there is room for."""

    def __init__(self, size: int, device: jax.Device, seed: int) -> None:
        self._size, self._device, self._seed = size, device, seed
        self._streams: bandwidth.Streams | None = None
        self._hosted: tuple[Array, Array] | None = None

    def stream(self, op: str) -> Contestant:
        if self._streams is None:
            self._streams = bandwidth.Streams(self._size, self._device, self._seed)
        prepared = self._streams.prepare(op)
        turns = work.turns_of(prepared)
        moved = ops.get(op).bytes(self._size, bandwidth.DTYPE)
        return Contestant(f"{op} of {self._array_text} jit", moved, turns)

    def copy(self, threads: int) -> Contestant:
        """NumPy's, by so many threads."""
        by = "" if threads == 1 else f", {threads} threads"
        what = f"NumPy's copy of {self._array_text}{by}"
        size, dtype = self._size, bandwidth.DTYPE
        case = Case(op="copy", size=size, dtype=dtype, device=HOST, mode="numpy")
        with translate_errors(case, what, "inputs"):
            # Written to, because pages that were never written to are all the same one.
            if self._hosted is None:
                self._hosted = np.ones(size, dtype), np.ones(size, dtype)
        call = _copying(*self._hosted, threads)
        turns = Turns(Workload(case=case, call=call, on_return=True))
        return Contestant(what, ops.get("copy").bytes(size, dtype), turns)

    @property
    def _array_text(self) -> str:
        return fmt.bytes_text(self._size * ITEMSIZE[bandwidth.DTYPE])

    def as_large_as_possible(self, make: Candidate) -> Contestant:
        try:
            return make()
        except TroubleError as trouble:
            smaller = self._size // 2
            if messages.kind_of(trouble.detail) != "memory" or smaller < LEAST_ELEMENTS:
                raise
        self._size, self._streams, self._hosted = smaller, None, None
        return self.as_large_as_possible(make)


def _copying(written: Array, read: Array, threads: int) -> Callable[[], object]:
    """A call that copies an array in as many parts; NumPy lets go of the GIL."""
    if threads == 1:
        return lambda: np.copyto(written, read)
    pool = ThreadPoolExecutor(threads)
    parts = np.array_split(written, threads), np.array_split(read, threads)
    return lambda: list(pool.map(np.copyto, *parts))


def of_compute(
    of: RoofDtype, setting: Setting, device: jax.Device, seed: int
) -> Sequence[Candidate]:
    """XLA's product; NumPy's on a CPU; a chain where neither is sure to be fast."""
    found: list[Candidate] = [partial(_product, of, setting, device, seed)]
    if device.platform == "cpu" and of.dtype in BLAS:
        found.append(partial(_numpy_product, of, setting, device, seed))
    elif of.dtype in ops.get("matmul").dtypes and published_peak(of, setting) is None:
        found.append(partial(_chain, of, device, seed))
    return found


def _product(
    of: RoofDtype, setting: Setting, device: jax.Device, seed: int
) -> Contestant:
    """The largest product that fits and is not too slow."""
    if of.dtype not in ops.get("matmul").dtypes:
        raise TroubleError(of.dtype, f"There are no products in {of.dtype}.")
    largest = compute.case(of, setting)
    # Multiples of every tile, as the size is; the smallest is a trial's.
    trial = TRIAL_SIZES.get(device.platform, TRIAL_SIZE_ELSEWHERE)
    least, sizes = min(largest.size, trial), [largest.size]
    while sizes[-1] > least:
        sizes.append(max(sizes[-1] // 2, least))
    if published_peak(of, setting) is None:
        sizes = _affordable(sizes, largest, device, seed)
    for size in sizes:
        case = msgspec.structs.replace(largest, size=size)
        what = f"{compute.label(case, device.platform)} jit"
        try:
            turns = work.turns_of(work.prepare(case, what, device, seed))
            with translate_errors(case, what, "warm-up"):
                turns.warm_up()
        except TroubleError as trouble:
            if messages.kind_of(trouble.detail) == "memory" and size != sizes[-1]:
                continue
            raise
        return Contestant(what, _flops(case), turns)
    raise AssertionError("there is a size")


def _flops(case: Case) -> float:
    flops = ops.get(case.op).flops(case.size, case.dtype)
    assert flops is not None, "products have a count"
    return flops


def _affordable(
    sizes: list[int], case: Case, device: jax.Device, seed: int
) -> list[int]:
    """Those whose calls are short enough, by how long the smallest one's are."""
    small = msgspec.structs.replace(case, size=sizes[-1])
    what = compute.label(small, device.platform)
    prepared = work.prepare(small, what, device, seed)
    turns = work.turns_of(prepared, TRIAL_SECONDS)
    with translate_errors(small, what, "warm-up"):
        turns.warm_up()
    once = turns.call_seconds
    fitting = [n for n in sizes if once * (n / small.size) ** 3 <= LONGEST_CALL]
    return fitting or sizes[-1:]


def _numpy_product(
    of: RoofDtype, setting: Setting, device: jax.Device, seed: int
) -> Contestant:
    case = compute.case(of, setting)
    hosted = msgspec.structs.replace(case, device=HOST, mode="numpy")
    what = f"NumPy's dot {case.size} {case.dtype}"
    with translate_errors(hosted, what, "inputs"):
        made = work.arguments(case, device, seed)
        left, right = (np.array(one) for one in made)
        into = np.empty_like(left)
    call = partial(np.dot, out=into)
    hosting = Workload(case=hosted, call=call, args=(left, right), on_return=True)
    return Contestant(what, _flops(case), Turns(hosting))


def _chain(of: RoofDtype, device: jax.Device, seed: int) -> Contestant:
    """Multiply-adds: what a device computes where no matrix unit helps it.

    For a dtype without hardware for products, or a library behind them, a product says
    how well it was written and not how fast the device is: XLA multiplies int32
    matrices on a CPU with a plain loop, slower than it adds them.
    """
    size = ELEMENTS.get(device.platform, ELEMENTS_ELSEWHERE)
    case = Case(
        op="multiply-add", size=size, dtype=of.dtype, device=name(device), mode="jit"
    )
    dtype = jnp.dtype(of.dtype)
    what = f"a chain of {LINKS} multiply-adds in {of.dtype} jit"
    with translate_errors(case, what, "compile"), work.scope(case, device):
        dims: tuple[tuple[int, ...], ...] = (size,), (), ()
        shapes = [array_shape(one, of.dtype, device) for one in dims]
        # Donated: a fresh result would cost a CPU the zeroing of its pages.
        call = jax.jit(_multiply_add, donate_argnums=0).lower(*shapes).compile()
    with translate_errors(case, what, "inputs"), work.scope(case, device):
        (last,) = work.arguments(msgspec.structs.replace(case, op="copy"), device, seed)
        # Floats stay between -1 and 1, so that none becomes subnormal; integers wrap.
        factors = (3, 1) if jnp.issubdtype(dtype, jnp.integer) else (0.5, 0.25)
        scalars = tuple(
            jax.device_put(jnp.asarray(factor, dtype), device) for factor in factors
        )

    def chain(*scalars: Any) -> jax.Array:
        nonlocal last
        result: jax.Array = call(last, *scalars)
        last = result
        return result

    prepared = work.subject(what, device, case, chain, scalars)
    # Complex operations are counted in real ones.
    per_link = 8 if of.dtype.startswith("complex") else 2
    whole = float(per_link * LINKS * size)
    return Contestant(what, whole, work.turns_of(prepared))


def _multiply_add(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    for _ in range(LINKS):
        x = x * a + b
    return x
