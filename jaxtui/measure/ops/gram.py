"""A square matrix times its own transpose."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import (
    NUMBERS,
    PRODUCT,
    Op,
    Rows,
    accumulated,
    square,
    streams,
    wide,
)
from jaxtui.measure.ops.matmul import product_flops
from jaxtui.model import ITEMSIZE


def jax_form(x: jax.Array, precision: lax.PrecisionLike = None) -> jax.Array:
    """A transpose and a ``dot``; integers give int32, and float8 gives float32."""
    wider = jnp.float32 if x.dtype.itemsize == 1 else None
    result = jnp.int32 if jnp.issubdtype(x.dtype, jnp.integer) else wider
    transposed = lax.transpose(x, (1, 0))
    return lax.dot(x, transposed, precision=precision, preferred_element_type=result)


def numpy_form(x: Array) -> Array:
    """``x @ x.T``: NumPy notices the symmetry and lets BLAS do half of the flops."""
    if np.issubdtype(x.dtype, np.integer):
        return np.asarray(np.matmul(x, x.T, dtype=np.int32))
    return np.asarray(x @ x.T)


def reference(rows: Rows, x: Array) -> Array:
    """Rows of the product, in column blocks so that ``x`` is never wide as a whole."""
    left = wide(x[rows])
    blocks = [
        left @ wide(x[start : start + 1024]).T for start in range(0, x.shape[0], 1024)
    ]
    return np.concatenate(blocks, axis=1)


def traffic(size: int, dtype: str) -> float:
    """One matrix read, one written."""
    read = streams(1)(size * size, dtype)
    return read + size * size * ITEMSIZE[accumulated(dtype)]


OP = Op(
    name="gram",
    summary="The product x·xᵀ of an n×n matrix and its own transpose.",
    size_means="n of n×n",
    dtypes=NUMBERS,
    minimum=1,
    default=1024,
    maximum=32768,
    arguments=lambda size: (Normal(square(size)),),
    result_shape=square,
    result_dtype=accumulated,
    flops_formula="2 n³ (complex: 8 n³), not using the symmetry",
    flops=product_flops,
    bytes_formula="2 n² elements (results: int32 of integers, float32 of float8)",
    bytes=traffic,
    numpy=numpy_form,
    jax=jax_form,
    takes_precision=True,
    symmetric=True,
    tolerance=PRODUCT,
    reference=reference,
)
