"""Ops that only move data, at places in order or at random, or draw new ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtui.core.model import ITEMSIZE
from jaxtui.tasks.ops.arguments import Argument, Array, Indices, Key, Like
from jaxtui.tasks.ops.base import EXACT, FLOATS, Op, in_float64, matrix, square, vector

_moving = partial(
    Op,
    flops_formula="none, data are only moved",
    arithmetic="moves",
    tolerance=EXACT,
)


def copy_jax(x: jax.Array) -> jax.Array:
    """Copy in one primitive; a function that returned ``x`` would copy nothing."""
    return jnp.copy(x)


def copy_numpy(x: Array) -> Array:
    return np.copy(x)


COPY = _moving(
    name="copy",
    summary="STREAM's copy: every element read once and written once.",
    default=1 << 22,
    bytes_formula="2 n elements",
    numpy=copy_numpy,
    jax=copy_jax,
    reference=in_float64(copy_numpy),
)


def transpose_jax(x: jax.Array) -> jax.Array:
    """Transpose by moving every element: JAX arrays have no strides."""
    return jnp.transpose(x)


def transpose_numpy(x: Array) -> Array:
    """A copy in the new order: ``x.T`` alone is a view, and moves nothing."""
    return np.ascontiguousarray(x.T)


def transpose_tensorflow(tnp: Any, x: Any) -> Any:
    return tnp.transpose(x)


TRANSPOSE = _moving(
    name="transpose",
    summary="The transpose of an n×n matrix, every element moved.",
    size_means="n of n×n",
    default=2048,
    maximum=32768,
    arguments=matrix,
    result_shape=square,
    bytes_formula="2 n² elements",
    numpy=transpose_numpy,
    jax=transpose_jax,
    tensorflow=transpose_tensorflow,
    reference=lambda rows, x: np.asarray(x.T[rows]),
)


def gather_jax(x: jax.Array, index: jax.Array) -> jax.Array:
    """``x[index]`` as people write it, with JAX's handling of what is out of bounds."""
    result: jax.Array = x[index]
    return result


def gather_numpy(x: Array, index: Array) -> Array:
    """Gather rows; every index must be in bounds."""
    return np.asarray(x[index])


GATHER = _moving(
    name="gather",
    summary="x[index] with as many random indices as there are elements.",
    default=1 << 20,
    arguments=lambda size: (*vector(size), Indices((size,), bound=size)),
    bytes_formula="2 n elements and n indices of 4 bytes",
    numpy=gather_numpy,
    jax=gather_jax,
    reference=lambda rows, x, index: np.asarray(x[index[rows]]),
)


def at_set_jax(x: jax.Array, index: jax.Array, values: jax.Array) -> jax.Array:
    """JAX arrays are immutable: ``.at[].set`` returns a new one."""
    return x.at[index].set(values)


def at_set_numpy(x: Array, index: Array, values: Array) -> Array:
    """A copy first, so that NumPy does the same work."""
    result: Array = x.copy()
    result[index] = values
    return result


def at_set_arguments(size: int) -> tuple[Argument, ...]:
    """The array, different indices (the order of writes is undefined), new values."""
    count = max(1, size // 4)
    index = Indices((count,), bound=size, unique=True)
    return *vector(size), index, *vector(count)


AT_SET = _moving(
    name="at_set",
    summary="x.at[index].set(v): a new array with a quarter of the elements replaced.",
    default=1 << 20,
    maximum=1 << 27,
    arguments=at_set_arguments,
    bytes_formula="2¼ n elements and ¼ n indices of 4 bytes",
    numpy=at_set_numpy,
    jax=at_set_jax,
    reference=lambda rows, *args: np.asarray(at_set_numpy(*args)[rows]),
)


def normal_jax(key: jax.Array, like: jax.Array) -> jax.Array:
    """``jax.random.normal`` with a threefry key; ``like`` gives length and dtype.

    The library function is compiled as a whole, so eager is not op by op here.
    """
    wrapped = jax.random.wrap_key_data(key, impl="threefry2x32")
    return jax.random.normal(wrapped, like.shape[:1], like.dtype)


def normal_numpy(generator: Any, like: Array) -> Array:
    """``Generator.standard_normal``, which draws float32 and float64 only."""
    rng = np.random.default_rng(generator)
    drawn = np.float64 if like.dtype == np.float64 else np.float32
    result = rng.standard_normal(like.shape[:1], drawn)
    return result.astype(like.dtype, copy=False)


NORMAL = Op(
    name="normal",
    summary="Random numbers from the standard normal distribution.",
    dtypes=FLOATS,
    default=1 << 20,
    arguments=lambda size: (Key(), Like((size, 0))),
    flops_formula="not counted",
    arithmetic="uncounted",
    bytes_formula="n elements",
    traffic=lambda size, dtype: size * ITEMSIZE[dtype],
    numpy=normal_numpy,
    jax=normal_jax,
    tolerance=dict.fromkeys(FLOATS, 0.0),
    reference=None,
)
