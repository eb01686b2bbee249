"""The activation of JAX's own quickstart, written out."""

from __future__ import annotations

import jax
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


def jax_form(x: jax.Array) -> jax.Array:
    """Six primitives; ``jax.nn.selu`` would be one that is compiled already."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * lax.select(x > 0, x, alpha * lax.exp(x) - alpha)


def numpy_form(x: Array) -> Array:
    """Six passes over memory."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return np.asarray(scale * np.where(x > 0, x, alpha * np.exp(x) - alpha))


def reference(rows: Rows, x: Array) -> Array:
    """The activation in float64."""
    return numpy_form(wide(x[rows]))


OP = Op(
    name="selu",
    summary="The scaled exponential linear unit: x or a shifted exponential, scaled.",
    size_means="number of elements",
    dtypes=FLOATS,
    minimum=1,
    default=1 << 20,
    maximum=1 << 28,
    arguments=lambda size: (Normal((size,)),),
    result_shape=one_dimensional,
    flops_formula="6 n, an exponential counted as one",
    flops=per_element(6),
    bytes_formula="2 n elements",
    bytes=streams(2),
    numpy=numpy_form,
    jax=jax_form,
    tolerance=TRANSCENDENTAL,
    reference=reference,
)
