"""The running sums of a vector."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import (
    NUMBERS,
    Op,
    Rows,
    accumulated,
    one_dimensional,
    per_element,
    streams,
    uncounted,
    wide,
)
from jaxtui.model import ITEMSIZE

TOLERANCE = {
    "float64": 1e-11,
    "float32": 1e-3,
    "float16": 3e-2,
    "bfloat16": 2e-1,
    "float8_e4m3fn": 1e-3,
    "complex64": 1e-3,
    "int32": 0.0,
    "int8": 0.0,
}
"""Of the largest sum. One addition after the other, as NumPy does it, rounds n times:
at four million its float16 is off by 24 % (measured), where XLA's tree is off by 0.3 %.
"""

BLOCK = 1 << 22
"""Elements of the reference that are wide at the same time."""


def jax_form(x: jax.Array) -> jax.Array:
    """``jnp.cumsum``; integers give int32, and float8 gives float32."""
    wider = jnp.float32 if x.dtype.itemsize == 1 else x.dtype
    integers = jnp.issubdtype(x.dtype, jnp.integer)
    return jnp.cumsum(x, dtype=jnp.int32 if integers else wider)


def numpy_form(x: Array) -> Array:
    """``np.cumsum``, which adds one element after the other in the dtype itself."""
    integers = np.issubdtype(x.dtype, np.integer)
    return np.cumsum(x, dtype=np.int32 if integers else x.dtype)


def tensorflow_form(tnp: Any, x: Any) -> Any:
    """``tnp.cumsum``."""
    return tnp.cumsum(x)


def reference(rows: Rows, x: Array) -> Array:
    """The chosen sums in float64, block by block."""
    chosen = np.arange(x.size)[rows] if isinstance(rows, slice) else rows
    result = np.empty(len(chosen), wide(x[:1]).dtype)
    total = result.dtype.type(0)
    for start in range(0, x.size, BLOCK):
        sums = total + np.cumsum(wide(x[start : start + BLOCK]))
        inside = (chosen >= start) & (chosen < start + len(sums))
        result[inside] = sums[chosen[inside] - start]
        total = sums[-1]
    return result


def traffic(size: int, dtype: str) -> float:
    """One vector read, one written."""
    return streams(1)(size, dtype) + size * ITEMSIZE[accumulated(dtype)]


OP = Op(
    name="cumsum",
    summary="The running sums: each element plus all before it.",
    size_means="number of elements",
    dtypes=NUMBERS,
    minimum=1,
    default=1 << 20,
    maximum=1 << 28,
    arguments=lambda size: (Normal((size,)),),
    result_shape=one_dimensional,
    result_dtype=accumulated,
    flops_formula="n (complex: 2 n), as if added one after the other",
    flops=per_element(1, 2),
    bytes_formula="2 n elements (results: int32 of integers, float32 of float8)",
    bytes=traffic,
    # A tree has several times as many additions, and how many is XLA's choice.
    xla_flops=uncounted,
    numpy=numpy_form,
    jax=jax_form,
    tensorflow=tensorflow_form,
    tolerance=TOLERANCE,
    reference=reference,
)
