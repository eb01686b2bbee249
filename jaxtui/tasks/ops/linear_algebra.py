"""Ops of linear algebra: products, a loop of them, a factorisation, a transform."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxtui.tasks.ops.arguments import Array, Normal, PositiveDefinite
from jaxtui.tasks.ops.base import (
    NUMBERS,
    PRODUCT,
    Op,
    Rows,
    counted,
    in_float64,
    matrix,
    no_count,
    square,
    sum_dtype,
    wide,
)

BLOCK = 1024
"""Columns of a reference that are wide at the same time."""

_square = partial(Op, size_means="n of n×n", arguments=matrix, result_shape=square)


def matmul_jax(
    a: jax.Array, b: jax.Array, precision: lax.PrecisionLike = None
) -> jax.Array:
    """Multiply by one ``dot``; integers give int32, and float8 gives float32."""
    result = {"int8": jnp.int32, "float8_e4m3fn": jnp.float32}.get(a.dtype.name)
    return lax.dot(a, b, precision=precision, preferred_element_type=result)


def matmul_numpy(a: Array, b: Array) -> Array:
    """``a @ b``; integers, and float16, do not go through BLAS."""
    if np.issubdtype(a.dtype, np.integer):
        return np.asarray(np.matmul(a, b, dtype=np.int32))
    return np.asarray(a @ b)


def matmul_tensorflow(tnp: Any, a: Any, b: Any) -> Any:
    """Multiply by one ``matmul``; TensorFlow has none for int8."""
    return tnp.matmul(a, b)


def matmul_reference(rows: Rows, a: Array, b: Array) -> Array:
    """Rows of the product, in column blocks so that ``b`` is never wide as a whole."""
    left = wide(a[rows])
    starts = range(0, b.shape[1], BLOCK)
    return np.concatenate(
        [left @ wide(b[:, start : start + BLOCK]) for start in starts], axis=1
    )


MATMUL = _square(
    name="matmul",
    summary="The product a·b of two different n×n matrices.",
    default=1024,
    maximum=32768,
    arguments=lambda size: 2 * matrix(size),
    result_dtype=sum_dtype,
    flops_formula="2 n³ (complex: 8 n³)",
    flops=counted(lambda n: 2 * n**3, complex_times=4),
    bytes_formula="3 n² elements (results: int32 of integers, float32 of float8)",
    numpy=matmul_numpy,
    jax=matmul_jax,
    tensorflow=matmul_tensorflow,
    takes_precision=True,
    tolerance=PRODUCT,
    reference=matmul_reference,
)


def gram_jax(x: jax.Array, precision: lax.PrecisionLike = None) -> jax.Array:
    """A transpose and a ``dot``; integers give int32, and float8 gives float32."""
    result = {"int8": jnp.int32, "float8_e4m3fn": jnp.float32}.get(x.dtype.name)
    return lax.dot(x, x.T, precision=precision, preferred_element_type=result)


def gram_numpy(x: Array) -> Array:
    """``x @ x.T``: NumPy notices the symmetry and lets BLAS do half of the flops."""
    if np.issubdtype(x.dtype, np.integer):
        return np.asarray(np.matmul(x, x.T, dtype=np.int32))
    return np.asarray(x @ x.T)


GRAM = _square(
    name="gram",
    summary="The product x·xᵀ of an n×n matrix and its own transpose.",
    default=1024,
    maximum=32768,
    result_dtype=sum_dtype,
    flops_formula="2 n³ (complex: 8 n³), not using the symmetry",
    flops=counted(lambda n: 2 * n**3, complex_times=4),
    bytes_formula="2 n² elements (results: int32 of integers, float32 of float8)",
    numpy=gram_numpy,
    jax=gram_jax,
    takes_precision=True,
    symmetric=True,
    tolerance=PRODUCT,
    reference=lambda rows, x: matmul_reference(rows, x, x.T),
)


Step = Callable[[Any, None], tuple[Any, None]]
"""The body of a loop: from the carry to the next one, and nothing to stack."""

SCAN_TOLERANCE = dict(PRODUCT) | {
    "float16": 2e-2,
    "bfloat16": 1e-1,
    "float8_e4m3fn": 3e-1,
}
"""Every step rounds its result to the dtype."""


def scan_jax(
    x: jax.Array,
    w: jax.Array,
    precision: lax.PrecisionLike = None,
    step: Step = lambda xw, _: ((lax.dot(*xw), xw[1]), None),
) -> jax.Array:
    """``lax.scan``, one compiled loop; integers wrap around.

    It is compiled as a whole, so eager is not op by op here. The body is a default,
    because an eager scan compiles a body that it has not seen, in every call.
    """
    with jax.default_matmul_precision(precision):
        return lax.scan(step, (x, w), length=10)[0][0]


def scan_numpy(x: Array, w: Array) -> Array:
    for _ in range(10):
        x = x @ w
    return x


def scan_reference(rows: Rows, x: Array, w: Array) -> Array:
    """Rows of the last product in float64, wrapped around as the integers are."""
    result, w_wide = wide(x[rows]), wide(w)
    for _ in range(10):
        result = result @ w_wide
        if np.issubdtype(x.dtype, np.integer):
            # Exact: below 2³¹ · 8 n before, which float64 holds for every n in use.
            half = 2.0 ** (8 * x.itemsize - 1)
            result = (result + half) % (2 * half) - half
    return result


SCAN = _square(
    name="scan",
    summary="Ten chained products x·w·w·…·w of n×n matrices, in one lax.scan.",
    default=512,
    maximum=16384,
    # Of that scale a product is about as large as what was multiplied.
    arguments=lambda size: (*matrix(size), Normal(square(size), size**-0.5)),
    flops_formula="10 · 2 n³ (complex: 10 · 8 n³)",
    flops=counted(lambda n: 10 * 2 * n**3, complex_times=4),
    bytes_formula="3 n² elements, as if nothing were read twice",
    # XLA counts the body of a loop once.
    xla_flops=lambda size: MATMUL.flops(size, "float32"),
    numpy=scan_numpy,
    jax=scan_jax,
    takes_precision=True,
    tolerance=SCAN_TOLERANCE,
    reference=scan_reference,
)


def cholesky_jax(x: jax.Array) -> jax.Array:
    """``jnp.linalg.cholesky``, lower; it averages ``x`` and its transpose first.

    On a CPU it is LAPACK's ``potrf``, on a GPU that of cuSOLVER, on a TPU XLA's own.
    """
    result: jax.Array = jnp.linalg.cholesky(x)
    return result


def cholesky_numpy(x: Array) -> Array:
    """``np.linalg.cholesky``, lower: LAPACK's ``potrf``."""
    return np.asarray(np.linalg.cholesky(x))


