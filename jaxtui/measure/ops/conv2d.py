"""The convolution of a residual network: 3×3, padded, as many channels out as in."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxtui.measure.ops.arguments import Array, Normal
from jaxtui.measure.ops.base import (
    NUMBERS,
    PRODUCT,
    Op,
    Rows,
    accumulated,
    is_complex,
    streams,
    wide,
)
from jaxtui.model import ITEMSIZE

IMAGES = 8
CHANNELS = 64
KERNEL = 3


def jax_form(
    x: jax.Array, kernel: jax.Array, precision: lax.PrecisionLike = None
) -> jax.Array:
    """One ``conv_general_dilated``; integers give int32, and float8 gives float32."""
    wider = jnp.float32 if x.dtype.itemsize == 1 else None
    result = jnp.int32 if jnp.issubdtype(x.dtype, jnp.integer) else wider
    return lax.conv_general_dilated(
        x,
        kernel,
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision=precision,
        preferred_element_type=result,
    )


def numpy_form(x: Array, kernel: Array) -> Array:
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


def reference(rows: Rows, x: Array, kernel: Array) -> Array:
    """Rows of pixels, of every image, in float64."""
    n = x.shape[1]
    chosen = np.arange(n)[rows]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = [
        wide(padded[:, chosen + i, j : j + n]) @ wide(kernel[i, j])
        for i in range(KERNEL)
        for j in range(KERNEL)
    ]
    return np.asarray(sum(taps[1:], start=taps[0]))


def image(size: int) -> tuple[int, ...]:
    """Images, height, width, channels."""
    return (IMAGES, size, size, CHANNELS)


def arguments(size: int) -> tuple[Normal, Normal]:
    """The images, and a kernel that keeps their scale."""
    weights = (KERNEL, KERNEL, CHANNELS, CHANNELS)
    return Normal(image(size)), Normal(weights)


def flops(size: int, dtype: str) -> float:
    """2 multiplications and additions per tap, channel in, channel out and pixel.

    Taps that fall on the padding count, as is usual; complex ones count four times.
    """
    taps = (KERNEL * size) ** 2
    return (8.0 if is_complex(dtype) else 2.0) * IMAGES * CHANNELS**2 * taps


def without_padding(size: int) -> float:
    """XLA leaves out the taps on the padding: of 3 n there are 2 in each direction."""
    return 2.0 * IMAGES * CHANNELS**2 * (KERNEL * size - 2) ** 2


def traffic(size: int, dtype: str) -> float:
    """Images and kernel read, images written."""
    pixels = IMAGES * size * size * CHANNELS
    weights = KERNEL * KERNEL * CHANNELS * CHANNELS
    read = streams(1)(pixels + weights, dtype)
    return read + pixels * ITEMSIZE[accumulated(dtype)]


OP = Op(
    name="conv2d",
    summary="A 3×3 convolution of 8 padded images of n×n pixels, 64 channels to 64.",
    size_means="n of n×n pixels",
    dtypes=NUMBERS,
    minimum=1,
    default=56,
    maximum=1024,
    arguments=arguments,
    result_shape=image,
    result_dtype=accumulated,
    flops_formula="2·8·64·64·9 n² (complex: four times that)",
    flops=flops,
    bytes_formula="2·8·64 n² elements and the kernel (results as matmul's)",
    bytes=traffic,
    xla_flops=without_padding,
    # The padded images, and what a tap adds to the result.
    temporaries=lambda size, dtype: (
        IMAGES * CHANNELS * (size + 2) ** 2 * (ITEMSIZE[dtype] + 4.0)
    ),
    numpy=numpy_form,
    jax=jax_form,
    takes_precision=True,
    tolerance=PRODUCT,
    reference=reference,
    rows_axis=1,
)
