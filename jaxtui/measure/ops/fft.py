"""Discrete Fourier transforms of the rows of a square array."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import (
    NUMBERS,
    Op,
    Rows,
    square,
    streams,
    uncounted,
    wide,
)
from jaxtui.model import ITEMSIZE

TOLERANCE = dict.fromkeys(NUMBERS, 1e-4) | {"float64": 1e-11}
"""Nothing is computed in less than complex64, so narrow inputs are no excuse."""


def jax_form(x: jax.Array) -> jax.Array:
    """``jnp.fft.fft`` along the last axis: complex128 of float64, else complex64."""
    return jnp.fft.fft(x)


def numpy_form(x: Array) -> Array:
    """``np.fft.fft``; integers become float32 first, as they do in JAX."""
    if np.issubdtype(x.dtype, np.integer):
        x = x.astype(np.float32)
    return np.fft.fft(x)


def reference(rows: Rows, x: Array) -> Array:
    """Rows of the transform in complex128."""
    return np.fft.fft(wide(x[rows]))


def transformed(dtype: str) -> str:
    """The complex dtype of the result."""
    return "complex128" if dtype == "float64" else "complex64"


def flops(size: int, dtype: str) -> float:
    """5 n log2 n real operations for each of n rows.

    The convention of benchFFT, whatever the algorithm and the dtype: M. Frigo and
    S. G. Johnson, The Design and Implementation of FFTW3, 2005.
    """
    return 5.0 * size**2 * math.log2(size)


def traffic(size: int, dtype: str) -> float:
    """The array read, its transform written."""
    read = streams(1)(size * size, dtype)
    return read + size * size * ITEMSIZE[transformed(dtype)]


OP = Op(
    name="fft",
    summary="Complex Fourier transforms of n points, one of each row of an n×n array.",
    size_means="n of n×n",
    dtypes=NUMBERS,
    minimum=1,
    default=1024,
    maximum=16384,
    arguments=lambda size: (Normal(square(size)),),
    result_shape=square,
    result_dtype=transformed,
    flops_formula="5 n² log2 n, by convention",
    flops=flops,
    bytes_formula="n² elements and n² complex results",
    bytes=traffic,
    # "Unexpected operand type for FFT: c128[64,64]" says the compiler for TPUs.
    lacks={"tpu": ("float64",)},
    xla_flops=uncounted,
    numpy=numpy_form,
    jax=jax_form,
    tolerance=TOLERANCE,
    reference=reference,
)
