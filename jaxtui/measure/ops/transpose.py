"""The transpose of a square matrix, written anew."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import EXACT, NUMBERS, Op, Rows, square, streams


def jax_form(x: jax.Array) -> jax.Array:
    """One primitive, which moves every element: JAX arrays have no strides."""
    return jnp.transpose(x)


def numpy_form(x: Array) -> Array:
    """A copy in the new order: ``x.T`` alone is a view, and moves nothing."""
    return np.ascontiguousarray(x.T)


def tensorflow_form(tnp: Any, x: Any) -> Any:
    """TensorFlow moves the elements, too."""
    return tnp.transpose(x)


def reference(rows: Rows, x: Array) -> Array:
    """The same elements, which nothing may change."""
    return np.asarray(x.T[rows])


OP = Op(
    name="transpose",
    summary="The transpose of an n×n matrix, every element moved.",
    size_means="n of n×n",
    dtypes=NUMBERS,
    minimum=1,
    default=2048,
    maximum=32768,
    arguments=lambda size: (Normal(square(size)),),
    result_shape=square,
    flops_formula="none, data are only moved",
    flops=lambda _size, _dtype: None,
    bytes_formula="2 n² elements",
    bytes=lambda size, dtype: streams(2)(size * size, dtype),
    numpy=numpy_form,
    jax=jax_form,
    tensorflow=tensorflow_form,
    tolerance=EXACT,
    reference=reference,
)
