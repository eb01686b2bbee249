"""Ops that add up, or order, many elements: sums, running sums, softmax, sort."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxtui.core.model import ITEMSIZE
from jaxtui.tasks.ops.arguments import Array, Uniform
from jaxtui.tasks.ops.base import (
    EXACT,
    FLOATS,
    TRANSCENDENTAL,
    Op,
    Rows,
    counted,
    in_float64,
    matrix,
    no_count,
    square,
    sum_dtype,
    tolerances,
    wide,
)

BLOCK = 1 << 22
"""Elements of a reference that are wide at the same time."""

SUM_TOLERANCE = tolerances(1e-9, 2e-2, 2e-2, 5e-2, 2e-2)
"""Wide, because positive and negative terms cancel: the sum of n normal numbers is
about √n, and by chance much nearer to zero."""


def sum_jax(x: jax.Array) -> jax.Array:
    """``jnp.sum``, one kernel: half precision is accumulated in float32.

    Integers give int32, and float8, whose largest number is 448, gives float32.
    """
    wider = {"int8": jnp.int32, "float8_e4m3fn": jnp.float32}.get(x.dtype.name)
    return jnp.sum(x, dtype=wider or x.dtype)


def sum_numpy(x: Array) -> Array:
    """``np.sum``, which adds pairwise in the dtype itself."""
    integers = np.issubdtype(x.dtype, np.integer)
    return np.asarray(np.sum(x, dtype=np.int32 if integers else x.dtype))


def sum_tensorflow(tnp: Any, x: Any) -> Any:
    """``tnp.sum``, which adds integers up in int64."""
    return tnp.sum(x)


def sum_reference(rows: Rows, x: Array) -> Array:
    """The sum in float64; there are no rows to choose from."""
    total = np.complex128(0) if np.iscomplexobj(x) else np.float64(0)
    for start in range(0, x.size, BLOCK):
        total += np.sum(x[start : start + BLOCK].astype(total.dtype))
    return np.asarray(total)


SUM = Op(
    name="sum",
    summary="The sum of all elements.",
    default=1 << 22,
    maximum=1 << 29,
    result_shape=lambda _: (),
    result_dtype=sum_dtype,
    flops_formula="n (complex: 2 n)",
    flops=counted(lambda n: n, complex_times=2),
    bytes_formula="n elements",
    traffic=lambda size, dtype: size * ITEMSIZE[dtype],
    numpy=sum_numpy,
    jax=sum_jax,
    tensorflow=sum_tensorflow,
    tolerance=SUM_TOLERANCE,
    reference=sum_reference,
)


CUMSUM_TOLERANCE = tolerances(1e-11, 1e-3, 3e-2, 2e-1, 1e-3)
"""Tolerances relative to the largest sum. Adding one after the other, as NumPy does,
rounds n times: at four million its float16 is off by 24 % (measured), XLA's tree by 0.3
%."""


def cumsum_jax(x: jax.Array) -> jax.Array:
    """``jnp.cumsum``; integers give int32, and float8 gives float32."""
    wider = {"int8": jnp.int32, "float8_e4m3fn": jnp.float32}.get(x.dtype.name)
    return jnp.cumsum(x, dtype=wider or x.dtype)


def cumsum_numpy(x: Array) -> Array:
    """``np.cumsum``, which adds one element after the other in the dtype itself."""
    integers = np.issubdtype(x.dtype, np.integer)
    return np.cumsum(x, dtype=np.int32 if integers else x.dtype)


def cumsum_tensorflow(tnp: Any, x: Any) -> Any:
    """``tnp.cumsum``, which adds integers up in int64, too."""
    return tnp.cumsum(x)


def cumsum_reference(rows: Rows, x: Array) -> Array:
    """The chosen sums in float64, block by block."""
    chosen = np.arange(x.size)[rows] if isinstance(rows, slice) else rows
    result = np.empty(len(chosen), wide(x[:1]).dtype)
    total = result.dtype.type(0)
    for start in range(0, x.size, BLOCK):
        sums = total + np.cumsum(wide(x[start : start + BLOCK]))
        inside = (chosen >= start) & (chosen < start + len(sums))
        result[inside] = sums[chosen[inside] - start]
        total = sums[-1]
    return result


CUMSUM = Op(
    name="cumsum",
    summary="The running sums: each element plus all before it.",
    default=1 << 20,
    result_dtype=sum_dtype,
    flops_formula="n (complex: 2 n), as if added one after the other",
    flops=counted(lambda n: n, complex_times=2),
    bytes_formula="2 n elements (results: int32 of integers, float32 of float8)",
    # A tree has several times as many additions, and how many is XLA's choice.
    xla_flops=no_count,
    numpy=cumsum_numpy,
    jax=cumsum_jax,
    tensorflow=cumsum_tensorflow,
    tolerance=CUMSUM_TOLERANCE,
    reference=cumsum_reference,
)


def softmax_jax(x: jax.Array) -> jax.Array:
    """Five primitives, two of which reduce a row.

    float8 is added up and divided in float32: a sum of its own would soon stand still.
    """
    powers = lax.exp(x - jnp.max(x, axis=1, keepdims=True))
    powers = powers.astype(jnp.float32 if x.dtype.itemsize == 1 else x.dtype)
    return (powers / jnp.sum(powers, axis=1, keepdims=True)).astype(x.dtype)


def softmax_numpy(x: Array) -> Array:
    powers = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.asarray(powers / np.sum(powers, axis=1, keepdims=True))


def softmax_tensorflow(tnp: Any, x: Any) -> Any:
    powers = tnp.exp(x - tnp.max(x, axis=1, keepdims=True))
    return powers / tnp.sum(powers, axis=1, keepdims=True)


SOFTMAX = Op(
    name="softmax",
    summary="Softmax over each row of an n×n array.",
    size_means="n of n×n",
    dtypes=FLOATS,
    default=1024,
    maximum=16384,
    arguments=matrix,
    result_shape=square,
    flops_formula="5 n², an exponential counted as one",
    flops=counted(lambda n: 5 * n**2),
    bytes_formula="2 n² elements",
    numpy=softmax_numpy,
    jax=softmax_jax,
    tensorflow=softmax_tensorflow,
    tolerance=TRANSCENDENTAL,
    reference=in_float64(softmax_numpy),
)


def sort_jax(x: jax.Array) -> jax.Array:
    """``jnp.sort``, ascending; complex numbers by their real parts first."""
    return jnp.sort(x)


def sort_numpy(x: Array) -> Array:
    return np.sort(x)


def sort_reference(rows: Rows, x: Array) -> Array:
    """Sort; narrow dtypes are sorted in float32, which is exact."""
    return np.asarray(np.sort(x.astype(np.float32) if x.itemsize < 4 else x)[rows])


SORT = Op(
    name="sort",
    summary="All elements in ascending order.",
    default=1 << 18,
    maximum=1 << 26,
    arguments=lambda size: (Uniform((size,)),),
    flops_formula="not counted; about n log2 n comparisons",
    arithmetic="uncounted",
    bytes_formula="2 n elements",
    xla_flops=no_count,
    # XLA's sort on a CPU: 0.25 µs per float32, measured at a million of them.
    effort=500.0,
    numpy=sort_numpy,
    jax=sort_jax,
    tolerance=EXACT,
    reference=sort_reference,
)
