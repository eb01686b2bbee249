"""Ops of one element at a time, bound by memory, or by exponentials."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxtui.tasks.ops.arguments import Array
from jaxtui.tasks.ops.base import (
    ARITHMETIC,
    FLOATS,
    TRANSCENDENTAL,
    Op,
    counted,
    in_float64,
    vector,
)


def add_jax(a: jax.Array, b: jax.Array) -> jax.Array:
    """Add in one primitive: eager and jit run the same kernel."""
    return lax.add(a, b)


def add_numpy(a: Array, b: Array) -> Array:
    return a + b


def add_tensorflow(tnp: Any, a: Any, b: Any) -> Any:
    return tnp.add(a, b)


ADD = Op(
    name="add",
    summary="The element-wise sum a + b.",
    default=1 << 20,
    arguments=lambda size: 2 * vector(size),
    flops_formula="n (complex: 2 n)",
    flops=counted(lambda n: n, complex_times=2),
    bytes_formula="3 n elements",
    numpy=add_numpy,
    jax=add_jax,
    tensorflow=add_tensorflow,
    tolerance=ARITHMETIC,
    reference=in_float64(add_numpy),
)


def triad(a: Any, b: Any) -> Any:
    """Two primitives, in NumPy two passes and a temporary; 3 is STREAM's scalar."""
    return a + 3 * b


TRIAD = Op(
    name="triad",
    summary="STREAM's triad a + 3·b, the classic measure of memory bandwidth.",
    default=1 << 22,
    arguments=lambda size: 2 * vector(size),
    flops_formula="2 n (complex: 8 n)",
    flops=counted(lambda n: 2 * n, complex_times=4),
    bytes_formula="3 n elements",
    numpy=triad,
    jax=triad,
    tolerance=ARITHMETIC,
    reference=in_float64(triad),
)


_exponential = partial(
    Op,
    dtypes=FLOATS,
    default=1 << 20,
    bytes_formula="2 n elements",
    tolerance=TRANSCENDENTAL,
)


def sigmoid_jax(x: jax.Array) -> jax.Array:
    """Four primitives; ``jax.nn.sigmoid`` would be one that is compiled already."""
    return 1 / (1 + lax.exp(-x))


def sigmoid_numpy(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def sigmoid_tensorflow(tnp: Any, x: Any) -> Any:
    return 1 / (1 + tnp.exp(-x))


SIGMOID = _exponential(
    name="sigmoid",
    summary="The logistic function 1 / (1 + exp(−x)).",
    flops_formula="4 n, an exponential counted as one",
    flops=counted(lambda n: 4 * n),
    numpy=sigmoid_numpy,
    jax=sigmoid_jax,
    tensorflow=sigmoid_tensorflow,
    reference=in_float64(sigmoid_numpy),
)


def selu_jax(x: jax.Array) -> jax.Array:
    """Six primitives; ``jax.nn.selu`` would be one that is compiled already."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * lax.select(x > 0, x, alpha * lax.exp(x) - alpha)


def selu_numpy(x: Array) -> Array:
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return np.asarray(scale * np.where(x > 0, x, alpha * np.exp(x) - alpha))


def selu_tensorflow(tnp: Any, x: Any) -> Any:
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * tnp.where(x > 0, x, alpha * tnp.exp(x) - alpha)


def selu_pallas(x: jax.Array, platform: str = "cpu") -> jax.Array:
    """Compute in one kernel: each program of the grid reads a block, computes and
    writes it.

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


SELU = _exponential(
    name="selu",
    summary="The scaled exponential linear unit: x or a shifted exponential, scaled.",
    flops_formula="6 n, an exponential counted as one",
    flops=counted(lambda n: 6 * n),
    numpy=selu_numpy,
    jax=selu_jax,
    pallas=selu_pallas,
    tensorflow=selu_tensorflow,
    reference=in_float64(selu_numpy),
)


def sum_logistic_grad_jax(x: jax.Array) -> jax.Array:
    """``jax.grad`` of the sum: the derivative is found by JAX, not written down."""

    def sum_logistic(x: jax.Array) -> jax.Array:
        return jnp.sum(1 / (1 + lax.exp(-x)))

    return jax.grad(sum_logistic)(x)  # type: ignore[no-any-return]


def sum_logistic_grad_numpy(x: Array) -> Array:
    """The closed form s (1 − s), because NumPy has no derivatives."""
    s = 1 / (1 + np.exp(-x))
    return np.asarray(s * (1 - s))


SUM_LOGISTIC_GRAD = _exponential(
    name="sum_logistic_grad",
    summary="The gradient of Σ 1 / (1 + exp(−x)), by jax.grad; closed form in NumPy.",
    # The derivative squares 1 + exp(−x), and 448 is the largest number of float8.
    dtypes=tuple(dtype for dtype in FLOATS if dtype != "float8_e4m3fn"),
    flops_formula="8 n, an exponential counted as one",
    flops=counted(lambda n: 8 * n),
    numpy=sum_logistic_grad_numpy,
    jax=sum_logistic_grad_jax,
    reference=in_float64(sum_logistic_grad_numpy),
)
