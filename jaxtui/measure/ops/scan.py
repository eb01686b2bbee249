"""A loop inside of a computation: ten products, each of the result before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import (
    NUMBERS,
    PRODUCT,
    Op,
    Rows,
    square,
    streams,
    wide,
)
from jaxtui.measure.ops.matmul import product_flops

STEPS = 10

Step = Callable[[Any, None], tuple[Any, None]]
"""The body of the loop: from the carry to the next one, and nothing to stack."""

TOLERANCE = dict(PRODUCT) | {
    "float16": 2e-2,
    "bfloat16": 1e-1,
    "float8_e4m3fn": 3e-1,
}
"""Every step rounds its result to the dtype."""


def jax_form(
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
        (result, _), _ = lax.scan(step, (x, w), length=10)
    return result


def numpy_form(x: Array, w: Array) -> Array:
    """The same ten products in Python's loop."""
    for _ in range(10):
        x = x @ w
    return x


def reference(rows: Rows, x: Array, w: Array) -> Array:
    """Rows of the last product in float64, wrapped around as the integers are."""
    result, w_wide = wide(x[rows]), wide(w)
    for _ in range(STEPS):
        result = result @ w_wide
        if np.issubdtype(x.dtype, np.integer):
            # Exact: below 2³¹ · 8 n before, which float64 holds for every n in use.
            half = 2.0 ** (8 * x.itemsize - 1)
            result = (result + half) % (2 * half) - half
    return result


OP = Op(
    name="scan",
    summary="Ten chained products x·w·w·…·w of n×n matrices, in one lax.scan.",
    size_means="n of n×n",
    dtypes=NUMBERS,
    minimum=1,
    default=512,
    maximum=16384,
    # Of that scale a product is about as large as what was multiplied.
    arguments=lambda size: (Normal(square(size)), Normal(square(size), size**-0.5)),
    result_shape=square,
    flops_formula="10 · 2 n³ (complex: 10 · 8 n³)",
    flops=lambda size, dtype: STEPS * product_flops(size, dtype),
    bytes_formula="3 n² elements, as if nothing were read twice",
    bytes=lambda size, dtype: streams(3)(size * size, dtype),
    # XLA counts the body of a loop once.
    xla_flops=lambda size: product_flops(size, "float32"),
    numpy=numpy_form,
    jax=jax_form,
    takes_precision=True,
    tolerance=TOLERANCE,
    reference=reference,
)
