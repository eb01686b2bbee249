"""What a function multiplies, by its jaxpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxtui.tasks import programs

X = jnp.ones((40, 40))


def half(x: jax.Array) -> jax.Array:
    narrow = x.astype(jnp.bfloat16)
    return narrow @ narrow


@pytest.mark.parametrize(
    ("function", "dtype", "once", "peak"),
    [
        (lambda x: x + 1, None, None, None),
        (lambda x: x @ x, "float32", 128e3, 494.5e12),
        (lambda x: jnp.dot(x, x, precision="highest"), "float32", 128e3, 67e12),
        (half, "bfloat16", 128e3, 989.4e12),
        (
            lambda x: x @ x + lax.scan(lambda c, _: (half(c), 0), half(x), None, 3)[0],
            *("bfloat16", 128e3, 989.4e12),
        ),
        (jax.grad(lambda x: half(x).sum()), "bfloat16", 128e3, 989.4e12),
        (
            lambda x: lax.conv(x[None, None], x[None, None], (1, 1), "SAME"),
            *("float32", 0, 494.5e12),
        ),
    ],
)
def test_a_peak_is_that_of_what_is_multiplied(
    function: Callable[..., Any],
    dtype: str | None,
    once: float | None,
    peak: float | None,
) -> None:
    product = programs.largest_product(jax.jit(function).trace(X).jaxpr)
    assert (product and (product.dtype, product.once)) == (dtype and (dtype, once))
    published = programs.peak(product, "NVIDIA H100 80GB HBM3")
    assert published is not None
    assert published.flops_per_second == peak
    assert published.bytes_per_second == 3350e9
