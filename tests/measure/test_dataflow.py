"""What of a function reaches its result, by its jaxpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxtui.measure import programs
from jaxtui.measure.dataflow import Dataflow, dataflow

X = jnp.ones((40, 40))
CONSTANT = jnp.full((40, 40), 2.0)


def flow(function: Callable[..., Any]) -> Dataflow:
    return dataflow(jax.jit(function).trace(X).jaxpr)


def drops(x: jax.Array) -> jax.Array:
    jax.jit(lambda y: y @ y)(x)
    return x + 1


def half(x: jax.Array) -> jax.Array:
    narrow = x.astype(jnp.bfloat16)
    return narrow @ narrow


@pytest.mark.parametrize(
    ("function", "dtype", "peak"),
    [
        (lambda x: x + 1, None, None),
        (lambda x: x @ x, "float32", 494.5e12),
        (lambda x: jnp.dot(x, x, precision="highest"), "float32", 67e12),
        (half, "bfloat16", 989.4e12),
        (
            lambda x: x @ x + lax.scan(lambda c, _: (half(c), 0), half(x), None, 3)[0],
            "bfloat16",
            989.4e12,
        ),
        (jax.grad(lambda x: half(x).sum()), "bfloat16", 989.4e12),
        (
            lambda x: lax.conv(x[None, None], x[None, None], (1, 1), "SAME"),
            "float32",
            494.5e12,
        ),
    ],
)
def test_a_peak_is_that_of_what_is_multiplied(
    function: Callable[..., Any], dtype: str | None, peak: float | None
) -> None:
    found = flow(function)
    assert (found.product.dtype if found.product else None) == dtype
    published = found.peak("NVIDIA H100 80GB HBM3")
    assert published is not None
    assert published.flops_per_second == peak
    assert published.bytes_per_second == 3350e9


@pytest.mark.parametrize(
    ("function", "dead", "constant"),
    [
        (lambda x: x @ x + 1, 0.0, 0.0),
        (drops, 1.0, 0.0),
        (jax.jit(drops), 1.0, 0.0),
        (lambda x: x + CONSTANT @ CONSTANT, 0.0, 1.0),
        # The gradient of a product are two others; it does not need the product.
        (jax.grad(lambda x: jnp.sum(x @ x)), 1 / 3, 0.0),
        (lambda x: jax.jvp(jnp.tanh, (x,), (x,))[1], 0.0, 0.0),
        (lambda x: lax.scan(lambda c, _: (c @ x, c.sum()), x, None, 3)[1], 0.0, 0.0),
        (lambda x: lax.while_loop(lambda y: y[0, 0] < 2, drops, x), 0.0, 0.0),
    ],
)
def test_work_that_no_result_needs_or_no_argument_changes(
    function: Callable[..., Any], dead: float, constant: float
) -> None:
    found = flow(function)
    assert found.work > 0
    assert (found.dead, found.constant) == pytest.approx((dead, constant), abs=0.1)


@pytest.mark.parametrize(
    ("function", "given", "kept", "repeats"),
    [
        (lambda x: x, True, 0.0, False),
        (lambda x: CONSTANT, True, 1.0, False),
        (lambda x: (CONSTANT, x.sum()), False, 1.0, False),
        (lambda x: (x, x + 1), False, 0.0, False),
        (lambda x: CONSTANT * 2, False, 0.0, True),
        (lambda x: jnp.zeros(x.shape), False, 0.0, False),
        (lambda x: jax.random.normal(jax.random.key(0), x.shape), False, 0.0, False),
    ],
)
def test_results_that_were_there_before(
    function: Callable[..., Any], given: bool, kept: float, repeats: bool
) -> None:
    found = flow(function)
    assert (found.returns_given, found.repeats) == (given, repeats)
    assert found.kept_share == pytest.approx(kept, abs=0.01)


def test_callbacks_are_found_in_loops_and_branches() -> None:
    def prints(x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda y: None, x)
        return x

    def calls(x: jax.Array) -> jax.Array:
        return jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    loop = flow(lambda x: lax.fori_loop(0, 2, lambda _, y: prints(y), x))
    branch = flow(lambda x: lax.cond(x[0, 0] > 0, calls, lambda y: y, x))
    assert loop.callbacks == ("debug_callback",)
    assert branch.callbacks == ("pure_callback",)
    assert not flow(lambda x: x @ x).callbacks


@pytest.mark.parametrize(
    ("function", "computes"),
    [
        (lambda x: x + 1, True),
        (lambda x: x.T, True),
        (lambda x: x.at[0, 0].set(1.0), True),
        (lambda x: lax.fori_loop(0, 3, lambda _, y: y * x, x), True),
        (lambda x: x * 1, False),
        (lambda x: x[::-1][::-1], False),
        (lambda x: jnp.sum(jnp.ones(x.shape)), False),
    ],
)
def test_a_program_with_nothing_to_compute_is_seen(
    function: Callable[..., Any], computes: bool
) -> None:
    text = jax.jit(function).lower(X).compile().as_text()
    assert programs.computes(text) == computes


def test_a_program_that_cannot_be_read_is_taken_to_compute() -> None:
    assert programs.computes("")
