"""Sorting a vector."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import (
    EXACT,
    NUMBERS,
    Op,
    Rows,
    one_dimensional,
    streams,
    uncounted,
)


def jax_form(x: jax.Array) -> jax.Array:
    """``jnp.sort``, ascending; complex numbers by their real parts first."""
    return jnp.sort(x)


def numpy_form(x: Array) -> Array:
    """``np.sort``, which leaves its input alone."""
    return np.sort(x)


def reference(rows: Rows, x: Array) -> Array:
    """The same elements in order; narrow dtypes are sorted in float32, exactly so."""
    return np.asarray(np.sort(x.astype(np.float32) if x.itemsize < 4 else x)[rows])


OP = Op(
    name="sort",
    summary="All elements in ascending order.",
    size_means="number of elements",
    dtypes=NUMBERS,
    minimum=1,
    default=1 << 18,
    maximum=1 << 26,
    arguments=lambda size: (Normal((size,)),),
    result_shape=one_dimensional,
    flops_formula="not counted; about n log2 n comparisons",
    flops=lambda _size, _dtype: None,
    bytes_formula="2 n elements",
    bytes=streams(2),
    xla_flops=uncounted,
    # XLA's sort on a CPU: 0.25 µs per float32, measured at a million of them.
    effort=500.0,
    numpy=numpy_form,
    jax=jax_form,
    tolerance=EXACT,
    reference=reference,
)
