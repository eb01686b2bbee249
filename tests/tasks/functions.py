"""Functions to time as people write them; the last ones are mistakes."""

import functools
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class State(NamedTuple):
    params: dict
    steps: jax.Array


def loss(params, x):
    return jnp.mean(jnp.tanh(x @ params["w"] + params["b"]) ** 2)


def step(state, x):
    value, grads = jax.value_and_grad(loss)(state.params, x)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, state.params, grads)
    return State(params, state.steps + 1), {"loss": value}


def step_numpy(state, x):
    hidden = np.tanh(x @ state.params["w"] + state.params["b"])
    return {"loss": np.mean(hidden**2)}


def step_args(size=16, seed=0):
    rng = np.random.default_rng(seed)
    params = {"w": rng.standard_normal((8, size), dtype=np.float32), "b": 0.5}
    state = State(params, jnp.zeros((), jnp.int32))
    return state, rng.standard_normal((32, 8), dtype=np.float32)


def add(n, x, y):
    return n + x @ y


def several(x):
    return [x, x * 2]


def square(x):
    return x @ x / 300


def power(x):
    return lax.fori_loop(0, 50, lambda _, y: y @ x, x)


def deep(x):
    """Takes long to trace and to compile, and no time to compute."""
    for n in range(1000):
        x = jnp.sin(x) + n
    return x


def plus(x):
    return x + 1


def plus_args():
    return (np.ones(8),)


def draw(key):
    return jax.random.normal(key, (64,)), jax.random.split(key)


def split(key):
    return jax.random.split(key)[0]


def draw_args():
    return (jax.random.key(0),)


split_args = draw_args


def log(x):
    return jnp.log(x * 0 - 1)


@functools.partial(jax.jit, donate_argnums=0)
def update(x):
    return x * 2


def broken(x):
    return x @ jnp.ones((3, 5))


def leaves(x):
    sys.exit(3)


def product(a, b):
    return a @ b
