"""The Cholesky factor of a positive definite matrix."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxtui.measure.ops.arguments import Array, PositiveDefinite
from jaxtui.measure.ops.base import (
    Op,
    Rows,
    is_complex,
    square,
    streams,
    uncounted,
    wide,
)

TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "complex64": 1e-5}
"""Of the diagonal of the matrix, some 6 √n times its other elements."""

BLOCK = 1024
"""Rows of a factor that are wide at the same time."""


def jax_form(x: jax.Array) -> jax.Array:
    """``jnp.linalg.cholesky``, lower; it averages ``x`` and its transpose first.

    On a CPU it is LAPACK's ``potrf``, on a GPU that of cuSOLVER, on a TPU XLA's own.
    """
    result: jax.Array = jnp.linalg.cholesky(x)
    return result


def numpy_form(x: Array) -> Array:
    """``np.linalg.cholesky``, lower: LAPACK's ``potrf``."""
    return np.asarray(np.linalg.cholesky(x))


def checked(rows: Rows, factor: Array) -> Array:
    """Rows of the product L·Lᴴ; what is above the diagonal is not taken for L."""
    n = len(factor)
    left = wide(factor[rows])
    left[np.arange(n) > np.arange(n)[rows][:, np.newaxis]] = 0
    blocks = []
    for start in range(0, n, BLOCK):
        block = np.tril(wide(factor[start : start + BLOCK]), k=start)
        blocks.append(left @ block.conj().T)
    return np.concatenate(blocks, axis=1)


def reference(rows: Rows, x: Array) -> Array:
    """Rows of the matrix itself: its factor has no rows that could be had alone."""
    return wide(x[rows])


def flops(size: int, dtype: str) -> float:
    """n³/3 to leading order (LAPACK Working Note 41), four times that where complex."""
    return (4.0 if is_complex(dtype) else 1.0) * size**3 / 3


OP = Op(
    name="cholesky",
    summary="The lower triangular factor L of a positive definite n×n matrix L·Lᴴ.",
    size_means="n of n×n",
    dtypes=("float64", "float32", "complex64"),
    minimum=1,
    default=1024,
    maximum=16384,
    arguments=lambda size: (PositiveDefinite(square(size)),),
    result_shape=square,
    flops_formula="n³/3 (complex: 4 n³/3)",
    flops=flops,
    bytes_formula="2 n² elements",
    bytes=lambda size, dtype: streams(2)(size * size, dtype),
    # Most of it is a call to a library, of which XLA sees nothing.
    xla_flops=uncounted,
    numpy=numpy_form,
    jax=jax_form,
    tolerance=TOLERANCE,
    reference=reference,
    checked=checked,
)
