"""Softmax over the rows of a square array, written out."""

from __future__ import annotations

from typing import Any

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
    square,
    streams,
    wide,
)


def jax_form(x: jax.Array) -> jax.Array:
    """Five primitives, two of which reduce a row.

    float8 is added up and divided in float32: a sum of its own would soon stand still.
    """
    powers = lax.exp(x - jnp.max(x, axis=1, keepdims=True))
    powers = powers.astype(jnp.float32 if x.dtype.itemsize == 1 else x.dtype)
    return (powers / jnp.sum(powers, axis=1, keepdims=True)).astype(x.dtype)


def numpy_form(x: Array) -> Array:
    """Five passes over memory."""
    powers = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.asarray(powers / np.sum(powers, axis=1, keepdims=True))


def tensorflow_form(tnp: Any, x: Any) -> Any:
    """The same five passes."""
    powers = tnp.exp(x - tnp.max(x, axis=1, keepdims=True))
    return powers / tnp.sum(powers, axis=1, keepdims=True)


def reference(rows: Rows, x: Array) -> Array:
    """Rows of the softmax in float64."""
    return numpy_form(wide(x[rows]))


OP = Op(
    name="softmax",
    summary="Softmax over each row of an n×n array.",
    size_means="n of n×n",
    dtypes=FLOATS,
    minimum=1,
    default=1024,
    maximum=16384,
    arguments=lambda size: (Normal(square(size)),),
    result_shape=square,
    flops_formula="5 n², an exponential counted as one",
    flops=lambda size, _: 5.0 * size**2,
    bytes_formula="2 n² elements",
    bytes=lambda size, dtype: streams(2)(size * size, dtype),
    numpy=numpy_form,
    jax=jax_form,
    tensorflow=tensorflow_form,
    tolerance=TRANSCENDENTAL,
    reference=reference,
)
