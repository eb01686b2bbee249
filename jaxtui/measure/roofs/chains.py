"""Chains of multiply-adds: what a device computes where no matrix unit helps it.

For a dtype without hardware for products, or a library behind them, a product says how
well it was written and not how fast the device is: XLA multiplies int32 matrices on a
CPU with a plain loop, slower than it adds them.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import msgspec
from jax.sharding import SingleDeviceSharding

from jaxtui.measure.check import work
from jaxtui.measure.check.base import explained, name
from jaxtui.measure.check.work import Prepared, callable_on
from jaxtui.measure.clocks import Call
from jaxtui.model import Case

LINKS = 32
"""Multiply-adds of each element: 64 operations for two moves of it."""

ELEMENTS = {"cpu": 2**18}
"""Of the array: in a CPU's cache, and enough for all of its cores."""

ELEMENTS_ELSEWHERE = 2**24


def work_of(case: Case) -> float:
    """Operations of one call; complex ones counted in real operations."""
    per_link = 8 if case.dtype.startswith("complex") else 2
    return float(per_link * LINKS * case.size)


def case_of(dtype: str, device: jax.Device) -> Case:
    """What a chain is called; it is no op of the catalogue."""
    size = ELEMENTS.get(device.platform, ELEMENTS_ELSEWHERE)
    return Case(
        op="multiply-add", size=size, dtype=dtype, device=name(device), mode="jit"
    )


def prepared(case: Case, what: str, device: jax.Device, seed: int) -> Prepared:
    """The chain compiled, with its array on the device.

    Raises:
        TroubleError: It cannot be compiled, or there is no room.
    """
    with explained(case, what, "compile"), work.scope(case, device):
        place = SingleDeviceSharding(device)
        dtype = jnp.dtype(case.dtype)
        shapes = [
            jax.ShapeDtypeStruct(dims, dtype, sharding=place)
            for dims in ((case.size,), (), ())
        ]
        # Donated: a fresh result would cost a CPU the zeroing of its pages.
        call = jax.jit(_chain, donate_argnums=0).lower(*shapes).compile()
    with explained(case, what, "inputs"), work.scope(case, device):
        (array,) = work.arguments(
            msgspec.structs.replace(case, op="copy"), device, seed
        )
        # Floats stay between -1 and 1, so that none becomes subnormal; integers wrap.
        factors = (3, 1) if jnp.issubdtype(dtype, jnp.integer) else (0.5, 0.25)
        scalars = tuple(
            jax.device_put(jnp.asarray(factor, dtype), device) for factor in factors
        )
    made = callable_on(device, case, _again(call, array), scalars)
    return Prepared(what, made)


def _chain(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    for _ in range(LINKS):
        x = x * a + b
    return x


def _again(call: Any, array: jax.Array) -> Call:
    """Calls whose input is the last result."""
    last = array

    def chained(*scalars: Any) -> jax.Array:
        nonlocal last
        result: jax.Array = call(last, *scalars)
        last = result
        return result

    return chained
