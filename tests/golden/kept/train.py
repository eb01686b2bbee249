"""A training step, with a common mistake in how it is timed."""

import time

import jax
import jax.numpy as jnp
import numpy as np


def loss(w, x):
    hidden = jnp.tanh(x @ w)
    return jnp.var(hidden @ w.T - x)


@jax.jit
def step(w, x):
    return w - jax.grad(loss)(w, x)


def step_args(size=512):
    draw = np.random.default_rng(0).standard_normal
    return draw((size, 4 * size), "f") / 50, draw((256, size), "f")


if __name__ == "__main__":
    w, x = jax.device_put(step_args())
    for i in range(3):
        begin = time.perf_counter()
        w = step(w, x)
        print(f"step {i}: {time.perf_counter() - begin:.6f} s")