def cholesky_product(rows: Rows, factor: Array) -> Array:
    """Rows of the product L·Lᴴ; what is above the diagonal is not taken for L."""
    n = len(factor)
    left = wide(factor[rows])
    left[np.arange(n) > np.arange(n)[rows][:, np.newaxis]] = 0
    blocks = []
    for start in range(0, n, BLOCK):
        block = np.tril(wide(factor[start : start + BLOCK]), k=start)
        blocks.append(left @ block.conj().T)
    return np.concatenate(blocks, axis=1)


CHOLESKY = _square(
    name="cholesky",
    summary="The lower triangular factor L of a positive definite n×n matrix L·Lᴴ.",
    dtypes=("float64", "float32", "complex64"),
    default=1024,
    maximum=16384,
    arguments=lambda size: (PositiveDefinite(square(size)),),
    # To leading order: LAPACK Working Note 41.
    flops_formula="n³/3 (complex: 4 n³/3)",
    flops=counted(lambda n: n**3 / 3, complex_times=4),
    bytes_formula="2 n² elements",
    # Most of it is a call to a library, of which XLA sees nothing.
    xla_flops=no_count,
    numpy=cholesky_numpy,
    jax=cholesky_jax,
    # Of the diagonal of the matrix, some 12 √n times its other elements.
    tolerance={"float64": 1e-12, "float32": 1e-5, "complex64": 1e-5},
    # The matrix itself: rows of its factor cannot be had alone.
    reference=lambda rows, x: wide(x[rows]),
    checked=cholesky_product,
)


def fft_jax(x: jax.Array) -> jax.Array:
    return jnp.fft.fft(x)


def fft_numpy(x: Array) -> Array:
    """``np.fft.fft``; integers become float32 first, as they do in JAX."""
    if np.issubdtype(x.dtype, np.integer):
        x = x.astype(np.float32)
    return np.fft.fft(x)


FFT = _square(
    name="fft",
    summary="Complex Fourier transforms of n points, one of each row of an n×n array.",
    default=1024,
    maximum=16384,
    result_dtype=lambda dtype: "complex128" if dtype == "float64" else "complex64",
    # Of real operations, as benchFFT counts them whatever the algorithm and the dtype:
    # M. Frigo and S. G. Johnson, The Design and Implementation of FFTW3, 2005.
    flops_formula="5 n² log2 n, by convention",
    flops=counted(lambda n: 5 * n**2 * math.log2(n)),
    bytes_formula="n² elements and n² complex results",
    # "Unexpected operand type for FFT: c128[64,64]" says the compiler for TPUs.
    lacks={"tpu": ("float64",)},
    xla_flops=no_count,
    numpy=fft_numpy,
    jax=fft_jax,
    # Nothing is computed in less than complex64, so narrow inputs are no excuse.
    tolerance=dict.fromkeys(NUMBERS, 1e-4) | {"float64": 1e-11},
    reference=in_float64(fft_numpy),
)
