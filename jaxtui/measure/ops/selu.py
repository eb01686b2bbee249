"""The activation of JAX's own quickstart, written out."""

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
    one_dimensional,
    per_element,
    streams,
    wide,
)


def jax_form(x: jax.Array) -> jax.Array:
    """Six primitives; ``jax.nn.selu`` would be one that is compiled already."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * lax.select(x > 0, x, alpha * lax.exp(x) - alpha)


def numpy_form(x: Array) -> Array:
    """Six passes over memory."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return np.asarray(scale * np.where(x > 0, x, alpha * np.exp(x) - alpha))


def tensorflow_form(tnp: Any, x: Any) -> Any:
    """The same six passes."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * tnp.where(x > 0, x, alpha * tnp.exp(x) - alpha)


def pallas_form(x: jax.Array, platform: str = "cpu") -> jax.Array:
    """One kernel: each program of the grid reads a block, computes and writes it.

    Narrow floats are computed in float32, because not every accelerator has an
    exponential for them. A GPU wants many small blocks, a TPU few large ones.
    """
    from jax.experimental import pallas as pl

    alpha, scale = 1.6732632423543772, 1.0507009873554805

    def kernel(x_ref: Any, out_ref: Any) -> None:
        x = x_ref[...]
        x = x.astype(jnp.float64 if x.dtype == jnp.float64 else jnp.float32)
        y = scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)
        out_ref[...] = y.astype(out_ref.dtype)

    block = 1024 if platform == "gpu" or x.size < 65536 else 65536
    padded = jnp.pad(x, (0, -x.size % block))
    blocks = pl.BlockSpec((block,), lambda i: i)
    selu_of = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(padded.shape, x.dtype),
        grid=(padded.size // block,),
        in_specs=[blocks],
        out_specs=blocks,
        interpret=platform == "cpu",
    )
    result: jax.Array = selu_of(padded)[: x.size]
    return result


def reference(rows: Rows, x: Array) -> Array:
    """The activation in float64."""
    return numpy_form(wide(x[rows]))


OP = Op(
    name="selu",
    summary="The scaled exponential linear unit: x or a shifted exponential, scaled.",
    size_means="number of elements",
    dtypes=FLOATS,
    minimum=1,
    default=1 << 20,
    maximum=1 << 28,
    arguments=lambda size: (Normal((size,)),),
    result_shape=one_dimensional,
    flops_formula="6 n, an exponential counted as one",
    flops=per_element(6),
    bytes_formula="2 n elements",
    bytes=streams(2),
    numpy=numpy_form,
    jax=jax_form,
    pallas=pallas_form,
    tensorflow=tensorflow_form,
    tolerance=TRANSCENDENTAL,
    reference=reference,
)
