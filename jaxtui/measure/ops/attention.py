"""Attention: every query compares itself with every key and mixes the values."""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import Op, Rows, streams, wide
from jaxtui.model import ITEMSIZE

HEADS = 8
WIDTH = 64
"""Numbers per head; a model of 512 channels."""

TOLERANCE = {
    "float64": 1e-6,
    "float32": 1e-4,
    "float16": 1e-2,
    "bfloat16": 5e-2,
}
"""As of a product, but JAX does the softmax of float64 in float32, too."""


def jax_form(
    q: jax.Array, k: jax.Array, v: jax.Array, precision: lax.PrecisionLike = None
) -> jax.Array:
    """``jax.nn.dot_product_attention``, not causal; scores are at least float32.

    It takes no precision of its own, but its products follow JAX's setting.
    """
    with jax.default_matmul_precision(precision):
        return jax.nn.dot_product_attention(q, k, v)


def numpy_form(q: Array, k: Array, v: Array) -> Array:
    """Two batched products around a softmax, all in the dtype itself."""
    q, k, v = (np.swapaxes(each, 1, 2) for each in (q, k, v))
    scores = q @ np.swapaxes(k, 2, 3)
    scores *= q.shape[-1] ** -0.5
    scores -= np.max(scores, axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= np.sum(scores, axis=-1, keepdims=True)
    return np.swapaxes(scores @ v, 1, 2)


def reference(rows: Rows, q: Array, k: Array, v: Array) -> Array:
    """The same for some of the queries, in float64, a head at a time."""
    heads = [
        numpy_form(
            wide(q[:, rows, head, np.newaxis]),
            wide(k[:, :, head, np.newaxis]),
            wide(v[:, :, head, np.newaxis]),
        )
        for head in range(q.shape[2])
    ]
    return np.concatenate(heads, axis=2)


def shape(size: int) -> tuple[int, ...]:
    """Batch, length, heads, numbers per head."""
    return (1, size, HEADS, WIDTH)


def scores(size: int, dtype: str) -> float:
    """Bytes of the scores before and after the softmax, which are at least float32."""
    return 2.0 * HEADS * size**2 * max(4, ITEMSIZE[dtype])


OP = Op(
    name="attention",
    summary="softmax(q·kᵀ/8)·v of one sequence, 8 heads of 64, not causal.",
    size_means="length of the sequence",
    dtypes=tuple(TOLERANCE),
    minimum=1,
    default=1024,
    maximum=16384,
    arguments=lambda size: (Normal(shape(size)),) * 3,
    result_shape=shape,
    flops_formula="4·8·64 n², the two products",
    flops=lambda size, _: 4.0 * HEADS * WIDTH * size**2,
    bytes_formula="4·8·64 n elements",
    bytes=lambda size, dtype: streams(4 * HEADS * WIDTH)(size, dtype),
    # Its products of float16 ask for an algorithm that only GPUs have.
    lacks={"cpu": ("float16",), "tpu": ("float16",)},
    temporaries=scores,
    numpy=numpy_form,
    jax=jax_form,
    takes_precision=True,
    tolerance=TOLERANCE,
    reference=reference,
    rows_axis=1,
)
