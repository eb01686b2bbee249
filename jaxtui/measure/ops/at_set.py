"""Writing at random places of an array that must not change."""

from __future__ import annotations

import jax
import numpy as np

from jaxtui.measure.ops.arguments import Argument, Array, Indices, Normal
from jaxtui.measure.ops.base import EXACT, NUMBERS, Op, Rows, one_dimensional
from jaxtui.model import ITEMSIZE


def jax_form(x: jax.Array, index: jax.Array, values: jax.Array) -> jax.Array:
    """JAX arrays are immutable: ``.at[].set`` returns a new one."""
    return x.at[index].set(values)


def numpy_form(x: Array, index: Array, values: Array) -> Array:
    """A copy first, so that NumPy does the same work."""
    result: Array = x.copy()
    result[index] = values
    return result


def reference(rows: Rows, x: Array, index: Array, values: Array) -> Array:
    """The same elements, which nothing may change."""
    return np.asarray(numpy_form(x, index, values)[rows])


def replaced(size: int) -> int:
    """How many elements are replaced: a quarter, at least one."""
    return max(1, size // 4)


def arguments(size: int) -> tuple[Argument, ...]:
    """The array, different indices (the order of writes is undefined), new values."""
    count = replaced(size)
    index = Indices((count,), bound=size, unique=True)
    return Normal((size,)), index, Normal((count,))


def traffic(size: int, dtype: str) -> float:
    """The array read and written, indices and values read."""
    count = replaced(size)
    return 2.0 * size * ITEMSIZE[dtype] + count * (4.0 + ITEMSIZE[dtype])


OP = Op(
    name="at_set",
    summary="x.at[index].set(v): a new array with a quarter of the elements replaced.",
    size_means="number of elements",
    dtypes=NUMBERS,
    minimum=1,
    default=1 << 20,
    maximum=1 << 27,
    arguments=arguments,
    result_shape=one_dimensional,
    flops_formula="none, data are only moved",
    flops=lambda _size, _dtype: None,
    bytes_formula="2¼ n elements and ¼ n indices of 4 bytes",
    bytes=traffic,
    numpy=numpy_form,
    jax=jax_form,
    tolerance=EXACT,
    reference=reference,
)
