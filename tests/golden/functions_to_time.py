"""What the fake clock times: its scripts go by these names."""

import jax.numpy as jnp
import numpy as np


def make_args():
    return (np.arange(8, dtype=np.float32),)


def short(x):
    return x + 1


def medium(x):
    return x + 2


def medium_numpy(x):
    from fake_time import WORLD

    return WORLD.compute("medium_numpy", x + 2)


def long(x):
    return x + 3


def endless(x):
    return x + 4


def noisy(x):
    return x + 5


def drifting(x):
    return x + 6


def handed_over(x):
    return x + 8


def done_at_once(x):
    return x + 9


def two_results(x):
    return {"a": jnp.sum(x)}


def step(x):
    return x + 10
