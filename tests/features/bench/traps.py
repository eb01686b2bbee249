"""Functions that fool a stopwatch, and honest ones that look like some of them."""

import concurrent.futures
import functools
import itertools
import threading

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LARGE = jnp.asarray(np.random.default_rng(0).random((400, 400), np.float32))
LARGE_NUMPY = np.asarray(LARGE)

numbers = itertools.count()


@jax.jit
def heavy(x):
    return LARGE @ LARGE @ (x[0] + LARGE)


# Compiled again.


def jits_inside(x):
    return jax.jit(lambda y: y + 1)(x)


@functools.partial(jax.jit, static_argnums=1)
def add_static(x, number):
    return x + number


def changes_a_static_argument(x):
    return add_static(x, next(numbers))


def compiles_at_times(x):
    if next(numbers) % 20 == 0:
        return jax.jit(lambda y: y + 1)(x)
    return x + 1


def loops_over_a_new_body(x):
    return lax.fori_loop(0, 3, lambda i, y: y + i, x)


# Nothing, or little, of which is left by XLA.


def drops_its_work(x):
    heavy(x)
    return x + 1


def drops_a_loop(x):
    lax.fori_loop(0, 50, lambda _, y: y @ LARGE[:8, :8], x)
    return x + 1


def computes_with_constants(x):
    return LARGE @ LARGE


def adds_to_constants(x):
    return x[0] + LARGE @ LARGE


def uses_the_shape(x):
    return jnp.sum(jnp.ones(x.shape) * 3)


# The same array again.

memory = {}


def remembers(x):
    if "result" not in memory:
        memory["result"] = heavy(jnp.ones(8))
    return memory["result"]


@functools.lru_cache
def computed(size):
    return jax.block_until_ready(heavy(jnp.ones(size)))


def uses_an_lru_cache(x):
    return computed(x.size)


def returns_its_argument(x):
    return x


def computes_another(x):
    y = heavy(x)
    return (x, x) if y.shape else x


# Honest.

pool = concurrent.futures.ThreadPoolExecutor(1)


def adds(x):
    return x + 1


def computes(x):
    return heavy(x)


class Model:
    @functools.cached_property
    def weights(self):
        return jnp.ones((8, 8)) * 2


model = Model()
state = jnp.zeros(8)
steps = {"count": 0}


def has_a_cached_property(x):
    return jnp.tanh(x @ model.weights)


def keeps_its_state(x):
    global state
    state = state * 0.9 + x
    return state


def counts(x):
    steps["count"] += 1
    return x + 1


@functools.partial(jax.jit, donate_argnums=0)
def updates(x):
    return x * 2


def chains_donations(x):
    y = x + 1
    for _ in range(3):
        y = updates(y)
    return y


def sets(x):
    return x.at[3].set(1.0)


def body(carry):
    number, y = carry
    return number + 1, y * 1.5


def goes_on(carry):
    return carry[0] < 5


def loops(x):
    return lax.while_loop(goes_on, body, (0, x))[1]


def draws(x):
    return x + jax.random.normal(jax.random.key(0), x.shape)


def learns(x):
    return jax.grad(lambda w: jnp.sum((x[:, None] * w) ** 2))(jnp.ones((8, 8)))


def gradient_of_a_product(x):
    return jax.grad(lambda w: jnp.sum(w @ x))(x)


def sums_up(x):
    return jnp.cumsum(x)


def sorts(x):
    return jnp.sort(x)


def scalar(x):
    return x.sum()


def asks_for_a_value(x):
    return x + float(x[0])


def looks_up(x):
    try:
        return x + memory["missing"]
    except KeyError:
        return x + 1


def passes_on(x):
    return x, x * 2


def uses_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(heavy(x)))
    thread.start()
    thread.join()
    return found[0]


def uses_a_pool(x):
    return pool.submit(heavy, x).result()


buffer = np.zeros(8, np.float32)


def product(x):
    return x @ x


def product_numpy(x):
    return LARGE_NUMPY @ LARGE_NUMPY


# The two sides of a function.


def agrees(x):
    return jnp.tanh(x) @ x, x.sum()


def agrees_numpy(x):
    return np.tanh(x) @ x, x.sum()


def lacks_a_result(x):
    return x, x @ x


def lacks_a_result_numpy(x):
    return x


def has_another_shape(x):
    return x[:, None] * x


def has_another_shape_numpy(x):
    return x * x


def has_other_values(x):
    return jnp.sin(x)


def has_other_values_numpy(x):
    return np.cos(x)


def has_other_nans(x):
    return jnp.log(x)


def has_other_nans_numpy(x):
    return np.log(np.abs(x))


def draws_both(x):
    return x + jax.random.normal(jax.random.key(0), x.shape)


def draws_both_numpy(x):
    return x + np.random.default_rng(0).standard_normal(x.shape)


def is_in_place(x):
    return x + 1


def is_in_place_numpy(x):
    x += 1
    return x
