"""The sum of two vectors."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax

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
    """One primitive: eager and jit run the same kernel."""
    return lax.add(a, b)


def numpy_form(a: Array, b: Array) -> Array:
    """``a + b``."""
    return a + b


def tensorflow_form(tnp: Any, a: Any, b: Any) -> Any:
    """``a + b``."""
    return tnp.add(a, b)


def reference(rows: Rows, a: Array, b: Array) -> Array:
    """The sum in float64."""
    return wide(a[rows]) + wide(b[rows])


OP = Op(
    name="add",
    summary="The element-wise sum a + b.",
    size_means="number of elements",
    dtypes=NUMBERS,
    minimum=1,
    default=1 << 20,
    maximum=1 << 28,
    arguments=lambda size: (Normal((size,)), Normal((size,))),
    result_shape=one_dimensional,
    flops_formula="n (complex: 2 n)",
    flops=per_element(1, 2),
    bytes_formula="3 n elements",
    bytes=streams(3),
    numpy=numpy_form,
    jax=jax_form,
    tensorflow=tensorflow_form,
    tolerance=ARITHMETIC,
    reference=reference,
)
