"""Reading at random places."""

from __future__ import annotations

import jax
import numpy as np

from jaxtui.measure.ops.arguments import Array, Indices, Normal
from jaxtui.measure.ops.base import EXACT, NUMBERS, Op, Rows, one_dimensional, streams


def jax_form(x: jax.Array, index: jax.Array) -> jax.Array:
    """``x[index]`` as people write it, with JAX's handling of what is out of bounds."""
    result: jax.Array = x[index]
    return result


def numpy_form(x: Array, index: Array) -> Array:
    """``x[index]``."""
    return np.asarray(x[index])


def reference(rows: Rows, x: Array, index: Array) -> Array:
    """The same elements, which nothing may change."""
    return np.asarray(x[index[rows]])


OP = Op(
    name="gather",
    summary="x[index] with as many random indices as there are elements.",
    size_means="number of elements",
    dtypes=NUMBERS,
    minimum=1,
    default=1 << 20,
    maximum=1 << 28,
    arguments=lambda size: (Normal((size,)), Indices((size,), bound=size)),
    result_shape=one_dimensional,
    flops_formula="none, data are only moved",
    flops=lambda _size, _dtype: None,
    bytes_formula="2 n elements and n indices of 4 bytes",
    bytes=lambda size, dtype: streams(2)(size, dtype) + 4.0 * size,
    numpy=numpy_form,
    jax=jax_form,
    tolerance=EXACT,
    reference=reference,
)
