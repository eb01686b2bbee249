"""The triad of the STREAM benchmark."""

from __future__ import annotations

import jax

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import (
    ARITHMETIC,
    NUMBERS,
    Op,
    Rows,
    one_dimensional,
    per_element,
    streams,
    wide,
)


def jax_form(a: jax.Array, b: jax.Array) -> jax.Array:
    """Two primitives; the scalar is 3, as in STREAM."""
    return a + 3 * b


def numpy_form(a: Array, b: Array) -> Array:
    """Two passes and a temporary, as NumPy does it."""
    result: Array = a + 3 * b
    return result


def reference(rows: Rows, a: Array, b: Array) -> Array:
    """The triad in float64."""
    return numpy_form(wide(a[rows]), wide(b[rows]))


OP = Op(
    name="triad",
    summary="STREAM's triad a + 3·b, the classic measure of memory bandwidth.",
    size_means="number of elements",
    dtypes=NUMBERS,
    minimum=1,
    default=1 << 22,
    maximum=1 << 28,
    arguments=lambda size: (Normal((size,)), Normal((size,))),
    result_shape=one_dimensional,
    flops_formula="2 n (complex: 8 n)",
    flops=per_element(2, 8),
    bytes_formula="3 n elements",
    bytes=streams(3),
    numpy=numpy_form,
    jax=jax_form,
    tolerance=ARITHMETIC,
    reference=reference,
)
