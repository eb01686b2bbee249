"""Random numbers from the standard normal distribution."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxtui.measure.ops.arguments import Array, Key, Like
from jaxtui.measure.ops.base import FLOATS, Op, one_dimensional, streams


def jax_form(key: jax.Array, like: jax.Array) -> jax.Array:
    """``jax.random.normal`` with a threefry key; ``like`` gives length and dtype.

    The library function is compiled as a whole, so eager is not op by op here.
    """
    wrapped = jax.random.wrap_key_data(key, impl="threefry2x32")
    return jax.random.normal(wrapped, like.shape[:1], like.dtype)


def numpy_form(generator: Any, like: Array) -> Array:
    """``Generator.standard_normal``, which draws float32 and float64 only."""
    rng = np.random.default_rng(generator)
    drawn = np.float64 if like.dtype == np.float64 else np.float32
    result = rng.standard_normal(like.shape[:1], drawn)
    return result.astype(like.dtype, copy=False)


OP = Op(
    name="normal",
    summary="Random numbers from the standard normal distribution.",
    size_means="number of elements",
    dtypes=FLOATS,
    minimum=1,
    default=1 << 20,
    maximum=1 << 28,
    arguments=lambda size: (Key(), Like((size, 0))),
    result_shape=one_dimensional,
    flops_formula="not counted",
    flops=lambda _size, _dtype: None,
    bytes_formula="n elements",
    bytes=streams(1),
    numpy=numpy_form,
    jax=jax_form,
    tolerance=dict.fromkeys(FLOATS, 0.0),
    reference=None,
)
