"""The sum of a vector."""

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
    per_element,
    streams,
)

TOLERANCE = {
    "float64": 1e-9,
    "float32": 2e-2,
    "float16": 2e-2,
    "bfloat16": 5e-2,
    "float8_e4m3fn": 2e-2,
    "complex64": 2e-2,
    "int32": 0.0,
    "int8": 0.0,
}
"""Wide, because positive and negative terms cancel: the sum of n normal numbers is
about √n, and by chance much nearer to zero."""


def jax_form(x: jax.Array) -> jax.Array:
    """``jnp.sum``, one kernel: half precision is accumulated in float32.

    Integers give int32, and float8, whose largest number is 448, gives float32.
    """
    wider = jnp.float32 if x.dtype.itemsize == 1 else x.dtype
    integers = jnp.issubdtype(x.dtype, jnp.integer)
    return jnp.sum(x, dtype=jnp.int32 if integers else wider)


def numpy_form(x: Array) -> Array:
    """``np.sum``, which adds pairwise in the dtype itself."""
    integers = np.issubdtype(x.dtype, np.integer)
    return np.asarray(np.sum(x, dtype=np.int32 if integers else x.dtype))


def tensorflow_form(tnp: Any, x: Any) -> Any:
    """``tnp.sum``, which adds integers up in int64."""
    return tnp.sum(x)


def reference(rows: Rows, x: Array) -> Array:
    """The sum in float64; there are no rows to choose from."""
    total = np.complex128(0) if np.iscomplexobj(x) else np.float64(0)
    for start in range(0, x.size, 1 << 22):
        total += np.sum(x[start : start + (1 << 22)].astype(total.dtype))
    return np.asarray(total)


OP = Op(
    name="sum",
    summary="The sum of all elements.",
    size_means="number of elements",
    dtypes=NUMBERS,
    minimum=1,
    default=1 << 22,
    maximum=1 << 29,
    arguments=lambda size: (Normal((size,)),),
    result_shape=lambda _: (),
    result_dtype=accumulated,
    flops_formula="n (complex: 2 n)",
    flops=per_element(1, 2),
    bytes_formula="n elements",
    bytes=streams(1),
    numpy=numpy_form,
    jax=jax_form,
    tensorflow=tensorflow_form,
    tolerance=TOLERANCE,
    reference=reference,
)
