"""Who may reach the compute roof of a dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import jax
import msgspec
import numpy as np

from jaxtui.measure import ops
from jaxtui.measure.check import expectations, products, work
from jaxtui.measure.check.base import NO_MEMORY, Setting, TroubleError, explained
from jaxtui.measure.roofs import chains
from jaxtui.measure.roofs.contest import Candidate, Ready
from jaxtui.measure.turns import Turns
from jaxtui.measure.workload import Workload
from jaxtui.model import Case, Expected
from jaxtui.model.base import HOST
from jaxtui.model.roofs import RoofDtype

BLAS = ("float32", "float64", "complex64")
"""What NumPy multiplies through BLAS."""

TRIAL_SIZES = {"cpu": 256}
TRIAL_SIZE_ELSEWHERE = 1024

TRIAL_SECONDS = 0.02

LONGEST_CALL = 0.25
"""Of a product whose speed nobody publishes: rounds are to be short."""


def published(of: RoofDtype, setting: Setting) -> Expected | None:
    """The dense peak that somebody published."""
    return expectations.product_peak(setting.device, of.dtype, of.precision)


def candidates(
    of: RoofDtype, setting: Setting, device: jax.Device, seed: int
) -> Sequence[Candidate]:
    """XLA's product; NumPy's on a CPU; a chain where neither is sure to be fast."""
    if of.dtype not in ops.get("matmul").dtypes:
        return [partial(_refused, of)]
    found: list[Candidate] = [partial(_product, of, setting, device, seed)]
    on_cpu = device.platform == "cpu"
    if on_cpu and of.dtype in BLAS:
        found.append(partial(_numpy_product, of, setting, device, seed))
    elif published(of, setting) is None:
        found.append(partial(_chain, of, device, seed))
    return found


def _refused(of: RoofDtype) -> Ready:
    raise TroubleError(of.dtype, f"There are no products in {of.dtype}.")


def _product(of: RoofDtype, setting: Setting, device: jax.Device, seed: int) -> Ready:
    """The largest product that fits and is not too slow."""
    largest = _case(of, setting)
    sizes = list(_sizes(largest, device.platform))
    if published(of, setting) is None:
        sizes = _affordable(sizes, largest, device, seed)
    for size in sizes:
        case = msgspec.structs.replace(largest, size=size)
        what = f"{products.label(case, device.platform)} jit"
        try:
            turns = work.turns_of(work.prepared(case, what, device, seed))
            with explained(case, what, "warm-up"):
                turns.warm_up()
        except TroubleError as trouble:
            if NO_MEMORY.search(trouble.detail) and size != sizes[-1]:
                continue
            raise
        return Ready(what, _flops(case), turns)
    raise AssertionError("there is a size")


def _case(of: RoofDtype, setting: Setting) -> Case:
    kind = products.Kind(of.dtype, of.precision)
    return products.case(kind, setting)


def _flops(case: Case) -> float:
    flops = ops.get(case.op).flops(case.size, case.dtype)
    assert flops is not None, "products have a count"
    return flops


def _sizes(largest: Case, platform: str) -> Iterator[int]:
    """The size, and halves of it for where it is too much; the smallest is a trial's.

    Multiples of every tile, as the size is.
    """
    least = min(largest.size, TRIAL_SIZES.get(platform, TRIAL_SIZE_ELSEWHERE))
    size = largest.size
    while size > least:
        yield size
        size //= 2
    yield least


def _affordable(
    sizes: list[int], case: Case, device: jax.Device, seed: int
) -> list[int]:
    """Those whose calls are short enough, by how long the smallest one's are."""
    small = msgspec.structs.replace(case, size=sizes[-1])
    what = products.label(small, device.platform)
    prepared = work.prepared(small, what, device, seed)
    turns = work.turns_of(prepared, TRIAL_SECONDS)
    with explained(small, what, "warm-up"):
        turns.warm_up()
    once = turns.call_seconds
    fitting = [n for n in sizes if once * (n / small.size) ** 3 <= LONGEST_CALL]
    return fitting or sizes[-1:]


def _numpy_product(
    of: RoofDtype, setting: Setting, device: jax.Device, seed: int
) -> Ready:
    case = _case(of, setting)
    hosted = msgspec.structs.replace(case, device=HOST, mode="numpy")
    what = f"NumPy's dot {case.size} {case.dtype}"
    with explained(hosted, what, "inputs"):
        made = work.arguments(case, device, seed)
        left, right = (np.array(one) for one in made)
        into = np.empty_like(left)
    call = partial(np.dot, out=into)
    hosting = Workload(case=hosted, call=call, args=(left, right), on_return=True)
    return Ready(what, _flops(case), Turns(hosting))


def _chain(of: RoofDtype, device: jax.Device, seed: int) -> Ready:
    case = chains.case_of(of.dtype, device)
    what = f"a chain of {chains.LINKS} multiply-adds in {of.dtype} jit"
    prepared = chains.prepared(case, what, device, seed)
    return Ready(what, chains.work_of(case), work.turns_of(prepared))
