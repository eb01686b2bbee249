"""The product of two different square matrices."""

from __future__ import annotations

from typing import Any

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
    is_complex,
    square,
    streams,
    wide,
)
from jaxtui.model import ITEMSIZE


def jax_form(
    a: jax.Array, b: jax.Array, precision: lax.PrecisionLike = None
) -> jax.Array:
    """One ``dot``; integers give int32, and float8 gives float32."""
    wider = jnp.float32 if a.dtype.itemsize == 1 else None
    result = jnp.int32 if jnp.issubdtype(a.dtype, jnp.integer) else wider
    return lax.dot(a, b, precision=precision, preferred_element_type=result)


def numpy_form(a: Array, b: Array) -> Array:
    """``a @ b``; integers, and float16, do not go through BLAS."""
    if np.issubdtype(a.dtype, np.integer):
        return np.asarray(np.matmul(a, b, dtype=np.int32))
    return np.asarray(a @ b)


def tensorflow_form(tnp: Any, a: Any, b: Any) -> Any:
    """One ``matmul``; TensorFlow has none for int8."""
    return tnp.matmul(a, b)


def reference(rows: Rows, a: Array, b: Array) -> Array:
    """Rows of the product, in column blocks so that ``b`` is never wide as a whole."""
    left = wide(a[rows])
    blocks = [
        left @ wide(b[:, start : start + 1024]) for start in range(0, b.shape[1], 1024)
    ]
    return np.concatenate(blocks, axis=1)


def product_flops(size: int, dtype: str) -> float:
    """2 n³, from n² inner products of n multiplications and additions; 8 n³ complex."""
    return (8.0 if is_complex(dtype) else 2.0) * size**3


def traffic(size: int, dtype: str) -> float:
    """Two matrices read, one written."""
    read = streams(2)(size * size, dtype)
    return read + size * size * ITEMSIZE[accumulated(dtype)]


OP = Op(
    name="matmul",
    summary="The product a·b of two different n×n matrices.",
    size_means="n of n×n",
    dtypes=NUMBERS,
    minimum=1,
    default=1024,
    maximum=32768,
    arguments=lambda size: (Normal(square(size)), Normal(square(size))),
    result_shape=square,
    result_dtype=accumulated,
    flops_formula="2 n³ (complex: 8 n³)",
    flops=product_flops,
    bytes_formula="3 n² elements (results: int32 of integers, float32 of float8)",
    bytes=traffic,
    numpy=numpy_form,
    jax=jax_form,
    tensorflow=tensorflow_form,
    takes_precision=True,
    tolerance=PRODUCT,
    reference=reference,
)
