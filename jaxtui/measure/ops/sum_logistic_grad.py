"""The gradient of JAX's quickstart: of the sum of logistic functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import (
    FLOATS,
    TRANSCENDENTAL,
    Op,
    Rows,
    one_dimensional,
    per_element,
    streams,
    wide,
)

DTYPES = tuple(dtype for dtype in FLOATS if dtype != "float8_e4m3fn")
"""Without float8: the derivative squares 1 + exp(−x), and 448 is its largest number."""


def jax_form(x: jax.Array) -> jax.Array:
    """``jax.grad`` of the sum: the derivative is found by JAX, not written down."""

    def sum_logistic(x: jax.Array) -> jax.Array:
        return jnp.sum(1 / (1 + lax.exp(-x)))

    gradient: jax.Array = jax.grad(sum_logistic)(x)
    return gradient


def numpy_form(x: Array) -> Array:
    """The closed form s (1 − s), because NumPy has no derivatives."""
    s = 1 / (1 + np.exp(-x))
    return np.asarray(s * (1 - s))


def reference(rows: Rows, x: Array) -> Array:
    """The closed form in float64."""
    return numpy_form(wide(x[rows]))


OP = Op(
    name="sum_logistic_grad",
    summary="The gradient of Σ 1 / (1 + exp(−x)), by jax.grad; closed form in NumPy.",
    size_means="number of elements",
    dtypes=DTYPES,
    minimum=1,
    default=1 << 20,
    maximum=1 << 28,
    arguments=lambda size: (Normal((size,)),),
    result_shape=one_dimensional,
    flops_formula="8 n, an exponential counted as one",
    flops=per_element(8),
    bytes_formula="2 n elements",
    bytes=streams(2),
    numpy=numpy_form,
    jax=jax_form,
    tolerance=TRANSCENDENTAL,
    reference=reference,
)
