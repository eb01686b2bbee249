"""The logistic function, written out."""

from __future__ import annotations

from typing import Any

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
    """Four primitives; ``jax.nn.sigmoid`` would be one that is compiled already."""
    return 1 / (1 + lax.exp(-x))


def numpy_form(x: Array) -> Array:
    """Four passes over memory."""
    return np.asarray(1 / (1 + np.exp(-x)))


def tensorflow_form(tnp: Any, x: Any) -> Any:
    """The same four passes."""
    return 1 / (1 + tnp.exp(-x))


def reference(rows: Rows, x: Array) -> Array:
    """The logistic function in float64."""
    return numpy_form(wide(x[rows]))


OP = Op(
    name="sigmoid",
    summary="The logistic function 1 / (1 + exp(−x)).",
    size_means="number of elements",
    dtypes=FLOATS,
    minimum=1,
    default=1 << 20,
    maximum=1 << 28,
    arguments=lambda size: (Normal((size,)),),
    result_shape=one_dimensional,
    flops_formula="4 n, an exponential counted as one",
    flops=per_element(4),
    bytes_formula="2 n elements",
    bytes=streams(2),
    numpy=numpy_form,
    jax=jax_form,
    tensorflow=tensorflow_form,
    tolerance=TRANSCENDENTAL,
    reference=reference,
)
