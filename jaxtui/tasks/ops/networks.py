"""Layers of neural networks: a convolution and attention."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxtui.core.model import ITEMSIZE
from jaxtui.tasks.ops.arguments import Array, Normal
from jaxtui.tasks.ops.base import PRODUCT, Op, Rows, counted, sum_dtype, wide

IMAGES, CHANNELS, KERNEL = 8, 64, 3
"""The shape of the convolution; its size is that of the images."""

HEADS, WIDTH = 8, 64
"""The shape of the attention: the numbers per head make a model of 512 channels."""


def conv2d_jax(
    x: jax.Array, kernel: jax.Array, precision: lax.PrecisionLike = None
) -> jax.Array:
    """Convolve; integers give int32, and float8 gives float32."""
    result = {"int8": jnp.int32, "float8_e4m3fn": jnp.float32}.get(x.dtype.name)
    return lax.conv_general_dilated(
        x,
        kernel,
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision=precision,
        preferred_element_type=result,
    )


def conv2d_numpy(x: Array, kernel: Array) -> Array:
    """A matrix product for each of the nine taps, added up.

    Three times as fast as one product of all windows, because that needs a copy of them
    all, nine times the image.
    """
    integers = np.issubdtype(x.dtype, np.integer)
    dtype = np.int32 if integers else x.dtype
    n = x.shape[1]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    result = np.zeros((*x.shape[:3], kernel.shape[3]), dtype)
    for i in range(3):
        for j in range(3):
            tap = padded[:, i : i + n, j : j + n]
            result += np.matmul(tap, kernel[i, j], dtype=dtype)
    return result


def conv2d_reference(rows: Rows, x: Array, kernel: Array) -> Array:
    n = x.shape[1]
    chosen = np.arange(n)[rows]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = [
        wide(padded[:, chosen + i, j : j + n]) @ wide(kernel[i, j])
        for i in range(KERNEL)
        for j in range(KERNEL)
    ]
    return np.asarray(sum(taps[1:], start=taps[0]))


CONV2D = Op(
    name="conv2d",
    summary="A 3×3 convolution of 8 padded images of n×n pixels, 64 channels to 64.",
    size_means="n of n×n pixels",
    default=56,
    maximum=1024,
    arguments=lambda size: (
        Normal((IMAGES, size, size, CHANNELS)),
        Normal((KERNEL, KERNEL, CHANNELS, CHANNELS)),
    ),
    result_shape=lambda size: (IMAGES, size, size, CHANNELS),
    result_dtype=sum_dtype,
    # Taps that fall on the padding count, as is usual.
    flops_formula="2·8·64·64·9 n² (complex: four times that)",
    flops=counted(lambda n: 2 * IMAGES * (CHANNELS * KERNEL * n) ** 2, complex_times=4),
    bytes_formula="2·8·64 n² elements and the kernel (results as matmul's)",
    # XLA leaves out the taps on the padding: of 3 n there are 2 in each direction.
    xla_flops=lambda n: 2.0 * IMAGES * CHANNELS**2 * (KERNEL * n - 2) ** 2,
    # The padded images, and what a tap adds to the result.
    temporaries=lambda size, dtype: (
        IMAGES * CHANNELS * (size + 2) ** 2 * (ITEMSIZE[dtype] + 4.0)
    ),
    numpy=conv2d_numpy,
    jax=conv2d_jax,
    takes_precision=True,
    tolerance=PRODUCT,
    reference=conv2d_reference,
    rows_axis=1,
)


ATTENTION_TOLERANCE = {
    "float64": 1e-6,
    "float32": 1e-4,
    "float16": 1e-2,
    "bfloat16": 5e-2,
}
"""Tolerances like a product's, but JAX does the softmax of float64 in float32, too."""


def attention_jax(
    q: jax.Array, k: jax.Array, v: jax.Array, precision: lax.PrecisionLike = None
) -> jax.Array:
    """``jax.nn.dot_product_attention``, not causal; scores are at least float32.

    It takes no precision of its own, but its products follow JAX's setting.
    """
    with jax.default_matmul_precision(precision):
        return jax.nn.dot_product_attention(q, k, v)


def attention_numpy(q: Array, k: Array, v: Array) -> Array:
    """Two batched products around a softmax, all in the dtype itself."""
    q, k, v = (np.swapaxes(x, 1, 2) for x in (q, k, v))
    scores = q @ np.swapaxes(k, 2, 3)
    scores *= q.shape[-1] ** -0.5
    scores -= np.max(scores, axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= np.sum(scores, axis=-1, keepdims=True)
    return np.swapaxes(scores @ v, 1, 2)


def attention_reference(rows: Rows, q: Array, k: Array, v: Array) -> Array:
    """Compute some of the queries in float64, a head at a time."""
    heads = [
        attention_numpy(
            wide(q[:, rows, head, np.newaxis]),
            wide(k[:, :, head, np.newaxis]),
            wide(v[:, :, head, np.newaxis]),
        )
        for head in range(q.shape[2])
    ]
    return np.concatenate(heads, axis=2)


ATTENTION = Op(
    name="attention",
    summary="softmax(q·kᵀ/8)·v of one sequence, 8 heads of 64, not causal.",
    size_means="length of the sequence",
    dtypes=tuple(ATTENTION_TOLERANCE),
    default=1024,
    maximum=16384,
    # Batch, length, heads, numbers per head.
    arguments=lambda size: (Normal((1, size, HEADS, WIDTH)),) * 3,
    result_shape=lambda size: (1, size, HEADS, WIDTH),
    flops_formula="4·8·64 n², the two products",
    flops=counted(lambda n: 4 * HEADS * WIDTH * n**2),
    bytes_formula="4·8·64 n elements",
    # Its products of float16 ask for an algorithm that only GPUs have.
    lacks={"cpu": ("float16",), "tpu": ("float16",)},
    # The scores before and after the softmax, which are at least float32.
    temporaries=lambda size, dtype: 2.0 * HEADS * size**2 * max(4, ITEMSIZE[dtype]),
    numpy=attention_numpy,
    jax=attention_jax,
    takes_precision=True,
    tolerance=ATTENTION_TOLERANCE,
    reference=attention_reference,
    rows_axis=1,
)
