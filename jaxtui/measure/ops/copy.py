"""The copy of the STREAM benchmark."""

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
    wide,
)


def jax_form(x: jax.Array) -> jax.Array:
    """One primitive; a function that returned ``x`` itself would copy nothing."""
    return jnp.copy(x)


def numpy_form(x: Array) -> Array:
    """A new array with the same elements."""
    return np.copy(x)


def reference(rows: Rows, x: Array) -> Array:
    """The same elements, which nothing may change."""
    return wide(x[rows])


OP = Op(
    name="copy",
    summary="STREAM's copy: every element read once and written once.",
    size_means="number of elements",
    dtypes=NUMBERS,
    minimum=1,
    default=1 << 22,
    maximum=1 << 28,
    arguments=lambda size: (Normal((size,)),),
    result_shape=one_dimensional,
    flops_formula="none, data are only moved",
    flops=lambda _size, _dtype: None,
    bytes_formula="2 n elements",
    bytes=streams(2),
    numpy=numpy_form,
    jax=jax_form,
    tolerance=EXACT,
    reference=reference,
)
